//! `Peek` and `Peeked`.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::{Buf, Bytes};
use forbear::body::{Peek, Peeked};
use futures_util::stream;
use http_body::{Body, Frame};
use http_body_util::{BodyExt, StreamBody};
use tokio::time::Instant;

use crate::support::{Broken, Pinned, Script, Step, data, poll, read, trailers};

fn soon() -> Instant {
    Instant::now() + Duration::from_millis(250)
}

#[tokio::test(start_paused = true)]
async fn the_end_comes_before_the_limit() {
    let started = Instant::now();
    let script = Script::new([data("ab"), Step::Later, data("cd"), Step::Trailers(trailers())]);
    let (mut body, seen) = Peek::new(script, 64, soon()).await;
    assert_eq!(seen, "abcd");
    assert_eq!(started.elapsed(), Duration::ZERO);
    let all = read(&mut body).unwrap();
    assert_eq!((all.bytes, all.trailers), (b"abcd".to_vec(), Some(trailers())));
}

#[tokio::test(start_paused = true)]
async fn the_limit_cuts_what_is_seen_and_nothing_else() {
    for limit in 0..8 {
        let script = Script::new([data("abc"), data("def")]);
        let (mut body, seen) = Peek::new(script, limit, soon()).await;
        assert_eq!(seen, "abcdef"[..limit.min(6)]);
        assert_eq!(body.size_hint().exact(), Some(6));
        assert_eq!(read(&mut body).unwrap().bytes, b"abcdef");
    }
}

#[tokio::test(start_paused = true)]
async fn frames_come_back_as_they_were() {
    let sent = Bytes::from(vec![1; 100]);
    let script = Script::new([Step::Data(sent.clone()), data("tail")]);
    let (mut body, _) = Peek::new(script, 10, soon()).await;
    let Poll::Ready(Some(Ok(frame))) = poll(&mut body) else { panic!("no frame") };
    let frame = frame.into_data().unwrap();
    assert_eq!((frame.as_ptr(), frame.len()), (sent.as_ptr(), 100));
    assert_eq!(body.size_hint().exact(), Some(4));
}

