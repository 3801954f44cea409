//! What is demanded of attempts that were paced.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use forbear::body::Replay;
use forbear_tests::client::Body;
use http::{Request, Response};
use tokio::time::Instant;
use tower::Service;
use tower::retry::Policy;

pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// Notes when each attempt was sent: when the client was called. Clones share the notes.
#[derive(Debug, Clone)]
pub(crate) struct Tap<S> {
    client: S,
    sent: Arc<Mutex<Vec<Instant>>>,
}

impl<S> Tap<S> {
    pub(crate) fn new(client: S) -> Self {
        Self { client, sent: Arc::default() }
    }

    pub(crate) fn sent(&self) -> Vec<Instant> {
        self.sent.lock().unwrap().clone()
    }
}

impl<S: Service<R>, R> Service<R> for Tap<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.client.poll_ready(cx)
    }

    fn call(&mut self, request: R) -> S::Future {
        self.sent.lock().unwrap().push(Instant::now());
        self.client.call(request)
    }
}

/// The most attempts in any span of this length, both of its ends included.
pub(crate) fn most_within(sent: &[Instant], span: Duration) -> usize {
    let within = |(at, first): (usize, &Instant)| sent[at..].partition_point(|later| *later - *first <= span);
    sent.iter().enumerate().map(within).max().unwrap_or(0)
}

/// By how much some attempts came closer than their gaps allow: of any two, the later one is as many gaps behind as there
/// are attempts between them.
pub(crate) fn too_close(sent: &[Instant], gap: Duration) -> Duration {
    // The one before that is furthest ahead of its time, counted from the first.
    let mut late = Duration::ZERO;
    let mut most = Duration::ZERO;
    for (number, at) in (0_u32..).zip(sent) {
        let after = *at - sent[0];
        let due = gap * number;
        late = late.max(after.saturating_sub(due));
        most = most.max((due + late).saturating_sub(after));
    }
    most
}

/// Sends again, at once, what was answered with a plain 500, once.
#[derive(Debug, Clone)]
pub(crate) struct Again(pub(crate) bool);

impl<RB, E> Policy<Request<Replay<Body>>, Response<RB>, E> for Again {
    type Future = std::future::Ready<()>;

    fn retry(
        &mut self,
        _: &mut Request<Replay<Body>>,
        result: &mut Result<Response<RB>, E>,
    ) -> Option<Self::Future> {
        let fault = result.as_ref().is_ok_and(|response| response.status() == 500);
        (fault && std::mem::take(&mut self.0)).then(|| std::future::ready(()))
    }

    fn clone_request(&mut self, request: &Request<Replay<Body>>) -> Option<Request<Replay<Body>>> {
        let mut next = Request::new(request.body().try_clone()?);
        next.uri_mut().clone_from(request.uri());
        next.extensions_mut().clone_from(request.extensions());
        Some(next)
    }
}

#[test]
fn spans_and_gaps_are_counted_to_their_ends() {
    let start = Instant::now();
    let sent = [0, 10, 20, 25, 60].map(|millis| start + Duration::from_millis(millis));
    assert_eq!(most_within(&sent, Duration::from_millis(15)), 3);
    assert_eq!(most_within(&sent, Duration::from_millis(14)), 2);
    assert_eq!(too_close(&sent, Duration::from_millis(10)), Duration::from_millis(5));
    assert_eq!(too_close(&sent, Duration::from_millis(5)), Duration::ZERO);
    // 30 ms pass from the second to the fourth.
    let sent = [0, 50, 70, 80].map(|millis| start + Duration::from_millis(millis));
    assert_eq!(too_close(&sent, Duration::from_millis(20)), Duration::from_millis(10));
}
