//! What a `Tape` holds of large bodies, counted in bytes.
//!
//! A replay wrapper that buffers without a bound, or where no retry is possible: linkerd/linkerd2-proxy#1039.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use forbear::body::Replay;
use http_body::{Body, Frame, SizeHint};

use crate::support::poll;

const KIB: usize = 1024;
const GIB: u64 = 1024 * 1024 * 1024;
static ZEROS: [u8; 16 * KIB] = [0; 16 * KIB];

/// Stands for its bytes, and is counted as long as one clone of them is alive.
struct Counted(Arc<AtomicUsize>);

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &ZEROS
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(ZEROS.len(), Ordering::Relaxed);
    }
}

/// A body of `left` zeros in frames of 16 KiB.
struct Upload {
    left: u64,
    announced: bool,
    alive: Arc<AtomicUsize>,
}

impl Upload {
    fn new(left: u64, announced: bool) -> Self {
        Self { left, announced, alive: Arc::default() }
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        self.left -= ZEROS.len() as u64;
        self.alive.fetch_add(ZEROS.len(), Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_owner(Counted(Arc::clone(&self.alive)))))))
    }

    fn size_hint(&self) -> SizeHint {
        if self.announced { SizeHint::with_exact(self.left) } else { SizeHint::default() }
    }
}

/// Reads `body` to its end; the bytes read, and the most that were held between two polls.
fn stream(body: &mut Replay<Upload>, alive: &AtomicUsize) -> (u64, usize) {
    let (mut read, mut most) = (0, 0);
    while let Poll::Ready(Some(frame)) = poll(body) {
        read += frame.unwrap().into_data().unwrap().len() as u64;
        most = most.max(alive.load(Ordering::Relaxed));
    }
    (read, most)
}

#[test]
fn a_gibibyte_of_unknown_length_is_held_up_to_the_cap() {
    let upload = Upload::new(GIB, false);
    let alive = Arc::clone(&upload.alive);
    let (mut first, tape) = Replay::record(upload, 64 * KIB);
    assert_eq!(stream(&mut first, &alive), (GIB, 64 * KIB));
    assert_eq!(alive.load(Ordering::Relaxed), 0, "past the cap everything is freed");
    assert!(!tape.replayable());
}

#[test]
fn a_gibibyte_of_known_length_is_not_held_at_all() {
    let upload = Upload::new(GIB, true);
    let alive = Arc::clone(&upload.alive);
    let (mut first, tape) = Replay::record(upload, 64 * KIB);
    assert!(tape.replayable(), "nothing was read of it yet");
    assert_eq!(stream(&mut first, &alive), (GIB, 0));
    assert!(!tape.replayable());
}

#[test]
fn a_plain_gibibyte_is_not_held_at_all() {
    let upload = Upload::new(GIB, false);
    let alive = Arc::clone(&upload.alive);
    assert_eq!(stream(&mut Replay::plain(upload), &alive), (GIB, 0));
}

#[test]
fn a_gibibyte_that_was_refused_before_it_was_sent_is_sent_later() {
    let upload = Upload::new(GIB, true);
    let alive = Arc::clone(&upload.alive);
    let (refused, tape) = Replay::record(upload, 64 * KIB);
    drop(refused);
    let refused = tape.rewind().unwrap();
    assert_eq!(refused.size_hint().exact(), Some(GIB));
    drop(refused);
    let mut sent = tape.rewind().unwrap();
    assert_eq!(sent.size_hint().exact(), Some(GIB));
    assert_eq!(stream(&mut sent, &alive), (GIB, 0));
}

#[test]
fn what_is_held_is_freed_with_the_tape() {
    let upload = Upload::new(64 * KIB as u64, true);
    let alive = Arc::clone(&upload.alive);
    let (mut first, tape) = Replay::record(upload, 64 * KIB);
    stream(&mut first, &alive);
    assert_eq!(alive.load(Ordering::Relaxed), 64 * KIB);
    drop(first);
    assert_eq!(alive.load(Ordering::Relaxed), 64 * KIB);
    drop(tape);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}
