//! What arrived, and when.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use tokio::time::Instant;

use crate::Reply;
use crate::fault::Fault;

/// A request as either face of the vendor received it.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) method: Method,
    pub(crate) authority: Option<String>,
    pub(crate) path: String,
    pub(crate) query: Option<String>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// One send that reached the vendor.
///
/// An attempt counts, and gets its time, once it has been read to the end of its body. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Attempt {
    pub(crate) number: usize,
    pub(crate) at: Instant,
    pub(crate) since: Duration,
    pub(crate) received: Arc<Received>,
    pub(crate) answer: Option<Reply>,
    pub(crate) turned_away: bool,
}

impl Attempt {
    /// Its place in the order of arrival, over all routes: the first is 1.
    #[must_use]
    pub fn number(&self) -> usize {
        self.number
    }

    /// When it arrived, on tokio's clock.
    ///
    /// A socket's attempts are timed on the server's thread, whose clock is never paused; those of
    /// [`MockVendor::service`](crate::MockVendor::service) on the caller's.
    #[must_use]
    pub fn at(&self) -> Instant {
        self.at
    }

    /// The time from the vendor's first attempt, on any route, to this one.
    #[must_use]
    pub fn since(&self) -> Duration {
        self.since
    }

    /// The request's method.
    #[must_use]
    pub fn method(&self) -> &Method {
        &self.received.method
    }

    /// The host, and port if given, that the client meant: the `Host` header, else the URI's authority.
    ///
    /// Several hosts of one vendor can be played by one mock and told apart here.
    #[must_use]
    pub fn authority(&self) -> Option<&str> {
        self.received.authority.as_deref()
    }

    /// The route: the request's path as it was sent, without the query; nothing in it is decoded or resolved.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.received.path
    }

    /// What follows the `?`, if there is one.
    #[must_use]
    pub fn query(&self) -> Option<&str> {
        self.received.query.as_deref()
    }

    /// The request's headers.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.received.headers
    }

    /// The request's whole body; of one that broke off, what had arrived.
    #[must_use]
    pub fn body(&self) -> &Bytes {
        &self.received.body
    }

    /// The status it was answered with. `None` while [`respond_with`](crate::respond_with) is being asked, and where
    /// the connection was ended [instead of a head](crate#faults).
    ///
    /// The client may not have seen it: it can have gone during the reply's [`delay`](Reply::delay).
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        let headed = |reply: &&Reply| !reply.fault().is_some_and(Fault::is_before_head);
        self.answer.as_ref().filter(headed).map(Reply::status)
    }

    /// Whether the vendor turned it away: a [`Limiter`](crate::Limiter) or an outage answered in the script's place,
    /// with whatever status, or the answer was a `429`.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.turned_away || self.status() == Some(StatusCode::TOO_MANY_REQUESTS)
    }
}

/// Attempts in order of arrival: a snapshot of the log, or a part of it.
///
/// It reads as a slice of [`Attempt`]s; its assertions panic with the attempts printed as a timeline.
#[derive(Clone, Debug)]
pub struct Attempts {
    pub(crate) list: Vec<Attempt>,
    /// What a timeline calls them.
    pub(crate) which: &'static str,
    /// The path they are on; `None` for all.
    pub(crate) route: Option<String>,
}

impl Attempts {
    /// Those that the vendor [turned away](Attempt::is_refused).
    #[must_use]
    pub fn refused(&self) -> Self {
        self.only("refused attempts", Attempt::is_refused)
    }

    /// Those that it did not turn away, whatever became of them then.
    #[must_use]
    pub fn accepted(&self) -> Self {
        self.only("accepted attempts", |attempt| !attempt.is_refused())
    }

    fn only(&self, which: &'static str, wanted: impl Fn(&Attempt) -> bool) -> Self {
        let list = self.list.iter().filter(|attempt| wanted(attempt)).cloned().collect();
        Self { list, which, route: self.route.clone() }
    }
}

impl Deref for Attempts {
    type Target = [Attempt];

    fn deref(&self) -> &[Attempt] {
        &self.list
    }
}

impl IntoIterator for Attempts {
    type Item = Attempt;
    type IntoIter = std::vec::IntoIter<Attempt>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

impl<'a> IntoIterator for &'a Attempts {
    type Item = &'a Attempt;
    type IntoIter = std::slice::Iter<'a, Attempt>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}
