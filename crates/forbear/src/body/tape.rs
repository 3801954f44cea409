//! The tape: the original body of a request and what was read of it.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};

use super::held::Held;
use super::{BoxError, Replay};

/// Makes the body of the next attempt out of what the attempts before have read.
///
/// Made by [`Replay::record`]. It holds at most the cap given there, besides the original body itself.
///
/// Its methods take the lock that is held while the original body is polled, so that body must not call them from
/// its own poll.
pub struct Tape<B> {
    /// `None` for a body that was empty from the start.
    reel: Option<Arc<Mutex<Reel<B>>>>,
}

impl<B> Tape<B> {
    /// The tape of an empty body.
    pub(super) const fn blank() -> Self {
        Self { reel: None }
    }

    /// The body of the next attempt, from the first byte; `None` where something that was read is not held any
    /// more, because it went over the cap, or because the body failed or panicked.
    ///
    /// A body nothing was read of is always handed out, whatever its size: an attempt that was refused before it
    /// was sent costs nothing.
    ///
    /// All replays made before are superseded: the one that reads is woken, and their next poll is an error. They never
    /// just end, which the vendor would take for a complete request.
    #[must_use]
    pub fn rewind(&self) -> Option<Replay<B>> {
        let Some(shared) = &self.reel else { return Some(Replay::empty()) };
        let mut reel = shared.lock().ok()?;
        if !reel.held.whole() {
            return None;
        }
        let attempt = reel.number();
        let superseded = reel.begin(attempt);
        let ahead = reel.held.bytes();
        drop(reel);
        if let Some(waker) = superseded {
            waker.wake();
        }
        Some(Replay::taped(Reader { reel: Arc::clone(shared), attempt, at: 0, ahead }))
    }

    /// Whether [`Tape::rewind`] would hand out a body now.
    #[must_use]
    pub fn replayable(&self) -> bool {
        self.reel.as_ref().is_none_or(|shared| shared.lock().is_ok_and(|reel| reel.held.whole()))
    }
}

impl<B: Body> Tape<B> {
    pub(super) fn record(body: B, cap: usize) -> (Reader<B>, Self) {
        let held = Held::new(cap, body.size_hint().lower());
        let reel = Reel { rest: Some(body), held, numbered: 0, attempt: 0, waiting: None };
        let reel = Arc::new(Mutex::new(reel));
        (Reader { reel: Arc::clone(&reel), attempt: 0, at: 0, ahead: 0 }, Self { reel: Some(reel) })
    }
}

impl<B> fmt::Debug for Tape<B> {
    /// Never waits for the lock: a body may log its tape while it is polled.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tape = f.debug_struct("Tape");
        if let Some(Ok(reel)) = self.reel.as_ref().map(|shared| shared.try_lock()) {
            tape.field("held", &reel.held.bytes()).field("replayable", &reel.held.whole());
        }
        tape.finish_non_exhaustive()
    }
}

/// Shared by all replays of one logical request. Locked for one poll of the body, by one attempt at a time.
///
/// A body that panics poisons the lock, and that is the record of it: a poisoned reel is never read again.
struct Reel<B> {
    /// The original body, from where reading stopped; `None` after its end.
    rest: Option<B>,
    held: Held,
    /// The last number that was given to an attempt.
    numbered: u64,
    /// The attempt that reads. Lower numbers are superseded, higher ones are clones that have not begun.
    attempt: u64,
    /// The reader to wake when it is superseded.
    waiting: Option<Waker>,
}

impl<B> Reel<B> {
    /// The number of another attempt.
    fn number(&mut self) -> u64 {
        self.numbered = self.numbered.wrapping_add(1);
        self.numbered
    }

    /// Lets `attempt` read from now on; whom to wake, once the lock is let go.
    fn begin(&mut self, attempt: u64) -> Option<Waker> {
        self.attempt = attempt;
        self.waiting.take()
    }
}

/// The reel, locked for `attempt`. A clone begins here, with `ahead` bytes before it.
fn reading<'a, B>(
    shared: &'a Mutex<Reel<B>>,
    attempt: u64,
    ahead: &mut usize,
) -> Result<MutexGuard<'a, Reel<B>>, Unreadable> {
    let lock = || shared.lock().map_err(|_| Unreadable::Panicked);
    let mut reel = lock()?;
    if attempt > reel.attempt {
        if !reel.held.whole() {
            return Err(Unreadable::Gone);
        }
        *ahead = reel.held.bytes();
        if let Some(superseded) = reel.begin(attempt) {
            drop(reel);
            superseded.wake();
            reel = lock()?;
        }
    }
    if attempt == reel.attempt { Ok(reel) } else { Err(Unreadable::Superseded) }
}

