//! `Drain`.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Waker};
use std::time::Duration;

use bytes::Bytes;
use forbear::body::Drain;
use futures_util::stream;
use http_body::Frame;
use http_body_util::StreamBody;
use tokio::time::Instant;

use crate::support::{Broken, Pinned, Script, Step, data, trailers};

const LIMIT: usize = 6;

fn soon() -> Instant {
    Instant::now() + Duration::from_millis(250)
}

/// Whether the end was reached, how long it took, and that the body is gone.
async fn drain(script: Script) -> (bool, Duration) {
    let alive = Arc::downgrade(&script.alive);
    let started = Instant::now();
    let mut drain = pin!(Drain::new(script, LIMIT, soon()));
    let ended = drain.as_mut().await;
    assert!(alive.upgrade().is_none(), "the body is dropped as soon as the answer is known");
    assert!(drain.poll(&mut Context::from_waker(Waker::noop())).is_pending());
    (ended, started.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_short_body_is_read_to_its_end() {
    let steps = [data("abc"), Step::Later, data("de"), Step::Trailers(trailers())];
    assert_eq!(drain(Script::new(steps.clone())).await, (true, Duration::ZERO));
    assert_eq!(drain(Script::new(steps).inexact()).await, (true, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn exactly_the_limit_is_read_and_one_byte_more_is_not() {
    let body = |last: &'static str| Script::new([data("abc"), data(last)]).inexact();
    assert_eq!(drain(body("def")).await, (true, Duration::ZERO));
    assert_eq!(drain(body("defg")).await, (false, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_announces_too_much_is_not_read() {
    let script = Script::new([data("abc"), data("defg")]);
    let polls = Arc::clone(&script.polls);
    assert_eq!(drain(script).await, (false, Duration::ZERO));
    assert_eq!(polls.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn a_body_at_its_end_is_not_read() {
    let script = Script::new([]);
    let polls = Arc::clone(&script.polls);
    assert_eq!(drain(script).await, (true, Duration::ZERO));
    assert_eq!(polls.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn a_stalled_body_costs_the_deadline() {
    assert_eq!(drain(Script::new([data("a"), Step::Stall])).await, (false, Duration::from_millis(250)));
}

#[tokio::test(start_paused = true)]
async fn an_error_ends_it() {
    assert_eq!(drain(Script::new([data("a"), Step::Error, data("b")])).await, (false, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn an_endless_body_is_let_go() {
    for piece in ["x", ""] {
        let endless = stream::repeat_with(|| Ok::<_, Broken>(Frame::data(Bytes::from(piece))));
        assert!(!Drain::new(StreamBody::new(endless), LIMIT, soon()).await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_cannot_move_is_drained() {
    assert!(Drain::new(Pinned::new(Script::new([data("ab")])), LIMIT, soon()).await);
}

#[tokio::test(start_paused = true)]
async fn drop_while_pending_drops_the_body() {
    let script = Script::new([Step::Stall]);
    let alive = Arc::downgrade(&script.alive);
    let mut drain = Drain::new(script, LIMIT, soon());
    assert!(Pin::new(&mut drain).poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert!(alive.upgrade().is_some());
    drop(drain);
    assert!(alive.upgrade().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_panic_inside_the_body_passes_and_frees_it() {
    let script = Script::new([Step::Panic]);
    let alive = Arc::downgrade(&script.alive);
    assert!(tokio::spawn(Drain::new(script, LIMIT, soon())).await.unwrap_err().is_panic());
    assert!(alive.upgrade().is_none());
}

/// Under a real clock: a paused one stands still while a task is busy.
#[tokio::test]
async fn a_body_that_never_lets_its_task_rest_is_let_go_at_the_deadline() {
    let busy = stream::poll_fn(|cx| {
        while pin!(tokio::task::consume_budget()).poll(cx).is_ready() {}
        std::task::Poll::<Option<Result<Frame<Bytes>, Broken>>>::Pending
    });
    let drain = Drain::new(StreamBody::new(busy), LIMIT, soon());
    let ended = tokio::time::timeout(Duration::from_secs(30), drain).await;
    assert_eq!(ended, Ok(false));
}
