//! What can go wrong, for all layers.
//!
//! A server that cannot serve because its vendor is not called answers its own caller, with the time to come back.
//! The vendor's own 429 is for this program, not for that caller, so it is translated too. The feature `server` has a layer
//! that does this for a whole server; by hand:
//!
//! ```
//! use std::time::Duration;
//!
//! use forbear::{Error, Signal};
//! use http::{Response, StatusCode, header::RETRY_AFTER};
//!
//! fn answer<B>(outcome: Result<Response<B>, Error>) -> Result<Response<B>, Response<String>> {
//!     let (status, retry_in, why) = match outcome {
//!         Ok(response) => match response.extensions().get::<Signal>() {
//!             Some(signal) => (StatusCode::SERVICE_UNAVAILABLE, signal.retry_in(), signal.reason.to_string()),
//!             None => return Ok(response),
//!         },
//!         Err(error) => (error.status(), error.retry_in(), error.reason().to_owned()),
//!     };
//!     let mut answer = Response::new(why);
//!     *answer.status_mut() = status;
//!     if let Some(wait) = retry_in {
//!         // Whole seconds, rounded up: nobody is told to come back too early.
//!         let seconds = wait.saturating_add(Duration::from_nanos(999_999_999)).as_secs();
//!         answer.headers_mut().insert(RETRY_AFTER, seconds.into());
//!     }
//!     Err(answer)
//! }
//! # let limited = answer(Ok(Response::new(())));
//! # assert!(limited.is_ok());
//! ```

mod cooling;
mod exhausted;
mod not_stored;
mod pacing;
#[cfg(feature = "stale")]
mod shared;
mod told;
mod unknown;

pub use cooling::Cooling;
pub use exhausted::{BudgetExhausted, Spent};
pub use not_stored::NotStored;
pub use pacing::PacingRefused;
#[cfg(feature = "stale")]
pub(crate) use shared::SharedFault;
pub use unknown::UnknownFamily;

use std::fmt;

use crate::body::BoxError;

/// The one error of all layers. An inner `forbear::Error` passes through every layer unchanged, so the outermost
/// caller matches what happened without downcasting.
#[non_exhaustive]
pub enum Error {
    /// A local decision not to send: the family cools, or others come first. Nothing was sent.
    Cooling(Cooling),
    /// A local decision not to send: the family's pacing does not let it go in time. Nothing was sent.
    Pacing(PacingRefused),
    /// The budget of the logical request is spent.
    BudgetExhausted(BudgetExhausted),
    /// No family has this host or name, and the policy says to refuse it. Nothing was sent.
    UnknownFamily(UnknownFamily),
    /// A local decision not to send: it is answered from what is stored alone, and nothing is. Nothing was sent.
    NotStored(NotStored),
    /// The client below failed: a transport error, or whatever else it says. What it says is its source, and is shown
    /// neither by `Display` nor by `Debug`: many a client's error holds the URL, with the API key in it.
    Client(BoxError),
}

impl Error {
    /// Takes an inner service's error: a `forbear::Error` stays what it is, everything else is [`Error::Client`].
    pub fn from_inner(error: impl Into<BoxError>) -> Self {
        match error.into().downcast::<Self>() {
            Ok(ours) => *ours,
            Err(other) => Self::Client(other),
        }
    }

    /// Finds the error of forbear in another's error, or in what that was caused by: in a `reqwest_middleware::Error`, in a
    /// `tonic::Status`, in whatever a program of yours makes of it.
    ///
    /// ```
    /// use std::{error, fmt};
    ///
    /// use forbear::Error;
    ///
    /// #[derive(Debug)]
    /// struct NoQuotes(Error);
    ///
    /// impl fmt::Display for NoQuotes {
    ///     fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    ///         f.write_str("no quotes today")
    ///     }
    /// }
    ///
    /// impl error::Error for NoQuotes {
    ///     fn source(&self) -> Option<&(dyn error::Error + 'static)> {
    ///         Some(&self.0)
    ///     }
    /// }
    ///
    /// let error = NoQuotes(Error::from_inner("connection reset"));
    /// assert!(matches!(Error::find(&error), Some(Error::Client(_))));
    /// assert!(Error::find(&fmt::Error).is_none());
    /// ```
    #[must_use]
    pub fn find<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a Self> {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(ours) = error.downcast_ref() {
                return Some(ours);
            }
            next = cause(error);
        }
        None
    }

    /// Whether nothing was sent: a local decision, which never counts as the vendor's failure.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Cooling(_) | Self::Pacing(_) | Self::UnknownFamily(_) | Self::NotStored(_))
    }
}

/// What an error was caused by.
pub(crate) fn cause<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> Option<&'a (dyn std::error::Error + 'static)> {
    // It hands on what causes the error inside it, and so passes over that error itself.
    #[cfg(feature = "reqwest-middleware")]
    if let Some(reqwest_middleware::Error::Middleware(inner)) = error.downcast_ref() {
        return Some(inner.as_ref());
    }
    error.source()
}

impl From<UnknownFamily> for Error {
    fn from(unknown: UnknownFamily) -> Self {
        Self::UnknownFamily(unknown)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cooling(cooling) => f.debug_tuple("Cooling").field(cooling).finish(),
            Self::Pacing(refused) => f.debug_tuple("Pacing").field(refused).finish(),
            Self::BudgetExhausted(exhausted) => f.debug_tuple("BudgetExhausted").field(exhausted).finish(),
            Self::UnknownFamily(unknown) => f.debug_tuple("UnknownFamily").field(unknown).finish(),
            Self::NotStored(missing) => f.debug_tuple("NotStored").field(missing).finish(),
            Self::Client(_) => f.write_str("Client(see its source)"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cooling(cooling) => cooling.fmt(f),
            Self::Pacing(refused) => refused.fmt(f),
            Self::BudgetExhausted(exhausted) => exhausted.fmt(f),
            Self::UnknownFamily(unknown) => unknown.fmt(f),
            Self::NotStored(missing) => missing.fmt(f),
            Self::Client(_) => f.write_str("the client failed, see its source"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Client(inner) => Some(inner.as_ref()),
            Self::Cooling(_)
            | Self::Pacing(_)
            | Self::BudgetExhausted(_)
            | Self::UnknownFamily(_)
            | Self::NotStored(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_three_words() {
        assert_eq!(size_of::<Error>(), 24);
    }

    #[test]
    fn an_inner_error_of_ours_passes_through_unchanged() {
        let inner = Error::UnknownFamily(UnknownFamily::of_name("x"));
        let twice = Error::from_inner(Error::from_inner(Box::new(inner) as BoxError));
        assert!(matches!(twice, Error::UnknownFamily(_)));
        assert!(twice.is_refusal());
    }

    #[test]
    fn a_clients_error_is_the_source_and_not_printed_twice() {
        let error = Error::from_inner("connection reset");
        assert_eq!(error.to_string(), "the client failed, see its source");
        assert_eq!(format!("{error:?}"), "Client(see its source)");
        assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "connection reset");
        assert!(!error.is_refusal());
    }
}
