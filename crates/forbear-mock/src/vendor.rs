//! The vendor a test holds.

use std::sync::Arc;
use std::time::Duration;

use crate::engine::Engine;
use crate::outage::Planned;
use crate::wire::{self, Server};
use crate::{Attempts, Limiter, MockService, Script};

/// The authority of a vendor without a socket; `.test` never resolves (RFC 6761, section 6.2).
const IN_PROCESS: &str = "vendor.test";

/// A vendor that answers from scripts and logs every attempt.
///
/// Clones share scripts, log and socket; the socket closes, with every connection on it, when the last clone is
/// dropped.
#[derive(Clone, Debug)]
pub struct MockVendor {
    engine: Arc<Engine>,
    server: Option<Arc<Server>>,
}

impl MockVendor {
    /// Starts a vendor on a free port of 127.0.0.1.
    ///
    /// # Panics
    ///
    /// When no loopback port can be bound, or no thread started.
    pub async fn start() -> Self {
        let engine = Arc::new(Engine::default());
        let server = wire::serve(Arc::clone(&engine));
        Self { engine, server: Some(Arc::new(server)) }
    }

    /// A vendor without a socket, called through [`service`](Self::service) only.
    #[must_use]
    pub fn in_process() -> Self {
        Self { engine: Arc::default(), server: None }
    }

    /// The vendor for a wiremock server that you have already, beside mocks of your own:
    ///
    /// ```
    /// use forbear_mock::{MockVendor, reply};
    /// use wiremock::{Mock, MockServer, matchers::path};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let server = MockServer::start().await;
    /// let vendor = MockVendor::in_process().script([reply(429).retry_after(5), reply(200)]);
    /// Mock::given(path("/quotes")).respond_with(vendor.responder()).mount(&server).await;
    /// # }
    /// ```
    ///
    /// A wiremock server cannot break a connection, send a body in pieces, or give it a false length: a reply that
    /// would is answered with `501` and says so. Limits of concurrency admit everybody there, since wiremock does not
    /// say when an answer was sent.
    #[cfg(feature = "wiremock")]
    #[must_use]
    pub fn responder(&self) -> crate::Responder {
        crate::Responder(Arc::clone(&self.engine))
    }

    /// Gives the default script: the answers on every path without a script of its own.
    ///
    /// # Panics
    ///
    /// When the list of replies is empty.
    #[track_caller]
    #[must_use]
    pub fn script(self, script: impl Into<Script>) -> Self {
        self.set_script(script);
        self
    }

    /// Gives one path a script of its own. It matches [`Attempt::path`](crate::Attempt::path) exactly; the
    /// query does not matter.
    ///
    /// # Panics
    ///
    /// When the list of replies is empty, or `path` does not begin with `/` or holds a query.
    #[track_caller]
    #[must_use]
    pub fn route(self, path: &str, script: impl Into<Script>) -> Self {
        self.set_route(path, script);
        self
    }

    /// Adds a limit on what the vendor admits: on all routes together, or [on one](Limiter::on). Beyond it the
    /// limiter answers and no script moves.
    ///
    /// Of several limits each must admit an attempt, and counts only what all admit; the first that does not answers,
    /// in the order in which they were added.
    #[must_use]
    pub fn limit(self, limiter: Limiter) -> Self {
        self.engine.add_limit(limiter);
        self
    }

    /// Plans an outage from `from` (inclusive) to `until` (exclusive), both counted from the vendor's first attempt,
    /// as [`Attempt::since`](crate::Attempt::since) is. While it lasts `script` answers on every route, in place of
    /// scripts and limits, which stand still. Of outages that overlap, the one planned first answers.
    ///
    /// # Panics
    ///
    /// When the list of replies or the span is empty.
    #[track_caller]
    #[must_use]
    pub fn outage_between(self, from: Duration, until: Duration, script: impl Into<Script>) -> Self {
        assert!(from < until, "the outage from {from:?} to {until:?} is empty: no attempt would meet it");
        self.engine.plan_outage(Planned { from, until, script: script.into() });
        self
    }

