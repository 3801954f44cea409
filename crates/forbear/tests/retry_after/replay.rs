//! Which bodies are sent again.

use bytes::Bytes;
use forbear::RetryAfterLayer;
use forbear_mock::{MockVendor, reply};
use http::Request;
use http_body_util::Full;
use tower::{Layer, ServiceExt};

/// The bodies that arrived, and the status that came back.
async fn sent(layer: RetryAfterLayer, body: &str) -> (u16, Vec<Bytes>) {
    let vendor = MockVendor::in_process().script([reply(429).retry_after(1), reply(200)]);
    let request = Request::put(vendor.url("/a")).body(Full::<Bytes>::from(body.to_owned())).unwrap();
    let answer = layer.layer(vendor.service()).oneshot(request).await.unwrap();
    let bodies = vendor.attempts().iter().map(|attempt| attempt.body().clone()).collect();
    (answer.status().as_u16(), bodies)
}

#[tokio::test(start_paused = true)]
async fn a_body_up_to_the_limit_is_sent_again_whole() {
    let body = "x".repeat(64 * 1024);
    let (status, bodies) = sent(RetryAfterLayer::new(), &body).await;
    assert_eq!((status, bodies.len()), (200, 2));
    assert!(bodies.iter().all(|sent| *sent == body));
    assert_eq!(sent(RetryAfterLayer::new().replay_limit(3), "abc").await.0, 200);
    assert_eq!(sent(RetryAfterLayer::new().replay_limit(usize::MAX), &body).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn a_larger_body_is_sent_once_untouched_and_its_answer_returned_without_waiting() {
    let start = tokio::time::Instant::now();
    for (layer, body) in [
        (RetryAfterLayer::new(), "x".repeat(64 * 1024 + 1)),
        (RetryAfterLayer::new().replay_limit(3), "abcd".to_owned()),
        (RetryAfterLayer::new().replay_limit(0), "a".to_owned()),
        (RetryAfterLayer::new().without_replay(), "a".to_owned()),
    ] {
        let (status, bodies) = sent(layer, &body).await;
        assert_eq!((status, bodies.len()), (429, 1));
        assert_eq!(bodies[0], body);
    }
    assert!(start.elapsed().is_zero());
}

#[tokio::test(start_paused = true)]
async fn an_empty_body_is_sent_again_whatever_the_limit() {
    let (status, bodies) = sent(RetryAfterLayer::new().replay_limit(0), "").await;
    assert_eq!((status, bodies.len()), (200, 2));
}
