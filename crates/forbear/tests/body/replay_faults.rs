//! `Replay` and `Tape` when something goes wrong on the way.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;

use forbear::body::Replay;
use http_body::Body;

use crate::support::{Broken, Script, Step, Wakes, data, poll, poll_as, read};

#[test]
fn a_body_that_failed_is_not_replayed() {
    let (mut first, tape) = Replay::record(Script::new([data("ab"), Step::Error, data("cd")]), 64);
    assert!(read(&mut first).unwrap_err().is::<Broken>(), "the original error reaches the attempt");
    assert!(!tape.replayable());
    assert!(tape.rewind().is_none());
    assert_eq!(read(&mut first).unwrap().bytes, b"cd", "the attempt may go on, as without a tape");
}

#[test]
fn a_superseded_attempt_gets_an_error_and_never_an_end() {
    let (mut first, tape) = Replay::record(Script::new([data("ab")]), 64);
    assert_eq!(read(&mut first).unwrap().bytes, b"ab");
    let mut second = tape.rewind().unwrap();
    for _ in 0..2 {
        let Poll::Ready(Some(Err(error))) = poll(&mut first) else { panic!("not an error") };
        assert!(error.to_string().contains("superseded"), "{error}");
        assert!(!first.is_end_stream());
        assert_eq!(first.size_hint().exact(), None);
    }
    assert_eq!(read(&mut second).unwrap().bytes, b"ab");
}

#[test]
fn an_attempt_superseded_before_it_was_sent_does_not_look_empty() {
    let (mut first, tape) = Replay::record(Script::new([data("ab")]), 64);
    let second = tape.rewind().unwrap();
    assert!(!first.is_end_stream());
    assert!(read(&mut first).is_err());
    drop(second);
}

#[test]
fn a_superseded_attempt_that_waits_is_woken() {
    let (mut first, tape) = Replay::record(Script::new([data("ab"), Step::Stall]), 64);
    let (early, late) = (Arc::<Wakes>::default(), Arc::<Wakes>::default());
    assert!(poll_as(&early, &mut first).is_ready());
    assert!(poll_as(&early, &mut first).is_pending());
    assert!(poll_as(&late, &mut first).is_pending());
    let _second = tape.rewind().unwrap();
    assert_eq!((early.count(), late.count()), (0, 1), "the last waker is the one that counts");
    assert!(matches!(poll_as(&late, &mut first), Poll::Ready(Some(Err(_)))));
}

#[test]
fn a_tape_that_cannot_rewind_leaves_the_running_attempt_alone() {
    let (mut first, tape) = Replay::record(Script::new([data("abc"), data("def")]), 3);
    assert!(poll(&mut first).is_ready());
    assert!(tape.rewind().is_none());
    assert_eq!(read(&mut first).unwrap().bytes, b"def");
}

#[test]
fn a_second_attempt_may_go_over_the_cap_and_still_sends_all() {
    let (mut first, tape) = Replay::record(Script::new([data("abc"), data("def")]).inexact(), 3);
    assert!(poll(&mut first).is_ready());
    let mut second = tape.rewind().unwrap();
    assert_eq!(read(&mut second).unwrap().bytes, b"abcdef");
    assert!(!tape.replayable());
}

#[test]
fn a_panic_inside_the_body_ends_the_tape() {
    let (mut first, tape) = Replay::record(Script::new([data("ab"), Step::Panic, data("cd")]), 64);
    assert!(poll(&mut first).is_ready());
    assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut first))).is_err());
    assert!(!tape.replayable());
    assert!(tape.rewind().is_none());
    let Poll::Ready(Some(Err(error))) = poll(&mut first) else { panic!("not an error") };
    assert!(error.to_string().contains("panicked"), "{error}");
    assert!(!first.is_end_stream());
    let _ = format!("{tape:?}");
}

#[test]
fn drop_while_pending_then_send_again() {
    let (mut first, tape) = Replay::record(Script::new([data("ab"), Step::Later, data("cd")]), 64);
    assert!(poll(&mut first).is_ready());
    assert!(poll(&mut first).is_pending());
    drop(first);
    assert_eq!(read(&mut tape.rewind().unwrap()).unwrap().bytes, b"abcd");
}

#[test]
fn drop_after_ready_frees_everything() {
    let script = Script::new([data("ab"), data("cd")]);
    let alive = Arc::downgrade(&script.alive);
    let (mut first, tape) = Replay::record(script, 64);
    assert!(poll(&mut first).is_ready());
    let second = tape.rewind().unwrap();
    drop(tape);
    drop(first);
    assert!(alive.upgrade().is_some(), "the second attempt still reads it");
    drop(second);
    assert!(alive.upgrade().is_none());
}

#[test]
fn the_original_body_is_dropped_at_its_end() {
    let script = Script::new([data("ab")]);
    let alive = Arc::downgrade(&script.alive);
    let (mut first, tape) = Replay::record(script, 64);
    read(&mut first).unwrap();
    assert!(alive.upgrade().is_none());
    assert!(tape.replayable());
}

#[test]
fn wakers_are_dropped_with_the_body() {
    let (mut first, tape) = Replay::record(Script::new([Step::Stall]), 64);
    let wakes = Arc::<Wakes>::default();
    assert!(poll_as(&wakes, &mut first).is_pending());
    assert_eq!(Arc::strong_count(&wakes), 2);
    drop((first, tape));
    assert_eq!(Arc::strong_count(&wakes), 1);
}
