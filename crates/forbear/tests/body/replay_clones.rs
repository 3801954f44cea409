//! `Replay::try_clone`: what a retry below `RetryAfterLayer` sends again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

use bytes::Bytes;
use forbear::body::Replay;
use http_body::Body;
use http_body_util::{Empty, Full};

use crate::support::{Script, Step, Wakes, data, poll, poll_as, read, trailers};

/// The message of the error that the next poll must be.
#[track_caller]
fn fault(body: &mut Replay<Script>) -> String {
    let Poll::Ready(Some(Err(error))) = poll(body) else { unreachable!("not an error") };
    error.to_string()
}

#[test]
fn a_clone_sends_the_same_bytes_and_trailers() {
    let steps = [data("ab"), Step::Later, data("cd"), Step::Trailers(trailers())];
    let (mut first, _tape) = Replay::record(Script::new(steps), 64);
    let mut second = first.try_clone().unwrap();
    let sent = read(&mut first).unwrap();
    assert_eq!((&sent.bytes[..], sent.trailers.is_some()), (&b"abcd"[..], true));
    // As tower::retry does it: the next clone is made before this one is sent.
    let mut third = second.try_clone().unwrap();
    assert_eq!(read(&mut second).unwrap(), sent);
    assert_eq!(read(&mut third).unwrap(), sent);
}

#[test]
fn a_clone_outlives_the_tape_and_the_attempt_before() {
    let script = Script::new([data("ab"), data("cd")]);
    let alive = Arc::downgrade(&script.alive);
    let (mut first, tape) = Replay::record(script, 64);
    let mut second = first.try_clone().unwrap();
    assert!(poll(&mut first).is_ready());
    drop((first, tape));
    assert_eq!(read(&mut second).unwrap().bytes, b"abcd");
    assert!(alive.upgrade().is_none(), "the original is dropped at its end");
}

#[test]
fn an_unused_clone_changes_nothing_and_frees_everything() {
    let script = Script::new([data("ab"), data("cd")]);
    let (alive, polls) = (Arc::downgrade(&script.alive), Arc::clone(&script.polls));
    let (mut first, tape) = Replay::record(script, 64);
    let second = first.try_clone().unwrap();
    assert_eq!((second.size_hint().exact(), second.is_end_stream()), (Some(4), false));
    assert_eq!(polls.load(Ordering::Relaxed), 0);
    assert!(poll(&mut first).is_ready());
    drop(second);
    assert!(poll(&mut first).is_ready());
    drop((first, tape));
    assert!(alive.upgrade().is_none());
}

#[test]
fn lengths_of_a_clone_are_those_of_the_whole_body() {
    let (mut first, _tape) = Replay::record(Script::new([data("ab"), data("cde")]), 64);
    let mut second = first.try_clone().unwrap();
    assert!(poll(&mut first).is_ready());
    assert_eq!((first.size_hint().exact(), second.size_hint().exact()), (Some(3), Some(5)));
    read(&mut first).unwrap();
    assert!(first.is_end_stream());
    assert_eq!((second.size_hint().exact(), second.is_end_stream()), (Some(5), false));
    assert!(poll(&mut second).is_ready());
    assert_eq!(second.size_hint().exact(), Some(3));
    read(&mut second).unwrap();
    assert!(second.is_end_stream());
}

#[test]
fn its_first_poll_supersedes_the_attempt_before_and_wakes_it() {
    let (mut first, _tape) = Replay::record(Script::new([data("ab"), Step::Later, data("cd")]), 64);
    let mut second = first.try_clone().unwrap();
    let wakes = Arc::<Wakes>::default();
    assert!(poll_as(&wakes, &mut first).is_ready());
    assert!(poll_as(&wakes, &mut first).is_pending());
    let before = wakes.count();
    assert!(poll(&mut second).is_ready());
    assert_eq!(wakes.count(), before + 1);
    assert!(fault(&mut first).contains("superseded"));
    assert!(!first.is_end_stream() && !first.replayable() && first.try_clone().is_none());
    assert_eq!(first.size_hint().exact(), None);
    assert_eq!(read(&mut second).unwrap().bytes, b"cd", "the rest of it");
}

#[test]
fn of_several_clones_the_one_made_last_stands() {
    let (first, _tape) = Replay::record(Script::new([data("ab"), data("cd")]), 64);
    let (mut early, mut late) = (first.try_clone().unwrap(), first.try_clone().unwrap());
    assert!(poll(&mut late).is_ready());
    assert!(fault(&mut early).contains("superseded"));
    assert_eq!(read(&mut late).unwrap().bytes, b"cd");
}

