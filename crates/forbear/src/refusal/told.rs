use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use forbear_core::time::Monotonic;
use http::{Response, StatusCode};

use super::answer::Answer;
use super::kind::Kind;
use super::problem;
use crate::error::cause;
use crate::extensions::{Shadowed, Signal};
use crate::{Error, clock};

/// What a server tells its own caller, where a vendor is not called or says no. See the [module](super).
///
/// It is an error too, so that a handler with an error type of its own can return it with `?`: [`Refusal::find`] finds it there. As
/// text it is the sentence of the problem's `detail`, which tells no secrets.
#[derive(Debug, Clone)]
pub struct Refusal {
    kind: Kind,
    status: StatusCode,
    family: Option<Box<str>>,
    reason: Box<str>,
    retry_at: Option<Monotonic>,
}

impl Refusal {
    /// What `error` means for the caller.
    #[must_use]
    pub fn of(error: &Error) -> Self {
        Self::find(error).unwrap_or_else(|| Self::told(error))
    }

    /// The same for an error that has a `forbear::Error` or a refusal somewhere in its chain of sources, or is one; `None`
    /// where it has not.
    #[must_use]
    pub fn find(error: &(dyn StdError + 'static)) -> Option<Self> {
        telling(error).map(|telling| match telling {
            Telling::Error(error) => Self::told(error),
            Telling::Refusal(refusal) => refusal.clone(),
        })
    }

    fn told(error: &Error) -> Self {
        Self {
            kind: Kind::of(error),
            status: error.status(),
            family: error.family().map(Into::into),
            reason: error.reason().into(),
            retry_at: error.retry_in().map(|left| clock::now().after(left)),
        }
    }

    /// Hands on an answer that is not limited, so that a handler can read it.
    ///
    /// ```
    /// # use bytes::Bytes;
    /// # use forbear::{Families, Refusal};
    /// # use forbear_mock::{MockVendor, reply};
    /// # use http_body_util::Empty;
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), forbear::BoxError> {
    /// # let mock = MockVendor::in_process().script([reply(200), reply(429).retry_after(120)]);
    /// # let vendor = forbear::stack(&Families::builder().build()?).service(mock.service());
    /// # let request = || http::Request::get(mock.url("/chart")).body(Empty::<Bytes>::new());
    /// let answer = Refusal::check(vendor.send(request()?).await?)?;
    /// assert_eq!(answer.status(), 200);
    ///
    /// let refusal = Refusal::check(vendor.send(request()?).await?).unwrap_err();
    /// assert_eq!(refusal.status(), 503);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Refusal::limited`]. The answer is dropped then, its body unread.
    pub fn check<A: Answer>(answer: A) -> Result<A, Self> {
        match Self::limited(&answer) {
            Some(refusal) => Err(refusal),
            None => Ok(answer),
        }
    }

    /// What a vendor's limited answer means for the caller: not to be passed on as the caller's own limit. [`Refusal::check`]
    /// where the answer is to be read.
    ///
    /// `None` where it is no limited answer, by the [`Signal`] in its extensions, or was met in shadow mode.
    #[must_use]
    pub fn limited<A: Answer>(answer: &A) -> Option<Self> {
        let extensions = answer.extensions();
        let signal = extensions.get::<Signal>().filter(|_| extensions.get::<Shadowed>().is_none())?;
        let told = || signal.delay.map(|delay| clock::now().after(delay.duration));
        Some(Self {
            kind: Kind::Limited,
            status: StatusCode::SERVICE_UNAVAILABLE,
            family: signal.family().map(Into::into),
            reason: signal.reason.as_str().into(),
            retry_at: signal.retry_at.or_else(told),
        })
    }

    /// What kind of problem it is.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The status: `503`, `504`, `502` or `500`.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// The family that is not called; `None` where it is not known.
    #[must_use]
    pub fn family(&self) -> Option<&str> {
        self.family.as_deref()
    }

    /// A short code, the vendor's where it gave one.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// How long from now until it is worth trying again, zero where that has passed; `None` where nobody knows.
    #[must_use]
    pub fn retry_in(&self) -> Option<Duration> {
        self.retry_at.map(|at| at.since(clock::now()))
    }

    /// The response, with what is left of the time until then.
    #[must_use]
    pub fn response<B: From<String>>(&self) -> Response<B> {
        problem::response(self)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::of(&error)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&problem::detail(self))
    }
}

impl StdError for Refusal {}

enum Telling<'a> {
    Error(&'a Error),
    Refusal(&'a Refusal),
}

/// What tells most in a chain: the outermost of ours, but what only wraps a client's failure stands behind what is inside it.
fn telling<'a>(error: &'a (dyn StdError + 'static)) -> Option<Telling<'a>> {
    let mut failed = None;
    let mut next = Some(error);
    while let Some(error) = next {
        match ours(error) {
            Some(client @ Error::Client(inner)) => {
                failed = failed.or(Some(client));
                next = Some(inner.as_ref());
                continue;
            }
            Some(error) => return Some(Telling::Error(error)),
            None => {}
        }
        if let Some(refusal) = error.downcast_ref() {
            return Some(Telling::Refusal(refusal));
        }
        next = cause(error);
    }
    failed.map(Telling::Error)
}

/// Where it is one of ours, also in a pointer: that stands in the chain instead of what it points to.
fn ours<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a Error> {
    let shared = || error.downcast_ref::<Arc<Error>>().map(AsRef::as_ref);
    let boxed = || error.downcast_ref::<Box<Error>>().map(AsRef::as_ref);
    error.downcast_ref::<Error>().or_else(shared).or_else(boxed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use forbear_core::signal::{Class, Signal as Said};

    /// As of a limit of one request, which closes no family.
    #[tokio::test(start_paused = true)]
    async fn a_signal_that_closed_nothing_tells_the_vendors_own_delay() {
        let said = Said::new(Class::Throttled, StatusCode::TOO_MANY_REQUESTS);
        let five = Duration::from_secs(5);
        for (said, expected) in [(said.clone().delay(five), Some(five)), (said, None)] {
            let mut answer = Response::new(());
            answer.extensions_mut().insert(Signal { said: Arc::new(said), retry_at: None, gate: None });
            let refusal = Refusal::limited(&answer).unwrap();
            assert_eq!((refusal.kind(), refusal.family()), (Kind::Limited, None));
            assert_eq!(refusal.retry_in(), expected);
        }
        assert!(Refusal::limited(&Response::new(())).is_none());
    }
}