    /// Begins an outage while the vendor runs, until [`recover`](Self::recover): `script` answers on every route, in
    /// place of scripts, limits and planned outages. In an outage already, its script is replaced.
    ///
    /// # Panics
    ///
    /// As [`script`](Self::script).
    #[track_caller]
    pub fn outage(&self, script: impl Into<Script>) {
        self.engine.switch_outage(Some(script.into()));
    }

    /// Ends the outage that [`outage`](Self::outage) began: scripts go on where they stood. Planned outages stay.
    pub fn recover(&self) {
        self.engine.switch_outage(None);
    }

    /// Replaces the default script while the vendor runs, and plays the new one from its beginning. The log goes on;
    /// scripts of routes stay, and so do limits.
    ///
    /// # Panics
    ///
    /// As [`script`](Self::script).
    #[track_caller]
    pub fn set_script(&self, script: impl Into<Script>) {
        self.engine.set_script(script.into());
    }

    /// Replaces, or first gives, the script of one path while the vendor runs.
    ///
    /// # Panics
    ///
    /// As [`route`](Self::route).
    #[track_caller]
    pub fn set_route(&self, path: &str, script: impl Into<Script>) {
        check_route(path);
        self.engine.set_route(path, script.into());
    }

    /// The vendor as a Tower service, for tests under a paused clock. It shares scripts and log with the socket, if
    /// there is one; then don't mix them under a paused clock, for their times would not compare.
    #[must_use]
    pub fn service(&self) -> MockService {
        MockService::new(Arc::clone(&self.engine))
    }

    /// `http://127.0.0.1:PORT`, without a slash at the end; in process `http://vendor.test`.
    #[must_use]
    pub fn uri(&self) -> String {
        format!("http://{}", self.authority())
    }

    /// `127.0.0.1:PORT`; in process `vendor.test`.
    #[must_use]
    pub fn authority(&self) -> String {
        self.server.as_ref().map_or_else(|| IN_PROCESS.to_owned(), |server| server.address().to_string())
    }

    /// The URL of a path, which may carry a query. For the URL without a path there is [`uri`](Self::uri).
    ///
    /// # Panics
    ///
    /// When `path` does not begin with `/`.
    #[track_caller]
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        check_path(path);
        format!("http://{}{path}", self.authority())
    }

    /// Every attempt so far, in order of arrival.
    #[must_use]
    pub fn attempts(&self) -> Attempts {
        self.engine.attempts(None)
    }

    /// The attempts so far on one path, whatever their query.
    #[must_use]
    pub fn attempts_on(&self, path: &str) -> Attempts {
        self.engine.attempts(Some(path))
    }

    /// Asserts that `n` attempts arrived so far.
    ///
    /// # Panics
    ///
    /// As [`Attempts::assert_count`].
    #[track_caller]
    pub fn assert_attempts(&self, n: usize) {
        self.attempts().assert_count(n);
    }

    /// Asserts that `n` attempts arrived so far on one path.
    ///
    /// # Panics
    ///
    /// As [`Attempts::assert_count`].
    #[track_caller]
    pub fn assert_attempts_on(&self, path: &str, n: usize) {
        self.attempts_on(path).assert_count(n);
    }

    /// Asserts that no more than `n` attempts, on whatever route, came in any window of this length.
    ///
    /// # Panics
    ///
    /// As [`Attempts::assert_rate_at_most`].
    #[track_caller]
    pub fn assert_rate_at_most(&self, n: usize, window: Duration) {
        self.attempts().assert_rate_at_most(n, window);
    }

    /// Asserts that any two attempts, on whatever route, were at least `gap` apart. For one route:
    /// `vendor.attempts_on(path).assert_gap_at_least(gap)`.
    ///
    /// # Panics
    ///
    /// As [`Attempts::assert_gap_at_least`].
    #[track_caller]
    pub fn assert_gap_at_least(&self, gap: Duration) {
        self.attempts().assert_gap_at_least(gap);
    }
}

#[track_caller]
pub(crate) fn check_route(path: &str) {
    check_path(path);
    assert!(!path.contains('?'), "a route is a path without a query: {path:?} would never match");
}

#[track_caller]
fn check_path(path: &str) {
    assert!(path.starts_with('/'), "a path begins with a slash: {path:?} does not");
}