/// One attempt's place on the tape.
pub(super) struct Reader<B> {
    reel: Arc<Mutex<Reel<B>>>,
    attempt: u64,
    /// The next of the held frames to hand out.
    at: usize,
    /// Data bytes of the held frames from `at` on.
    ahead: usize,
}

impl<B> Reader<B> {
    /// A reader that has not begun. It supersedes this one when it begins.
    pub(super) fn try_clone(&self) -> Option<Self> {
        let mut reel = self.reel.lock().ok()?;
        if self.attempt < reel.attempt || !reel.held.whole() {
            return None;
        }
        let attempt = reel.number();
        Some(Self { reel: Arc::clone(&self.reel), attempt, at: 0, ahead: 0 })
    }

    pub(super) fn replayable(&self) -> bool {
        self.reel.lock().is_ok_and(|reel| self.attempt >= reel.attempt && reel.held.whole())
    }

    /// Whether what it reads is its own: it reads now, or may begin to.
    fn may_read(&self, reel: &Reel<B>) -> bool {
        self.attempt == reel.attempt || (self.attempt > reel.attempt && reel.held.whole())
    }
}

impl<B> Reader<B>
where
    B: Body + Unpin,
    B::Error: Into<BoxError>,
{
    pub(super) fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let mut reel = match reading(&self.reel, self.attempt, &mut self.ahead) {
            Ok(reel) => reel,
            Err(unreadable) => return Poll::Ready(Some(Err(unreadable.into()))),
        };
        if let Some(frame) = reel.held.get(self.at) {
            self.at = self.at.saturating_add(1);
            self.ahead = self.ahead.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
            return Poll::Ready(Some(Ok(frame)));
        }
        let Some(rest) = reel.rest.as_mut() else { return Poll::Ready(None) };
        match Pin::new(rest).poll_frame(cx) {
            Poll::Pending => {
                match &mut reel.waiting {
                    Some(waker) => waker.clone_from(cx.waker()),
                    none => *none = Some(cx.waker().clone()),
                }
                Poll::Pending
            }
            Poll::Ready(Some(Ok(frame))) => {
                let frame = into_bytes(frame);
                reel.held.push(&frame);
                self.at = reel.held.len();
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => {
                reel.held.lose();
                Poll::Ready(Some(Err(error.into())))
            }
            Poll::Ready(None) => {
                // What the body's drop does is its own affair, so it happens outside the lock.
                let over = (reel.rest.take(), reel.waiting.take());
                drop(reel);
                drop(over);
                Poll::Ready(None)
            }
        }
    }

    pub(super) fn is_end_stream(&self) -> bool {
        self.reel.lock().is_ok_and(|reel| {
            self.may_read(&reel)
                && self.at >= reel.held.len()
                && reel.rest.as_ref().is_none_or(Body::is_end_stream)
        })
    }

    pub(super) fn size_hint(&self) -> SizeHint {
        match self.reel.lock() {
            Ok(reel) if self.may_read(&reel) => {
                let rest = reel.rest.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint);
                let ahead = if self.attempt > reel.attempt { reel.held.bytes() } else { self.ahead };
                longer(&rest, u64::try_from(ahead).unwrap_or(u64::MAX))
            }
            // What comes is an error, of no known length.
            _ => SizeHint::default(),
        }
    }
}

/// The same frame; without a copy where the data is `Bytes` already.
pub(crate) fn into_bytes<D: Buf>(frame: Frame<D>) -> Frame<Bytes> {
    frame.map_data(|mut data| data.copy_to_bytes(data.remaining()))
}

/// The hint of a body with `bytes` more in front of `rest`.
pub(crate) fn longer(rest: &SizeHint, bytes: u64) -> SizeHint {
    let mut hint = SizeHint::new();
    hint.set_lower(rest.lower().saturating_add(bytes));
    if let Some(upper) = rest.upper().and_then(|upper| upper.checked_add(bytes)) {
        hint.set_upper(upper);
    }
    hint
}

/// Why a replay that is polled has nothing to give.
#[derive(Debug, Clone, Copy)]
enum Unreadable {
    Superseded,
    Gone,
    Panicked,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Superseded => "request body superseded: the request is being sent again, drop this attempt",
            Self::Gone => {
                "request body gone: more of it was read than is kept, so it cannot be sent again; raise the replay \
                 limit, or ask `Replay::replayable` before you send it"
            }
            Self::Panicked => "request body panicked while it was read: see the panic message",
        })
    }
}

impl std::error::Error for Unreadable {}
