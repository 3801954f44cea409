//! What goes wrong with an answer.

use std::fmt;
use std::io::{self, ErrorKind};
use std::time::Duration;

use crate::Reply;

/// Where the connection fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Reset,
    CloseBeforeHead,
    /// After this many bytes of the body.
    CloseInBody(usize),
    HalfClose,
}

/// A body that comes in pieces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub(crate) piece: usize,
    pub(crate) every: Duration,
}

/// Answers that come slowly, or not whole: [what a client sees of each](crate#faults).
impl Reply {
    /// Sends the body in pieces of at most `piece` bytes, each `every` after the one before; the first comes `every`
    /// after the head. An empty body has no pieces.
    ///
    /// In process a piece waits for its reader, and the next is counted from when it was read.
    ///
    /// # Panics
    ///
    /// When `piece` is 0.
    #[track_caller]
    #[must_use]
    pub fn slow_body(mut self, piece: usize, every: Duration) -> Self {
        assert!(piece > 0, "a body in pieces of 0 bytes would never end: send at least 1 at a time");
        self.pace = Some(Pace { piece, every });
        self
    }

    /// Resets the connection (TCP RST) instead of answering. The reply's status, headers and body are never seen.
    #[must_use]
    pub fn reset(self) -> Self {
        self.failing(Fault::Reset)
    }

    /// Closes the connection in order (TCP FIN) instead of answering, as a server does that is being restarted. The
    /// reply's status, headers and body are never seen.
    #[must_use]
    pub fn close_before_head(self) -> Self {
        self.failing(Fault::CloseBeforeHead)
    }

    /// Sends the head with the length of the body, or 1 if that is empty, and closes the connection without any of it.
    #[must_use]
    pub fn close_before_body(self) -> Self {
        self.close_in_body(0)
    }

    /// Closes the connection after `sent` bytes of the body. The head promises the whole body, and at least one byte
    /// more than is sent.
    #[must_use]
    pub fn close_in_body(self, sent: usize) -> Self {
        self.failing(Fault::CloseInBody(sent))
    }

    /// Answers in full, then ends the sending half of the connection (TCP FIN) while the other half goes on taking
    /// whatever comes, until the client closes. No `Connection: close` warns of it: a client that sends its next
    /// request on this connection gets no answer, and the attempt is not logged.
    #[must_use]
    pub fn half_close(self) -> Self {
        self.failing(Fault::HalfClose)
    }

    fn failing(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self
    }
}

impl Fault {
    /// Whether the client never sees a head.
    pub(crate) fn is_before_head(self) -> bool {
        matches!(self, Self::Reset | Self::CloseBeforeHead)
    }

    /// What a client in the process sees in place of the head.
    pub(crate) fn instead_of_head(self) -> Option<io::Error> {
        match self {
            Self::Reset => {
                Some(io::Error::new(ErrorKind::ConnectionReset, "the mock vendor reset the connection"))
            }
            Self::CloseBeforeHead => Some(io::Error::new(
                ErrorKind::UnexpectedEof,
                "the mock vendor closed the connection before the head",
            )),
            Self::CloseInBody(_) | Self::HalfClose => None,
        }
    }
}

/// As a timeline says it.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reset => f.write_str("reset"),
            Self::CloseBeforeHead => f.write_str("closed before the head"),
            Self::CloseInBody(0) => f.write_str("closed before the body"),
            Self::CloseInBody(sent) => write!(f, "closed after {sent} bytes of the body"),
            Self::HalfClose => f.write_str("half-closed"),
        }
    }
}
