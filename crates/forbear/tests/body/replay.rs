//! `Replay` and `Tape` when all goes well.
//!
//! A retried request with an empty, consumed or changed body, or one refused because its body cannot be cloned:
//! XAMPPRocky/octocrab#835 and #842, cloudflare/mcp#196, TrueLayer/reqwest-middleware#44.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

use bytes::{Buf, Bytes};
use forbear::body::Replay;
use futures_util::stream;
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Empty, Full, StreamBody};

use crate::support::{Script, Step, data, poll, read, trailers};

#[test]
fn a_post_is_sent_again_byte_by_byte() {
    let (mut first, tape) = Replay::record(Script::new([data("ab"), Step::Later, data("cd")]), 64);
    assert_eq!(read(&mut first).unwrap().bytes, b"abcd");
    for _ in 0..3 {
        assert!(tape.replayable());
        assert_eq!(read(&mut tape.rewind().unwrap()).unwrap().bytes, b"abcd");
    }
}

#[test]
fn a_second_attempt_goes_on_where_the_first_stopped() {
    let (mut first, tape) = Replay::record(Script::new([data("ab"), data("cd"), data("ef")]), 64);
    assert!(matches!(poll(&mut first), Poll::Ready(Some(Ok(_)))));
    let mut second = tape.rewind().unwrap();
    assert!(matches!(poll(&mut second), Poll::Ready(Some(Ok(_)))));
    assert!(matches!(poll(&mut second), Poll::Ready(Some(Ok(_)))));
    assert_eq!(read(&mut tape.rewind().unwrap()).unwrap().bytes, b"abcdef");
}

#[test]
fn exactly_the_cap_is_held_and_one_byte_more_is_not() {
    for (cap, again) in [(6, true), (5, false)] {
        let (mut first, tape) = Replay::record(Script::new([data("abc"), data("def")]).inexact(), cap);
        assert_eq!(read(&mut first).unwrap().bytes, b"abcdef", "the first attempt always goes through");
        assert_eq!(tape.replayable(), again);
        assert_eq!(tape.rewind().is_some(), again);
    }
}

#[test]
fn cap_zero_holds_no_byte_but_sends_what_was_not_read() {
    let (first, tape) = Replay::record(Script::new([data("abc")]).inexact(), 0);
    drop(first);
    let mut second = tape.rewind().unwrap();
    assert_eq!(read(&mut second).unwrap().bytes, b"abc");
    assert!(!tape.replayable());
}

#[test]
fn cap_zero_replays_a_body_that_turns_out_empty() {
    let (mut first, tape) = Replay::record(Script::new([data("")]).inexact(), 0);
    assert_eq!(read(&mut first).unwrap().bytes, b"");
    assert_eq!(read(&mut tape.rewind().unwrap()).unwrap().bytes, b"");
}

#[test]
fn an_empty_body_replays_for_ever() {
    let (mut first, tape) = Replay::record(Empty::<Bytes>::new(), 0);
    for _ in 0..3 {
        assert!(first.is_end_stream());
        assert_eq!(first.size_hint().exact(), Some(0));
        assert!(matches!(poll(&mut first), Poll::Ready(None)));
        assert!(tape.replayable());
        first = tape.rewind().unwrap();
    }
}

#[test]
fn the_tape_of_an_empty_body_holds_nothing() {
    let script = Script::new([]);
    let alive = Arc::downgrade(&script.alive);
    let (first, tape) = Replay::record(script, 64);
    drop(first);
    assert!(alive.upgrade().is_none(), "the body is the first attempt's own");
    assert!(tape.rewind().unwrap().is_end_stream());
}

#[test]
fn trailers_are_replayed_after_the_data() {
    let (mut first, tape) = Replay::record(Script::new([data("ab"), Step::Trailers(trailers())]), 2);
    let sent = read(&mut first).unwrap();
    assert_eq!(sent.trailers, Some(trailers()));
    assert_eq!(read(&mut tape.rewind().unwrap()).unwrap(), sent);
}

#[test]
fn trailers_alone_are_replayed() {
    let (mut first, tape) = Replay::record(Script::new([Step::Trailers(trailers())]), 0);
    assert_eq!(read(&mut first).unwrap().trailers, Some(trailers()));
    let mut second = tape.rewind().unwrap();
    assert!(!second.is_end_stream());
    assert_eq!(read(&mut second).unwrap().trailers, Some(trailers()));
}

