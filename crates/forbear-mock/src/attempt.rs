//! What arrived, and when.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use tokio::time::Instant;

use crate::Reply;

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

    /// The route: the request's path, without the query; not decoded. On a socket, dot segments (`/a/../b`) are
    /// resolved.
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

    /// The status it was answered with. `None` while [`respond_with`](crate::respond_with) is being asked.
    ///
    /// The client may not have seen it: it can have gone during the reply's [`delay`](Reply::delay).
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        self.answer.as_ref().map(Reply::status)
    }
}

/// Attempts in order of arrival: a snapshot of the log, or the part of it on one route.
///
/// It reads as a slice of [`Attempt`]s; its assertions panic with the attempts printed as a timeline.
#[derive(Clone, Debug)]
pub struct Attempts {
    pub(crate) list: Vec<Attempt>,
    /// The path they are on; `None` for all.
    pub(crate) route: Option<String>,
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
