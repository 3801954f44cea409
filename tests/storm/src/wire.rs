//! The way to the vendor and back.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use fastrand::Rng;
use forbear_core::time::Monotonic;
use forbear_mock::{MockService, MockVendor, reply};
use futures_util::future::BoxFuture;
use http::{Request, Response};
use http_body::Body;
use http_body_util::{BodyExt, Empty, Full};
use tokio::time::{Instant, sleep};
use tower::{Service, ServiceExt};

use crate::catalogue::healthy_mock;
use crate::figures::Run;
use crate::{OUT, START};

/// The vendor's host.
pub const HOST: &str = "vendor.test";
/// The healthy vendor's.
pub const HEALTHY: &str = "healthy.test";
/// The first route, and the only one where there is one.
pub const PATH: &str = "/0";
/// Where a vendor is told that the run begins.
const BEGIN: &str = "/begin";

/// The client at the bottom: 25 ms to the vendor; a good answer takes 25 ± 10 ms back, a refusal 5 ± 5 ms.
///
/// Tokio's timers are whole milliseconds, and so are these.
#[derive(Clone)]
pub struct Wire {
    vendor: MockService,
    healthy: MockService,
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    rng: Rng,
    begun: Instant,
    run: Run,
}

impl Wire {
    /// The way to `vendor` and to a healthy one, both of which begin now.
    pub async fn new(vendor: MockVendor, rng: Rng, run: Run) -> Self {
        let shared = Shared { rng, begun: Instant::now(), run };
        Self {
            vendor: begin(vendor).await,
            healthy: begin(healthy_mock()).await,
            shared: Arc::new(Mutex::new(shared)),
        }
    }

    /// The time as the run counts it.
    #[must_use]
    pub fn now(&self) -> Monotonic {
        self.shared().now()
    }

    /// The point of tokio's clock that the run counts as `at`.
    #[must_use]
    pub fn instant(&self, at: Monotonic) -> Instant {
        self.shared().begun + at.since(START)
    }

    /// What happened, to be added to.
    pub fn note<T>(&self, with: impl FnOnce(&mut Run, Monotonic) -> T) -> T {
        let mut shared = self.shared();
        let now = shared.now();
        with(&mut shared.run, now)
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn attempt<B>(self, request: Request<B>) -> io::Result<Response<Full<Bytes>>>
    where
        B: Body + Send + 'static,
        B::Data: Send,
    {
        sleep(OUT).await;
        let healthy = request.uri().host() == Some(HEALTHY);
        let vendor = if healthy { self.healthy.clone() } else { self.vendor.clone() };
        if !healthy {
            self.note(|run, now| run.attempts.push(now));
        }
        let response = vendor.oneshot(request).await?;
        let served = response.status().is_success();
        let back = {
            let mut shared = self.shared();
            shared.run.limited += usize::from(!healthy && !served);
            Duration::from_millis(if served { shared.rng.u64(15..=35) } else { shared.rng.u64(0..=10) })
        };
        // Read at the vendor's end: what is on its way back is in flight no more.
        let (parts, body) = response.into_parts();
        let body = body.collect().await?.to_bytes();
        sleep(back).await;
        Ok(Response::from_parts(parts, Full::new(body)))
    }
}

impl Shared {
    fn now(&self) -> Monotonic {
        START.after(self.begun.elapsed())
    }
}

impl<B> Service<Request<B>> for Wire
where
    B: Body + Send + 'static,
    B::Data: Send,
{
    type Response = Response<Full<Bytes>>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Response<Full<Bytes>>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        Box::pin(self.clone().attempt(request))
    }
}

/// A vendor counts time from its first attempt, so it gets one that no limit covers.
async fn begin(vendor: MockVendor) -> MockService {
    let vendor = vendor.route(BEGIN, reply(200));
    let request = Request::get(vendor.url(BEGIN)).body(Empty::<Bytes>::new());
    let begun = vendor.service().oneshot(request.unwrap_or_default()).await;
    assert!(begun.is_ok(), "the mock answers: {begun:?}");
    vendor.service()
}