#[test]
fn lengths_are_exact_on_every_attempt() {
    let (mut first, tape) = Replay::record(Script::new([data("ab"), data("cde"), data("f")]), 64);
    assert_eq!(first.size_hint().exact(), Some(6));
    assert!(matches!(poll(&mut first), Poll::Ready(Some(Ok(_)))));
    assert_eq!(first.size_hint().exact(), Some(4));

    let mut second = tape.rewind().unwrap();
    for left in [6, 4, 1] {
        assert_eq!(second.size_hint().exact(), Some(left));
        assert!(!second.is_end_stream());
        assert!(matches!(poll(&mut second), Poll::Ready(Some(Ok(_)))));
    }
    assert_eq!(second.size_hint().exact(), Some(0));
    assert!(second.is_end_stream());
    assert!(matches!(poll(&mut second), Poll::Ready(None)));
    assert_eq!(tape.rewind().unwrap().size_hint().exact(), Some(6));
}

#[test]
fn an_unknown_length_is_known_once_the_end_was_seen() {
    let (mut first, tape) = Replay::record(Script::new([data("ab")]).inexact(), 64);
    assert_eq!(first.size_hint().upper(), None);
    read(&mut first).unwrap();
    assert_eq!(tape.rewind().unwrap().size_hint().exact(), Some(2));
}

#[test]
fn a_plain_body_passes_through() {
    let mut plain = Replay::plain(Script::new([data("ab"), Step::Later, Step::Trailers(trailers())]));
    assert_eq!(plain.size_hint().exact(), Some(2));
    assert!(!plain.is_end_stream());
    let all = read(&mut plain).unwrap();
    assert_eq!(all.bytes, b"ab");
    assert_eq!(all.trailers, Some(trailers()));
    assert!(plain.is_end_stream());

    let mut plain = Replay::plain(Script::new([data("ab"), Step::Error]));
    assert_eq!(read(&mut plain).unwrap_err().to_string(), "script says error");
}

#[test]
fn data_is_shared_with_the_attempt_not_copied() {
    let sent = Bytes::from(vec![1; 1024]);
    let (mut first, tape) = Replay::record(Script::new([Step::Data(sent.clone())]), 1024);
    let Poll::Ready(Some(Ok(frame))) = poll(&mut first) else { panic!("no frame") };
    assert_eq!(frame.into_data().unwrap().as_ptr(), sent.as_ptr());
    let Poll::Ready(Some(Ok(frame))) = poll(&mut tape.rewind().unwrap()) else { panic!("no frame") };
    assert_eq!(frame.into_data().unwrap().as_ptr(), sent.as_ptr());
}

#[tokio::test]
async fn data_in_pieces_is_sent_whole() {
    let pieces = Bytes::from("ab").chain(Bytes::from("cd"));
    let frames = stream::iter([Ok::<_, std::io::Error>(Frame::data(pieces))]);
    let (first, tape) = Replay::record(StreamBody::new(frames), 4);
    assert_eq!(first.collect().await.unwrap().to_bytes(), "abcd");
    assert_eq!(tape.rewind().unwrap().collect().await.unwrap().to_bytes(), "abcd");
}

#[test]
fn an_attempt_that_was_never_polled_reads_nothing() {
    let script = Script::new([data("ab")]);
    let polls = Arc::clone(&script.polls);
    let (first, tape) = Replay::record(script, 64);
    drop(first);
    let second = tape.rewind().unwrap();
    assert_eq!(polls.load(Ordering::Relaxed), 0);
    drop(second);
}

#[test]
fn debug_shows_no_content_and_asks_nothing_of_the_body() {
    let (first, tape) = Replay::record(Script::new([data("secret")]), 64);
    let shown = format!("{first:?} {tape:?} {:?}", Replay::plain(Full::<Bytes>::from("secret")));
    assert!(!shown.contains("secret"), "{shown}");
    assert_eq!(
        shown,
        "Replay { source: taped, .. } Tape { held: 0, replayable: true, .. } Replay { source: plain, .. }"
    );
}

#[test]
fn a_replay_may_cross_threads() {
    fn crosses<T: Send + Unpin + 'static>(_: &T) {}
    let (first, tape) = Replay::record(Script::new([data("ab")]), 64);
    crosses(&first);
    crosses(&tape);
}
