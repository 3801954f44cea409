//! What is never stored, and never served to another.

use crate::vendor::{Fault, answer, ok};
use crate::*;

/// Whether a second GET of the URL is served from memory.
async fn is_stored(vendor: &Vendor) -> bool {
    let service = service(vendor);
    ask(&service, URL).await;
    ask(&service, URL).await;
    vendor.attempts() == 1
}

#[tokio::test(start_paused = true)]
async fn what_the_vendor_forbids_and_what_is_no_good_answer_is_not_stored() {
    assert!(is_stored(&Vendor::counting("max-age=60")).await);
    assert!(is_stored(&Vendor::counting("private, max-age=60")).await);
    assert!(!is_stored(&Vendor::counting("no-store, max-age=60")).await);
    assert!(
        !is_stored(&Vendor::new(|_| Ok(ok(&[("cache-control", "max-age=60"), ("vary", "*")], "")))).await
    );
    for status in [206, 301 + 99, 429, 500, 501, 503] {
        let vendor = Vendor::new(move |_| Ok(answer(status, &[("cache-control", "max-age=60")], "")));
        assert!(!is_stored(&vendor).await, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn another_method_passes_and_a_change_makes_the_stored_old() {
    let vendor = Vendor::counting("max-age=60");
    let service = service(&vendor);
    ask(&service, URL).await;
    let post = |url: &str| Request::post(url).body(vendor::body("x")).unwrap();
    vendor.now(|_| Ok(answer(500, &[], "")));
    send(&service, post(URL)).await;
    assert_eq!(ask(&service, URL).await, (Served::Fresh, "1".into()));
    vendor.now(|_| Ok(answer(200, &[], "changed")));
    send(&service, post(URL)).await;
    vendor.now(|_| Ok(ok(&[("cache-control", "max-age=60")], "2")));
    assert_eq!(ask(&service, URL).await, (Served::Live, "2".into()));
    assert_eq!(ask(&service, URL).await, (Served::Fresh, "2".into()));
    vendor.now(|_| Ok(answer(201, &[("location", "/a")], "made")));
    assert_eq!(read(send(&service, post("http://vendor.test/b")).await).await, (Served::Live, "made".into()));
    vendor.now(|_| Ok(ok(&[], "new")));
    assert_eq!(ask(&service, URL).await, (Served::Live, "new".into()));
}

#[tokio::test(start_paused = true)]
async fn ranges_and_uploads_pass() {
    let vendor = Vendor::counting("max-age=60");
    let service = service(&vendor);
    ask(&service, URL).await;
    let mut ranged = get(URL);
    ranged.headers_mut().insert("range", "bytes=0-1".parse().unwrap());
    let upload = Request::get(URL).body(vendor::body("q")).unwrap();
    let mut forbidden = get(URL);
    forbidden.headers_mut().insert("cache-control", "no-store".parse().unwrap());
    for request in [ranged, upload, forbidden] {
        assert_eq!(served(&send(&service, request).await), Served::Live);
    }
    assert_eq!(vendor.attempts(), 4);
}

#[tokio::test(start_paused = true)]
async fn an_endless_body_reaches_its_reader_and_takes_bounded_memory() {
    use http_body::{Body as _, Frame};
    let vendor = Vendor::new(|_| {
        let frames = futures_util::stream::repeat_with(|| {
            Ok::<_, Fault>(Frame::data(bytes::Bytes::from(vec![7; 64 * 1024])))
        });
        let mut response = ok(&[("cache-control", "max-age=60")], "");
        *response.body_mut() = vendor::boxed(http_body_util::StreamBody::new(frames));
        Ok(response)
    });
    let service = service(&vendor);
    let mut body = Box::pin(send(&service, get(URL)).await.into_body());
    let mut read = 0;
    while read < 100 << 20 {
        let frame = std::future::poll_fn(|cx| body.as_mut().poll_frame(cx)).await.unwrap().unwrap();
        read += frame.into_data().unwrap().len();
    }
    drop(body);
    settle().await;
    assert_eq!(service.stored_bytes(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_gigabyte_through_a_megabyte_stays_a_megabyte() {
    let vendor = Vendor::new(|_| Ok(ok(&[("cache-control", "max-age=60")], &"x".repeat(100_000))));
    let service = service(&vendor);
    for n in 0..2000 {
        ask(&service, &format!("{URL}?{n}")).await;
    }
    assert!((500_000..=1 << 20).contains(&service.stored_bytes()), "{}", service.stored_bytes());
}

/// One address, many hosts: a gateway hands on which of them its caller wants.
#[tokio::test(start_paused = true)]
async fn what_one_virtual_host_gave_is_not_served_as_anothers() {
    let vendor = Vendor::new(|request| {
        let host = request.headers()["host"].to_str().unwrap();
        Ok(ok(&[("cache-control", "max-age=60")], host))
    });
    vendor.takes(SECOND);
    let service = service(&vendor);
    let asks = async |host: &str| {
        let mut request = get("http://10.0.0.1/a");
        request.headers_mut().insert("host", host.parse().unwrap());
        read(send(&service, request).await).await.1
    };
    let (one, other) = tokio::join!(asks("one.example"), asks("two.example"));
    assert_eq!((one.as_str(), other.as_str()), ("one.example", "two.example"));
    assert_eq!(asks("two.example").await, "two.example");
    assert_eq!(asks("ONE.example").await, "one.example");
    assert_eq!(vendor.attempts(), 2);
}

#[tokio::test(start_paused = true)]
async fn no_store_beside_a_byte_that_is_no_text_forbids_as_well() {
    let vendor = Vendor::new(|_| {
        let mut response = ok(&[], "");
        let said = http::HeaderValue::from_bytes(b"x=\"\xe9\", no-store").unwrap();
        response.headers_mut().insert("cache-control", said);
        Ok(response)
    });
    let service = service(&vendor);
    ask(&service, URL).await;
    vendor.now(|_| Err(Fault("no connection")));
    assert!(service.clone().oneshot(get(URL)).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn answers_that_are_selected_by_cache_control_are_apart_by_it() {
    let vendor = Vendor::new(|request| {
        let said = request.headers().get("cache-control").map_or("-", |said| said.to_str().unwrap());
        Ok(ok(&[("cache-control", "max-age=60"), ("vary", "cache-control")], said))
    });
    vendor.takes(SECOND);
    let service = service(&vendor);
    let asks = async |said: Option<&str>| {
        let mut request = get(URL);
        if let Some(said) = said {
            request.headers_mut().insert("cache-control", said.parse().unwrap());
        }
        read(send(&service, request).await).await.1
    };
    let begun = tokio::time::Instant::now();
    let all = futures_util::future::join_all((0..100).map(|_| asks(Some("max-age=5")))).await;
    assert!(all.iter().all(|said| said == "max-age=5"));
    assert_eq!((vendor.attempts(), begun.elapsed()), (1, SECOND));
    assert_eq!(asks(None).await, "-");
    assert_eq!(asks(Some("max-age=5")).await, "max-age=5");
    assert_eq!(vendor.attempts(), 2);
}

/// With and without what would let it be stored.
#[tokio::test(start_paused = true)]
async fn no_status_but_that_of_a_good_answer_takes_the_place_of_one() {
    for fields in
        [&[("cache-control", "public, max-age=60")][..], &[], &[("expires", "Fri, 31 Dec 2100 00:00:00 GMT")]]
    {
        for status in (100..=599).chain([600, 999]) {
            let vendor = Vendor::counting("max-age=10");
            let service = service(&vendor);
            ask(&service, URL).await;
            tokio::time::sleep(11 * SECOND).await;
            vendor.now(move |_| Ok(answer(status, fields, "2")));
            send(&service, get(URL)).await.into_body().collect().await.unwrap();
            tokio::time::sleep(100 * SECOND).await;
            vendor.now(|_| Err(Fault("no connection")));
            let (_, text) = ask(&service, URL).await;
            let is_good = matches!(status, 200 | 203 | 204 | 300..=303 | 307 | 308 | 404 | 410);
            assert!(text == "1" || is_good, "{status} {fields:?}: {text}");
            assert!(text == "2" || fields.is_empty() || !is_good, "{status} {fields:?}: {text}");
        }
    }
}

/// However the request and the answer name it.
#[tokio::test(start_paused = true)]
async fn what_a_change_made_elsewhere_on_its_host_is_forgotten_too() {
    for (before, names, forgets) in [
        ("http://vendor.test", "http://vendor.test/a", true),
        ("http://vendor.test", "http://VENDOR.test/a", true),
        ("http://vendor.test", "/a", true),
        ("http://vendor.test", "http://other.test/a", false),
        ("http://u:p@vendor.test", "http://vendor.test/a", true),
        ("http://u:p@vendor.test", "/a", true),
        ("http://u:p@vendor.test", "http://other.test/a", false),
        ("", "http://vendor.test/a", true),
        ("", "/a", true),
        ("", "http://other.test/a", false),
    ] {
        for field in ["location", "content-location"] {
            let vendor = Vendor::counting("max-age=60");
            let service = service(&vendor);
            let request = |method: &str, path: &str| {
                let request = Request::builder().method(method).uri(format!("{before}{path}"));
                let request = if before.is_empty() { request.header("host", "Vendor.test") } else { request };
                request.body(Body::default()).unwrap()
            };
            let asks = async || read(send(&service, request("GET", "/a")).await).await.0;
            assert_eq!([asks().await, asks().await], [Served::Live, Served::Fresh]);
            vendor.now(move |_| Ok(answer(201, &[(field, names)], "made")));
            send(&service, request("POST", "/b")).await;
            assert_eq!(asks().await == Served::Live, forgets, "{before} {field} {names}");
        }
    }
}
