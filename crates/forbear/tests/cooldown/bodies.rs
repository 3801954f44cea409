//! Bodies that are looked at: every byte still reaches the caller.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use forbear::{EffectiveUri, Families, Family, Signal};
use http::Response;
use http_body_util::BodyExt;
use tokio::time::{Instant, sleep};
use tower::ServiceExt;

use crate::common::{MS, SECOND, Sent, cut, get};
use crate::{URL, families, phase, service};

#[path = "../body/support.rs"]
#[allow(dead_code, reason = "a part of it is used here")]
pub(crate) mod support;

use support::{Broken, Script, Step, data, trailers};

pub(crate) const REASON: &str = r#"{"reason":"inflight_limit"}"#;

pub(crate) type Answer = Response<forbear::body::Peeked<Script>>;

pub(crate) fn calls(
    families: &Families,
    body: Script,
    coding: Option<&str>,
) -> impl Future<Output = Result<Answer, forbear::Error>> + Send + use<> {
    let mut response = Response::builder().status(429).header("retry-after", 5);
    if let Some(coding) = coding {
        response = response.header("content-encoding", coding);
    }
    let response = Arc::new(Mutex::new(Some(response.body(body).unwrap())));
    let client = tower::service_fn(move |_: http::Request<Sent>| {
        let response = response.lock().unwrap().take().unwrap();
        async { Ok::<_, Infallible>(response) }
    });
    service(families, client).oneshot(get(URL))
}

fn stalled(effective: Option<&str>) -> Response<Script> {
    let mut response = Response::builder().status(429).header("retry-after", 5);
    if let Some(uri) = effective {
        response = response.extension(EffectiveUri(uri.parse().unwrap()));
    }
    response.body(Script::new([data("{"), Step::Stall]).inexact()).unwrap()
}

pub(crate) fn reason(answer: &Answer) -> String {
    answer.extensions().get::<Signal>().unwrap().reason.to_string()
}

#[tokio::test(start_paused = true)]
async fn a_body_that_was_looked_at_comes_out_byte_for_byte_with_its_trailers() {
    let (head, tail) = REASON.split_at(9);
    let body = Script::new([
        data(head),
        Step::Later,
        data(""),
        data(tail),
        data("x".repeat(20_000)),
        Step::Trailers(trailers()),
    ]);
    let answer = calls(&families(), body, None).await.unwrap();
    assert_eq!(reason(&answer), "retry-after", "what follows makes it no JSON");
    let collected = answer.into_body().collect().await.unwrap();
    assert_eq!(collected.trailers(), Some(&trailers()));
    assert_eq!(collected.to_bytes(), format!("{REASON}{}", "x".repeat(20_000)));

    let body = Script::new([data(head), Step::Later, data(tail), Step::Trailers(trailers())]);
    let answer = calls(&families(), body, None).await.unwrap();
    assert_eq!(reason(&answer), "inflight_limit");
    let collected = answer.into_body().collect().await.unwrap();
    assert_eq!(collected.trailers(), Some(&trailers()));
    assert_eq!(collected.to_bytes(), REASON);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_stalls_is_looked_at_for_a_quarter_of_a_second() {
    let families = families();
    let start = Instant::now();
    let body = Script::new([data(REASON), Step::Stall]).inexact();
    let answer = calls(&families, body, None).await.unwrap();
    assert_eq!(start.elapsed(), 250 * MS);
    assert_eq!(reason(&answer), "inflight_limit");
    assert_eq!(phase(&families, "vendor"), "cooling");
    assert_eq!(answer.into_body().frame().await.unwrap().unwrap().into_data().unwrap(), Bytes::from(REASON));
}

#[tokio::test(start_paused = true)]
async fn a_body_in_a_coding_that_cannot_be_undone_is_not_looked_at() {
    let many = ["gzip"; 4].join(", ");
    let unknown = ["compress", "gzip, aws-chunked", &many].map(|coding| (coding, "retry-after", 0));
    let with_feature = ["gzip", "x-gzip", "deflate", "br", "zstd", "br, gzip"];
    let others = with_feature.into_iter().filter(|_| !cfg!(feature = "decompression"));
    let others = others.map(|coding| (coding, "retry-after", 0));
    for (coding, reads, polls) in unknown.into_iter().chain(others).chain([("Identity", "inflight_limit", 1)])
    {
        let body = Script::new([data(REASON)]);
        let polled = Arc::clone(&body.polls);
        let answer = calls(&families(), body, Some(coding)).await.unwrap();
        assert_eq!(reason(&answer), reads, "{coding}");
        assert_eq!(polled.load(std::sync::atomic::Ordering::Relaxed), polls, "{coding}");
        assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), REASON);
    }
}

