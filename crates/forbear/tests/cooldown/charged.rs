//! Answers that come from another URL than the one that was asked.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use forbear::{EffectiveUri, Families, Family, Signal};
use http::{Request, Response};
use tokio::time::sleep;
use tower::{Service, ServiceExt};

use crate::common::{SECOND, Sent, get};
use crate::{phase, refusal, service};

fn two() -> Families {
    let families = Families::builder().family(Family::new("a").host("a.test"));
    families.family(Family::new("b").host("b.test")).build().unwrap()
}

/// Answers `replies` in turn: a status, `Retry-After` on a 429, and the URL that answers.
fn redirected<const N: usize>(
    replies: [(u16, &'static str); N],
) -> impl Service<Request<Sent>, Response = Response<Sent>, Error = Infallible, Future: Send> + Clone {
    let replies = Arc::new(Mutex::new(replies.into_iter()));
    tower::service_fn(move |_| {
        let (status, uri) = replies.lock().unwrap().next().unwrap();
        let mut response = Response::builder().status(status);
        if status == 429 {
            response = response.header("retry-after", 5);
        }
        let response = response.extension(EffectiveUri(uri.parse().unwrap()));
        async move { Ok(response.body(Sent::default()).unwrap()) }
    })
}

#[tokio::test(start_paused = true)]
async fn a_signal_is_charged_to_the_family_that_answered() {
    let families = two();
    let service = service(&families, redirected([(429, "http://b.test/login"), (200, "http://a.test/x")]));
    let answer = service.clone().oneshot(get("http://a.test/x")).await.unwrap();
    let signal = answer.extensions().get::<Signal>().unwrap();
    assert_eq!((signal.family(), signal.retry_in()), (Some("b"), Some(5 * SECOND)));
    assert_eq!(families.health().to_string(), "a  open\nb  cooling 5.0s  429 retry-after  via /login");
    assert_eq!(refusal(service.clone().oneshot(get("http://b.test/")).await).unwrap().family(), "b");
    assert_eq!(service.oneshot(get("http://a.test/x")).await.unwrap().status(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_hop_within_the_family_is_its_own() {
    let families = two();
    let service = service(&families, redirected([(429, "http://a.test/y")]));
    let _ = service.oneshot(get("http://a.test/x")).await.unwrap();
    assert_eq!(families.health().to_string(), "a  cooling 5.0s  429 retry-after  via /y\nb  open");
}

#[tokio::test(start_paused = true)]
async fn the_good_answer_of_another_family_is_no_news_of_the_probed_one() {
    let families = two();
    let script = [(429, "http://a.test/x"), (200, "http://b.test/"), (200, "http://a.test/x")];
    let service = service(&families, redirected(script));
    let _ = service.clone().oneshot(get("http://a.test/x")).await.unwrap();
    sleep(5 * SECOND).await;
    let _ = service.clone().oneshot(get("http://a.test/x")).await.unwrap();
    assert_eq!(phase(&families, "a"), "probing");
    sleep(SECOND).await;
    let _ = service.oneshot(get("http://a.test/x")).await.unwrap();
    assert_eq!(phase(&families, "a"), "recovering");
}

#[tokio::test(start_paused = true)]
async fn an_unknown_host_that_answered_gets_its_family() {
    let families = two();
    let service = service(&families, redirected([(429, "http://cdn.test/x")]));
    let _ = service.clone().oneshot(get("http://a.test/x")).await.unwrap();
    assert_eq!((phase(&families, "a").as_str(), phase(&families, "cdn.test").as_str()), ("open", "cooling"));
    assert_eq!(refusal(service.oneshot(get("http://cdn.test/")).await).unwrap().family(), "cdn.test");
}

#[test]
fn an_effective_url_shows_no_secret() {
    let shown = format!("{:?}", EffectiveUri("http://user:S1@vendor.test/a?token=S2".parse().unwrap()));
    assert_eq!(shown, r#"EffectiveUri("http://vendor.test/a")"#);
}

/// One that was sent after the last strike of the family that answers strikes it again.
#[tokio::test(start_paused = true)]
async fn a_signal_of_another_family_is_as_new_as_its_attempt() {
    let families = two();
    let service = service(&families, redirected([(429, "http://b.test/"), (429, "http://b.test/")]));
    let _ = service.clone().oneshot(get("http://a.test/x")).await.unwrap();
    sleep(20 * SECOND).await;
    let _ = service.oneshot(get("http://a.test/x")).await.unwrap();
    let b = families.health().family("b").cloned().unwrap();
    assert_eq!((b.remaining, b.strikes), (Some(5 * SECOND), 2));
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_redirected_within_its_family_is_answered() {
    let families = two();
    let service = service(&families, redirected([(429, "http://a.test/x"), (200, "http://a.test/y")]));
    let _ = service.clone().oneshot(get("http://a.test/x")).await.unwrap();
    sleep(5 * SECOND).await;
    let _ = service.oneshot(get("http://a.test/x")).await.unwrap();
    assert_eq!(phase(&families, "a"), "recovering");
}

/// A vendor that always answers like this, whoever is asked.
fn answers(
    age: Option<u32>,
) -> impl Service<Request<Sent>, Response = Response<Sent>, Error = Infallible, Future: Send> + Clone {
    tower::service_fn(move |_| {
        let answer = Response::builder().status(429).header("retry-after", 50);
        let answer = age.into_iter().fold(answer, |answer, age| answer.header("age", age));
        std::future::ready(Ok(answer.body(Sent::default()).unwrap()))
    })
}

/// A `Host` field says nothing where the URL has a host.
#[tokio::test(start_paused = true)]
async fn the_host_of_a_url_is_asked_before_the_field() {
    let families = two();
    let mut request = get("http://cdn.test/x");
    request.headers_mut().insert("host", http::HeaderValue::from_static("www.test"));
    let _ = service(&families, answers(None)).oneshot(request).await.unwrap();
    let phases = ["cdn.test", "www.test"].map(|host| phase(&families, host));
    assert_eq!(phases, ["cooling", "none"]);
}

/// It was a cache's, and is no news: nothing is made for a host that has no family.
#[tokio::test(start_paused = true)]
async fn an_answer_out_of_a_cache_makes_no_family() {
    let families = two();
    let answer = service(&families, answers(Some(30))).oneshot(get("http://cdn.test/x")).await.unwrap();
    assert!(answer.extensions().get::<Signal>().is_some());
    assert_eq!(phase(&families, "cdn.test"), "none");
}