#[tokio::test(start_paused = true)]
async fn no_more_is_read_than_the_limit_asks_for() {
    let script = Script::new([data("abc"), data("def"), data("ghi")]);
    let polls = Arc::clone(&script.polls);
    let (_body, seen) = Peek::new(script, 4, soon()).await;
    assert_eq!(seen, "abcd");
    assert_eq!(polls.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn a_stalled_body_costs_the_deadline_and_degrades_to_what_was_read() {
    let started = Instant::now();
    let (mut body, seen) = Peek::new(Script::new([data("ab"), Step::Stall]), 64, soon()).await;
    assert_eq!(started.elapsed(), Duration::from_millis(250));
    assert_eq!(seen, "ab");
    assert!(poll(&mut body).is_ready());
    assert!(poll(&mut body).is_pending());
}

#[tokio::test(start_paused = true)]
async fn a_trickling_body_does_not_move_the_deadline() {
    let started = Instant::now();
    let trickle = stream::unfold((), |()| async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        Some((Ok::<_, Broken>(Frame::data(Bytes::from_static(b"x"))), ()))
    });
    let (body, seen) = Peek::new(StreamBody::new(trickle), 64, soon()).await;
    assert_eq!(started.elapsed(), Duration::from_millis(250));
    assert_eq!(seen, "xx");
    drop(body);
}

#[tokio::test(start_paused = true)]
async fn an_error_reaches_the_caller_after_what_came_before_it() {
    let (mut body, seen) = Peek::new(Script::new([data("ab"), Step::Error]), 64, soon()).await;
    assert_eq!(seen, "ab");
    assert!(poll(&mut body).is_ready());
    assert!(!body.is_end_stream());
    assert!(matches!(poll(&mut body), Poll::Ready(Some(Err(Broken)))));
    assert!(matches!(poll(&mut body), Poll::Ready(None)));
}

#[tokio::test(start_paused = true)]
async fn an_endless_body_is_left_at_the_limit() {
    let started = Instant::now();
    let endless = stream::repeat_with(|| Ok::<_, Broken>(Frame::data(Bytes::from_static(b"x"))));
    let (_body, seen) = Peek::new(StreamBody::new(endless), 16 * 1024, soon()).await;
    assert_eq!(seen.len(), 16 * 1024);
    assert_eq!(started.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn an_endless_body_of_empty_frames_is_left_too() {
    let endless = stream::repeat_with(|| Ok::<_, Broken>(Frame::data(Bytes::new())));
    let (_body, seen) = Peek::new(StreamBody::new(endless), 64, soon()).await;
    assert_eq!(seen, "");
}

#[tokio::test(start_paused = true)]
async fn frames_in_pieces_are_seen_whole() {
    let pieces = Bytes::from("ab").chain(Bytes::from("cd"));
    let frames = stream::iter([Ok::<_, Broken>(Frame::data(pieces))]);
    let (body, seen) = Peek::new(StreamBody::new(frames), 3, soon()).await;
    assert_eq!(seen, "abc");
    assert_eq!(body.collect().await.unwrap().to_bytes(), "abcd");
}

/// Two pieces, of which only the first can be seen before it is consumed.
struct Hidden(Bytes, Bytes);

impl Buf for Hidden {
    fn remaining(&self) -> usize {
        self.0.len() + self.1.len()
    }

    fn chunk(&self) -> &[u8] {
        if self.0.is_empty() { &self.1 } else { &self.0 }
    }

    fn advance(&mut self, count: usize) {
        let first = count.min(self.0.len());
        self.0.advance(first);
        self.1.advance(count - first);
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_seen_ends_the_look_without_a_gap() {
    let frames =
        ["ab", "ef"].map(|first| Ok::<_, Broken>(Frame::data(Hidden(Bytes::from(first), Bytes::from("--")))));
    let (body, seen) = Peek::new(StreamBody::new(stream::iter(frames)), 64, soon()).await;
    assert_eq!(seen, "ab");
    assert_eq!(body.collect().await.unwrap().to_bytes(), "ab--ef--");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_cannot_move_is_peeked_and_passed_on() {
    let (body, seen) = Peek::new(Pinned::new(Script::new([data("ab"), data("cd")])), 2, soon()).await;
    assert_eq!(seen, "ab");
    assert_eq!(body.collect().await.unwrap().to_bytes(), "abcd");

    let mut plain = pin!(Peeked::plain(Pinned::new(Script::new([data("ab")]))));
    assert_eq!(plain.size_hint().exact(), Some(2));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(matches!(plain.as_mut().poll_frame(&mut cx), Poll::Ready(Some(Ok(_)))));
    assert!(plain.is_end_stream());
}

#[tokio::test(start_paused = true)]
async fn lengths_and_ends_are_right_while_held_frames_go_out() {
    let script = Script::new([data("ab"), data("cde"), data("f")]);
    let (mut body, _) = Peek::new(script, 4, soon()).await;
    for left in [6, 4, 1] {
        assert_eq!(body.size_hint().exact(), Some(left));
        assert!(!body.is_end_stream());
        assert!(poll(&mut body).is_ready());
    }
    assert_eq!(body.size_hint().exact(), Some(0));
    assert!(body.is_end_stream());
}

#[tokio::test(start_paused = true)]
async fn an_end_that_was_seen_is_remembered() {
    let script = Script::new([data("ab")]).inexact();
    let polls = Arc::clone(&script.polls);
    let (mut body, _) = Peek::new(script, 64, soon()).await;
    assert_eq!(body.size_hint().exact(), Some(2));
    assert!(poll(&mut body).is_ready());
    assert!(body.is_end_stream());
    assert!(matches!(poll(&mut body), Poll::Ready(None)));
    assert_eq!(polls.load(Ordering::Relaxed), 2, "the body is not polled past its end");
}

#[tokio::test(start_paused = true)]
async fn a_body_at_its_end_is_not_polled() {
    let script = Script::new([]);
    let polls = Arc::clone(&script.polls);
    let (body, seen) = Peek::new(script, 64, soon()).await;
    assert_eq!(seen, "");
    assert!(body.is_end_stream());
    assert_eq!(polls.load(Ordering::Relaxed), 0);
}

#[test]
fn no_runtime_is_needed_where_the_body_does_not_wait() {
    let mut peek = Peek::new(Script::new([data("ab")]), 64, Instant::now());
    assert!(Pin::new(&mut peek).poll(&mut Context::from_waker(Waker::noop())).is_ready());
}

#[tokio::test(start_paused = true)]
async fn drop_while_pending_drops_the_body() {
    let script = Script::new([data("ab"), Step::Stall]);
    let alive = Arc::downgrade(&script.alive);
    let mut peek = Peek::new(script, 64, soon());
    assert!(Pin::new(&mut peek).poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert!(alive.upgrade().is_some());
    drop(peek);
    assert!(alive.upgrade().is_none());
}

#[tokio::test(start_paused = true)]
async fn drop_after_ready_leaves_the_body_to_the_caller() {
    let script = Script::new([data("ab")]);
    let alive = Arc::downgrade(&script.alive);
    let mut peek = Peek::new(script, 64, soon());
    let (body, _) = (&mut peek).await;
    assert!(Pin::new(&mut peek).poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(peek);
    assert!(alive.upgrade().is_some());
    drop(body);
    assert!(alive.upgrade().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_panic_inside_the_body_passes_and_frees_it() {
    let script = Script::new([data("ab"), Step::Panic]);
    let alive = Arc::downgrade(&script.alive);
    let peek = tokio::spawn(Peek::new(script, 64, soon()));
    assert!(peek.await.unwrap_err().is_panic());
    assert!(alive.upgrade().is_none());
}

#[tokio::test(start_paused = true)]
async fn debug_shows_no_content_and_asks_nothing_of_the_body() {
    let peek = Peek::new(Script::new([data("secret")]), 64, soon());
    let shown = format!("{peek:?}");
    let (cold, _) = peek.await;
    let plain = Peeked::plain(Script::new([data("secret")]));
    assert_eq!(
        format!("{shown} {cold:?} {plain:?}"),
        "Peek { seen: 0, left: 64, .. } Peeked { state: cold, .. } Peeked { state: plain, .. }"
    );
}