#[tokio::test(start_paused = true)]
async fn the_error_of_a_body_is_the_callers_and_the_head_still_counts() {
    let families = families();
    let answer = calls(&families, Script::new([data("{"), Step::Error]), None).await.unwrap();
    assert_eq!((reason(&answer).as_str(), phase(&families, "vendor").as_str()), ("retry-after", "cooling"));
    let mut body = answer.into_body();
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), Bytes::from("{"));
    assert_eq!(body.frame().await.unwrap().unwrap_err(), Broken);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_during_the_look_leaves_the_strike() {
    let families = families();
    let body = Script::new([data("{"), Step::Stall]).inexact();
    let alive = Arc::clone(&body.alive);
    assert!(cut(calls(&families, body, None), 1).await.is_none());
    assert_eq!((phase(&families, "vendor").as_str(), Arc::strong_count(&alive)), ("cooling", 1));
    assert_eq!(families.health().family("vendor").unwrap().remaining, Some(5 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_leaves_the_strike_on_whoever_answered() {
    for (asked, effective, struck) in [
        ("http://new.test/x", None, "new.test"),
        ("http://new.test/x", Some("http://vendor.test/y"), "vendor"),
        (URL, Some("http://cdn.test/y"), "cdn.test"),
        (URL, Some("http://vendor.test/y"), "vendor"),
    ] {
        let family = Family::new("vendor").host("vendor.test");
        let families = Families::builder().family(family).build().unwrap();
        let client = tower::service_fn(move |_: http::Request<Sent>| async move {
            Ok::<_, Infallible>(stalled(effective))
        });
        assert!(cut(service(&families, client).oneshot(get(asked)), 1).await.is_none());
        assert_eq!(phase(&families, struck), "cooling", "{asked} {effective:?}");
        let elsewhere = families.health().families.iter().filter(|family| family.strikes > 0).count();
        assert_eq!(elsewhere, 1, "{asked} {effective:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_panics_during_the_look_leaves_the_strike() {
    let families = families();
    let call = tokio::spawn(calls(&families, Script::new([data("{"), Step::Panic]), None));
    assert!(call.await.unwrap_err().is_panic());
    sleep(MS).await;
    assert_eq!(phase(&families, "vendor"), "cooling");
}

#[tokio::test(start_paused = true)]
async fn a_look_ends_with_the_budget_and_the_vendors_answer_is_returned() {
    let families = families();
    let body = || Script::new([data("{"), Step::Stall]);
    let client = tower::service_fn(move |_: http::Request<forbear::body::Replay<Sent>>| {
        let response = Response::builder().status(429).header("retry-after", 300).body(body()).unwrap();
        async {
            sleep(900 * MS).await;
            Ok::<_, Infallible>(response)
        }
    });
    let vendor = forbear::stack(&families).budget(SECOND).service(client);
    let start = Instant::now();
    let answer = vendor.send(get(URL)).await.expect("the vendor answered within the budget");
    assert_eq!((answer.status().as_u16(), start.elapsed()), (429, SECOND));
    assert_eq!(answer.extensions().get::<Signal>().unwrap().retry_in(), Some(300 * SECOND));
}

/// Whether the gate is open or not, only an answer that its dialect wants to look at is.
#[tokio::test(start_paused = true)]
async fn the_body_of_a_good_answer_to_a_probe_is_not_waited_for() {
    let families = families();
    assert_eq!(calls(&families, Script::new([]), None).await.unwrap().status(), 429);
    sleep(6 * SECOND).await;
    let (body, start) = (Script::new([data("{"), Step::Stall]).inexact(), Instant::now());
    let polled = Arc::clone(&body.polls);
    let body = Arc::new(Mutex::new(Some(body)));
    let client = tower::service_fn(move |_: http::Request<Sent>| {
        let body = body.lock().unwrap().take().unwrap();
        async { Ok::<_, Infallible>(Response::new(body)) }
    });
    let answer = service(&families, client).oneshot(get(URL)).await.unwrap();
    let polls = polled.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!((answer.status().as_u16(), start.elapsed().is_zero(), polls), (200, true, 0));
    assert_eq!(phase(&families, "vendor"), "recovering");
}
