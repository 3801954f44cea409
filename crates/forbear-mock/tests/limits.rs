//! Vendors that limit, in process and on a socket.

use std::time::Duration;

use bytes::Bytes;
use forbear_mock::{Limiter, MockBody, MockVendor, cycle, reply};
use futures_util::future::join_all;
use http::{Request, Response};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tokio::time::{sleep, timeout};
use tower::ServiceExt;

const MS: fn(u64) -> Duration = Duration::from_millis;
const S: fn(u64) -> Duration = Duration::from_secs;

async fn get(vendor: &MockVendor, path: &str) -> Response<MockBody> {
    let request = Request::get(vendor.url(path)).body(Empty::<Bytes>::new()).unwrap();
    vendor.service().oneshot(request).await.unwrap()
}

/// The statuses of `n` calls made at once.
async fn burst(vendor: &MockVendor, n: usize) -> Vec<u16> {
    let mut statuses = Vec::new();
    for _ in 0..n {
        statuses.push(get(vendor, "/").await.status().as_u16());
    }
    statuses
}

fn retry_after<B>(response: &Response<B>) -> Option<&str> {
    response.headers().get("retry-after").map(|value| value.to_str().unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_token_bucket_gives_its_burst_and_then_one_at_a_time() {
    let vendor = MockVendor::in_process().script(reply(200)).limit(Limiter::token_bucket(2, S(5), 3));
    assert_eq!(burst(&vendor, 4).await, [200, 200, 200, 429]);
    assert_eq!(retry_after(&get(&vendor, "/").await), Some("3"), "2.5 s, rounded up");
    sleep(MS(2499)).await;
    assert_eq!(burst(&vendor, 1).await, [429]);
    sleep(MS(1)).await;
    assert_eq!(burst(&vendor, 2).await, [200, 429]);
    sleep(S(3600)).await;
    assert_eq!(burst(&vendor, 4).await, [200, 200, 200, 429]);
}

#[tokio::test(start_paused = true)]
async fn a_ban_is_begun_anew_by_each_attempt_meanwhile() {
    let limit = Limiter::sliding_window(2, S(1)).ban(S(600));
    let vendor = MockVendor::in_process().script(reply(200)).limit(limit);
    assert_eq!(burst(&vendor, 3).await, [200, 200, 429]);
    sleep(S(599)).await;
    assert_eq!(retry_after(&get(&vendor, "/").await), Some("600"));
    sleep(S(600) - MS(1)).await;
    assert_eq!(burst(&vendor, 1).await, [429]);
    sleep(S(600)).await;
    assert_eq!(burst(&vendor, 3).await, [200, 200, 429]);
}

#[test]
#[should_panic(expected = "a ban of 0 seconds is none")]
fn a_ban_of_no_length_is_refused() {
    let _ = Limiter::concurrency(1).ban(Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_fixed_window_lets_twice_as_many_across_its_edge() {
    let vendor = MockVendor::in_process().script(reply(200)).limit(Limiter::fixed_window(2, S(10)));
    assert_eq!(burst(&vendor, 1).await, [200]);
    sleep(MS(9500)).await;
    assert_eq!(burst(&vendor, 1).await, [200]);
    assert_eq!(retry_after(&get(&vendor, "/").await), Some("1"));
    sleep(MS(500)).await;
    assert_eq!(burst(&vendor, 3).await, [200, 200, 429]);
    vendor.attempts().accepted().assert_rate_at_most(3, S(10));
}

#[tokio::test(start_paused = true)]
async fn a_sliding_window_does_not() {
    let vendor = MockVendor::in_process().script(reply(200)).limit(Limiter::sliding_window(2, S(10)));
    assert_eq!(burst(&vendor, 1).await, [200]);
    sleep(MS(9500)).await;
    assert_eq!(burst(&vendor, 2).await, [200, 429]);
    sleep(MS(500)).await;
    assert_eq!(burst(&vendor, 2).await, [200, 429]);
    vendor.attempts().accepted().assert_rate_at_most(2, S(10));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_is_in_flight_until_its_answer_is_through() {
    let vendor =
        MockVendor::in_process().script(reply(200).delay(S(10)).body("body")).limit(Limiter::concurrency(2));
    let first = tokio::spawn({
        let vendor = vendor.clone();
        async move { get(&vendor, "/").await }
    });
    sleep(S(1)).await;
    // A caller that gives up is no longer in flight.
    assert!(timeout(S(1), get(&vendor, "/")).await.is_err());
    let second = tokio::spawn({
        let vendor = vendor.clone();
        async move { get(&vendor, "/").await }
    });
    sleep(S(1)).await;
    let refused = get(&vendor, "/").await;
    assert_eq!((refused.status().as_u16(), retry_after(&refused)), (429, None));

    let (first, second) = (first.await.unwrap(), second.await.unwrap());
    assert_eq!(get(&vendor, "/").await.status(), 429, "two bodies are still unread");
    drop(first);
    assert_eq!(get(&vendor, "/").await.status(), 200);
    // That one's body is dropped, unread; this one's is read to its last byte, and then held.
    let mut body = second.into_body();
    let third = get(&vendor, "/").await;
    assert_eq!(get(&vendor, "/").await.status(), 429);
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "body");
    assert_eq!(get(&vendor, "/").await.status(), 200);
    drop((third, body));
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_a_body_is_through_with_its_head() {
    let vendor = MockVendor::in_process()
        .script([reply(200), reply(200).reset(), reply(200)])
        .limit(Limiter::concurrency(1));
    let held = get(&vendor, "/").await;
    let reset = vendor.service().oneshot(Request::get("/").body(Empty::<Bytes>::new()).unwrap()).await;
    reset.unwrap_err();
    assert_eq!(get(&vendor, "/").await.status(), 200);
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_looks_as_it_is_told_to() {
    let limit = || Limiter::fixed_window(1, MS(2500));
    let vendor = MockVendor::in_process()
        .script(reply(200))
        .limit(limit().on("/status").refusal(reply(503)))
        .limit(limit().on("/late").refusal(reply(429).retry_after(60).delay(S(1))))
        .limit(limit().on("/dialect").refusal_with(|wait| {
            reply(200).json_text(format!(r#"{{"error":"limited","retry_in_ms":{}}}"#, wait.as_millis()))
        }));
    get(&vendor, "/status").await;
    let status = get(&vendor, "/status").await;
    assert_eq!((status.status().as_u16(), retry_after(&status)), (503, None));
    get(&vendor, "/late").await;
    assert_eq!(retry_after(&get(&vendor, "/late").await), Some("60"));
    get(&vendor, "/dialect").await;
    let dialect = get(&vendor, "/dialect").await.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(dialect, r#"{"error":"limited","retry_in_ms":1500}"#);
    vendor.attempts().refused().assert_count(3);
    vendor.attempts_on("/dialect").refused().assert_count(1);
}

#[tokio::test(start_paused = true)]
async fn a_refused_attempt_moves_no_script_and_uses_up_no_other_limit() {
    let vendor = MockVendor::in_process()
        .script([reply(201), reply(202), reply(203)])
        .limit(Limiter::sliding_window(3, S(60)))
        .limit(Limiter::fixed_window(1, S(1)).refusal(reply(503)));
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.extend(burst(&vendor, 3).await);
        sleep(S(1)).await;
    }
    // In the end both refuse, and the one added first answers.
    assert_eq!(seen, [201, 503, 503, 202, 503, 503, 203, 429, 429]);
    assert_eq!(retry_after(&get(&vendor, "/").await), Some("57"));
}

#[tokio::test(start_paused = true)]
async fn a_limit_on_a_route_leaves_the_others_alone() {
    let vendor =
        MockVendor::in_process().script(reply(200)).limit(Limiter::fixed_window(1, S(1)).on("/search"));
    get(&vendor, "/search").await;
    assert_eq!(get(&vendor, "/search?q=1").await.status(), 429);
    assert_eq!(burst(&vendor, 5).await, [200; 5]);
}

#[tokio::test(start_paused = true)]
async fn an_obedient_caller_is_never_refused_twice_running() {
    let limits = [
        Limiter::token_bucket(3, S(1), 1),
        Limiter::fixed_window(7, MS(1700)),
        Limiter::sliding_window(7, MS(1700)),
    ];
    for limit in limits {
        let vendor = MockVendor::in_process().script(reply(200)).limit(limit);
        let mut refused_before = false;
        for _ in 0..200 {
            let response = get(&vendor, "/").await;
            let refused = retry_after(&response).map(|secs| secs.parse().unwrap());
            assert!(!(refused_before && refused.is_some()), "told to come back, and refused: {vendor:?}");
            refused_before = refused.is_some();
            sleep(refused.map_or(MS(20), S)).await;
        }
        assert!(vendor.attempts().refused().len() > 5);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_concurrent_calls_meet_an_exact_limit() {
    let hour = S(3600);
    for limit in [
        Limiter::token_bucket(1, hour, 100),
        Limiter::fixed_window(100, hour),
        Limiter::sliding_window(100, hour),
    ] {
        let vendor = MockVendor::in_process().script(cycle([reply(200), reply(201)])).limit(limit);
        let calls = (0..1000).map(|_| {
            let vendor = vendor.clone();
            tokio::spawn(async move { get(&vendor, "/").await.status().as_u16() })
        });
        let seen: Vec<_> = join_all(calls).await.into_iter().map(Result::unwrap).collect();
        for (status, expected) in [(200, 50), (201, 50), (429, 900)] {
            assert_eq!(seen.iter().filter(|seen| **seen == status).count(), expected, "{status}");
        }
        vendor.attempts().accepted().assert_count(100);
        vendor.attempts().refused().assert_count(900);
        vendor.attempts()[..100].iter().for_each(|attempt| assert!(!attempt.is_refused()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_thousand_concurrent_calls_meet_an_exact_concurrency() {
    let vendor = MockVendor::in_process().script(reply(200).delay(S(1))).limit(Limiter::concurrency(100));
    for _ in 0..3 {
        let seen = join_all((0..1000).map(|_| get(&vendor, "/"))).await;
        assert_eq!(seen.iter().filter(|response| response.status() == 200).count(), 100);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_concurrent_calls_on_sockets_meet_an_exact_limit() {
    let vendor = MockVendor::start().await.script(reply(200)).limit(Limiter::sliding_window(100, S(3600)));
    // Sixteen connections at a time: a process has only so many descriptors.
    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let callers = (0..16).map(|caller| {
        let (client, url) = (client.clone(), vendor.url("/"));
        tokio::spawn(async move {
            let mut accepted = 0;
            for _ in (caller..1000).step_by(16) {
                let response = client.get(url.parse().unwrap()).await.unwrap();
                accepted += usize::from(response.status() == 200);
                response.into_body().collect().await.unwrap();
            }
            accepted
        })
    });
    let accepted: usize = join_all(callers).await.into_iter().map(Result::unwrap).sum();
    assert_eq!(accepted, 100);
    vendor.attempts().refused().assert_count(900);
}

#[tokio::test]
async fn a_client_on_a_socket_that_gives_up_gives_its_place_back() {
    let vendor = MockVendor::start()
        .await
        .script(reply(204))
        .route("/never", reply(200).delay(S(3600)))
        .route("/slow", reply(200).body("never").slow_body(1, S(3600)))
        .limit(Limiter::concurrency(1));
    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let get = |path: &str| client.get(vendor.url(path).parse().unwrap());

    let never = tokio::spawn(get("/never"));
    while vendor.attempts_on("/never").is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(get("/").await.unwrap().status(), 429);
    never.abort();
    // The server sees the connection's end when it comes to it. The limit only keeps a failure from hanging.
    let free = || async { while get("/").await.unwrap().status() == 429 {} };
    timeout(S(20), free()).await.expect("the place comes back");

    let slow = get("/slow").await.unwrap();
    assert_eq!(get("/").await.unwrap().status(), 429);
    drop(slow);
    timeout(S(20), free()).await.expect("the place comes back");
}

#[test]
#[should_panic(expected = "a path begins with a slash: \"search\" does not")]
fn a_limit_on_a_route_without_a_slash_is_refused() {
    let _ = Limiter::concurrency(1).on("search");
}
