//! With nothing in hand.

use forbear::stale::Fallback;

use crate::vendor::{Fault, answer, ok};
use crate::*;

#[tokio::test(start_paused = true)]
async fn ten_thousand_who_ask_for_the_same_make_one_attempt() {
    let vendor = Vendor::counting("max-age=60");
    vendor.takes(SECOND);
    let service = service(&vendor);
    let asked: Vec<_> = (0..10_000)
        .map(|_| {
            let service = service.clone();
            tokio::spawn(async move { ask(&service, URL).await })
        })
        .collect();
    for one in asked {
        assert_eq!(one.await.unwrap(), (Served::Live, "1".into()));
    }
    assert_eq!(vendor.attempts(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_nobody_elses_is_asked_for_by_each() {
    let vendor = Vendor::counting("no-store");
    vendor.takes(SECOND);
    let service = service(&vendor);
    let asked: Vec<_> = (0..10)
        .map(|_| {
            let service = service.clone();
            tokio::spawn(async move { ask(&service, URL).await.1 })
        })
        .collect();
    let begun = tokio::time::Instant::now();
    let mut bodies = Vec::new();
    for one in asked {
        bodies.push(one.await.unwrap().parse::<u32>().unwrap());
    }
    bodies.sort_unstable();
    assert_eq!(bodies, (1..=10).collect::<Vec<_>>());
    // The first, and then all others at once.
    assert!(begun.elapsed() <= 2 * SECOND, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn where_nothing_is_to_be_had_the_fallback_is_served_and_never_stored() {
    let vendor = Vendor::new(|_| Err(Fault("no connection")));
    let service = with(StalePolicy::new().fallback(Fallback::json("{}")), &vendor);
    let response = send(&service, get(URL)).await;
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(read(response).await, (Served::Fallback { because: Because::Faulted }, "{}".into()));
    vendor.now(|_| Ok(ok(&[], "back")));
    assert_eq!(ask(&service, URL).await, (Served::Live, "back".into()));
}

#[tokio::test(start_paused = true)]
async fn an_error_reaches_each_who_waited_for_it() {
    let vendor = Vendor::new(|_| Err(Fault("no connection")));
    vendor.takes(SECOND);
    let service = service(&vendor);
    let errors = futures_util::future::join_all((0..5).map(|_| service.clone().oneshot(get(URL)))).await;
    for error in errors {
        let error = error.unwrap_err();
        let forbear::Error::Client(source) = error else { panic!("{error:?}") };
        assert_eq!(source.to_string(), "no connection");
    }
    assert_eq!(vendor.attempts(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_error_of_one_alone_is_its_own() {
    let vendor = Vendor::new(|_| Err(Fault("mine")));
    let error = service(&vendor).oneshot(get(URL)).await.unwrap_err();
    assert!(matches!(error, forbear::Error::Client(source) if source.is::<Fault>()));
}

#[tokio::test(start_paused = true)]
async fn only_if_cached_is_served_from_memory_or_not_at_all() {
    let vendor = Vendor::counting("max-age=10");
    let service = service(&vendor);
    let only = || {
        let mut request = get(URL);
        request.headers_mut().insert("cache-control", "only-if-cached".parse().unwrap());
        request
    };
    assert_eq!(send(&service, only()).await.status(), 504);
    ask(&service, URL).await;
    assert_eq!(served(&send(&service, only()).await), Served::Fresh);
    tokio::time::sleep(20 * SECOND).await;
    assert_eq!(because(served(&send(&service, only()).await)), Some(Because::OnlyIfCached));
    assert_eq!(vendor.attempts(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_with_trailers_and_one_in_pieces_arrive_whole() {
    let vendor = Vendor::new(|_| {
        let frames =
            ["a", "b", "c"].map(|text| Ok::<_, Fault>(http_body::Frame::data(bytes::Bytes::from(text))));
        let trailers =
            http::HeaderMap::from_iter([(http::HeaderName::from_static("x-t"), "1".parse().unwrap())]);
        let frames = frames.into_iter().chain([Ok(http_body::Frame::trailers(trailers))]);
        let body = http_body_util::StreamBody::new(futures_util::stream::iter(frames));
        let mut response = answer(200, &[("cache-control", "max-age=10")], "");
        *response.body_mut() = vendor::boxed(body);
        Ok(response)
    });
    let service = service(&vendor);
    let whole = send(&service, get(URL)).await.into_body().collect().await.unwrap();
    assert_eq!(whole.trailers().unwrap()["x-t"], "1");
    assert_eq!(whole.to_bytes(), "abc");
    assert_eq!(ask(&service, URL).await, (Served::Fresh, "abc".into()));
}