#[test]
fn a_rewind_supersedes_the_clones_made_before_it() {
    let (mut first, tape) = Replay::record(Script::new([data("ab")]), 64);
    let mut stale = first.try_clone().unwrap();
    read(&mut first).unwrap();
    let mut second = tape.rewind().unwrap();
    assert!(fault(&mut stale).contains("superseded"));
    assert!(stale.try_clone().is_none());
    let mut third = second.try_clone().unwrap();
    assert_eq!(read(&mut second).unwrap().bytes, b"ab");
    assert_eq!(read(&mut third).unwrap().bytes, b"ab");
    assert_eq!(read(&mut tape.rewind().unwrap()).unwrap().bytes, b"ab", "a clone leaves the tape as it was");
}

#[test]
fn a_clone_of_what_is_not_held_any_more_is_an_error_and_never_an_end() {
    let (mut first, _tape) = Replay::record(Script::new([data("abc"), data("def")]), 3);
    let mut second = first.try_clone().unwrap();
    assert!(second.replayable());
    assert_eq!(read(&mut first).unwrap().bytes, b"abcdef");
    assert!(!second.replayable() && !first.replayable());
    assert!(first.try_clone().is_none() && second.try_clone().is_none());
    for _ in 0..2 {
        assert!(!second.is_end_stream());
        assert_eq!(second.size_hint().exact(), None);
        assert!(fault(&mut second).contains("request body gone"));
    }
}

#[test]
fn a_clone_that_lost_its_bytes_leaves_the_running_attempt_alone() {
    let (mut first, _tape) =
        Replay::record(Script::new([data("abc"), data("def"), data("ghi")]).inexact(), 3);
    let mut second = first.try_clone().unwrap();
    assert!(poll(&mut first).is_ready());
    assert!(poll(&mut first).is_ready());
    assert!(fault(&mut second).contains("request body gone"));
    assert_eq!(read(&mut first).unwrap().bytes, b"ghi");
}

#[test]
fn a_large_body_nothing_was_read_of_is_sent_by_its_clone() {
    // As where the connection could not be made.
    let (first, _tape) = Replay::record(Script::new([data("abcdef")]), 3);
    let mut second = first.try_clone().unwrap();
    drop(first);
    assert!(second.replayable());
    assert_eq!(second.size_hint().exact(), Some(6));
    assert_eq!(read(&mut second).unwrap().bytes, b"abcdef");
    assert!(second.try_clone().is_none());
}

#[test]
fn a_body_that_failed_is_not_cloned() {
    let (mut first, _tape) = Replay::record(Script::new([data("ab"), Step::Error]), 64);
    let mut second = first.try_clone().unwrap();
    assert!(read(&mut first).is_err());
    assert!(!second.replayable() && second.try_clone().is_none());
    assert!(fault(&mut second).contains("request body gone"));
}

#[test]
fn a_panic_inside_the_body_ends_its_clones() {
    let (mut first, _tape) = Replay::record(Script::new([Step::Panic, data("cd")]), 64);
    let mut second = first.try_clone().unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut first))).is_err());
    assert!(!second.replayable() && second.try_clone().is_none() && !second.is_end_stream());
    assert_eq!(second.size_hint().exact(), None);
    assert!(fault(&mut second).contains("panicked"));
}

#[test]
fn a_body_that_is_not_kept_is_not_cloned_unless_it_is_empty() {
    let plain = Replay::plain(Full::<Bytes>::from("ab"));
    assert!(!plain.replayable() && plain.try_clone().is_none());
    for empty in [Replay::plain(Empty::<Bytes>::new()), Replay::record(Empty::new(), 64).0] {
        assert!(empty.replayable());
        let mut again = empty.try_clone().unwrap().try_clone().unwrap();
        assert!(again.is_end_stream());
        assert_eq!(again.size_hint().exact(), Some(0));
        assert!(matches!(poll(&mut again), Poll::Ready(None)));
    }
}

#[test]
fn a_plain_body_that_was_read_to_its_end_is_not_taken_for_an_empty_one() {
    let mut plain = Replay::plain(Full::<Bytes>::from("ab"));
    assert!(poll(&mut plain).is_ready());
    assert!(plain.is_end_stream());
    assert!(plain.try_clone().is_none());
}

#[test]
fn drop_while_pending_then_the_clone_is_sent() {
    let (mut first, _tape) = Replay::record(Script::new([data("ab"), Step::Later, data("cd")]), 64);
    let mut second = first.try_clone().unwrap();
    assert!(poll(&mut first).is_ready());
    assert!(poll(&mut first).is_pending());
    drop(first);
    assert_eq!(read(&mut second).unwrap().bytes, b"abcd");
}
