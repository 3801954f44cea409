//! What the cases share: requests, families, and clients that a test holds by strings.

use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use forbear::body::Replay;
use forbear::{Families, Family, NoWait, Pacing, Vendor};
use forbear_mock::{MockService, MockVendor};
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use tokio::sync::oneshot;
use tower::util::BoxCloneSyncService;

pub(crate) const MILLISECOND: Duration = Duration::from_millis(1);
pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) type Body = Full<Bytes>;
/// A client that a test made of a closure.
pub(crate) type Client = BoxCloneSyncService<Request<Replay<Body>>, Response<Body>, io::Error>;

pub(crate) fn get(path: &str) -> Request<Body> {
    Request::get(format!("http://vendor.test{path}")).body(Full::default()).unwrap()
}

/// The same, and it never waits for a cool-down.
pub(crate) fn impatient(path: &str) -> Request<Body> {
    let mut request = get(path);
    request.extensions_mut().insert(NoWait);
    request
}

pub(crate) fn post(path: &str) -> Request<Body> {
    Request::post(format!("http://vendor.test{path}")).body(Full::from("order 7")).unwrap()
}

/// One registered family, `vendor`, with the host `vendor.test`.
pub(crate) fn registered() -> Families {
    Families::builder().family(Family::new("vendor").host("vendor.test")).build().unwrap()
}

/// The same, paced like this.
pub(crate) fn paced(pacing: Pacing) -> Families {
    let family = Family::new("vendor").host("vendor.test").pacing(pacing);
    Families::builder().family(family).build().unwrap()
}

/// No registered family: each host gets one when it first signals a limit.
pub(crate) fn automatic() -> Families {
    Families::builder().build().unwrap()
}

/// All layers around a mock, with a budget.
pub(crate) fn stacked(families: &Families, budget: Duration, mock: &MockVendor) -> Vendor<MockService> {
    forbear::stack(families).budget(budget).service(mock.service())
}

pub(crate) fn answer(status: u16) -> Response<Body> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response
}

pub(crate) fn limited(retry_after: &str) -> Response<Body> {
    let mut response = answer(429);
    response.headers_mut().insert("retry-after", retry_after.parse().unwrap());
    response
}

/// A client made of a closure.
pub(crate) fn client<F, Fut>(respond: F) -> Client
where
    F: FnMut(Request<Replay<Body>>) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<Response<Body>, io::Error>> + Send + 'static,
{
    Client::new(tower::service_fn(respond))
}

/// Attempts that a test answers by hand, in any order.
#[derive(Clone, Default)]
pub(crate) struct Held(Arc<Mutex<Vec<Option<Answer>>>>);

/// Where the answer of one attempt goes.
type Answer = oneshot::Sender<Response<Body>>;

impl Held {
    pub(crate) fn client(&self) -> Client {
        let held = self.clone();
        client(move |_| {
            let (answer, answered) = oneshot::channel();
            held.0.lock().unwrap().push(Some(answer));
            async move { answered.await.map_err(io::Error::other) }
        })
    }

    /// How many attempts were sent.
    pub(crate) fn sent(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// Answers the attempt that was sent as number `at`, from 0.
    pub(crate) fn answer(&self, at: usize, response: Response<Body>) {
        let held = self.0.lock().unwrap()[at].take().expect("an attempt is answered once");
        held.send(response).expect("its caller is gone");
    }
}

/// Lets every task that can run do so, without time passing.
pub(crate) async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}
