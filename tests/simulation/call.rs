//! One logical request through all layers.

use std::num::NonZeroU32;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use forbear::{BudgetLayer, Error, FamilyCooldownLayer, NoWait, Priority, RetryAfterLayer};
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tower::limit::ConcurrencyLimit;
use tower::{Layer, Service, ServiceExt};

use super::above::{Above, Logical, Sends};
use super::plan::{Call, LONGEST_OUTAGE};
use super::wire::Wire;
use super::world::{TICK, World};

/// What the calls of a run send through.
#[derive(Clone)]
pub(crate) struct Layers {
    pub(crate) world: Rc<World>,
    pub(crate) retry_after: RetryAfterLayer,
    pub(crate) cooldown: FamilyCooldownLayer,
    permits: Arc<Semaphore>,
}

/// Counts a caller as long as it is there.
struct Live<'a>(&'a World);

impl<'a> Live<'a> {
    fn new(world: &'a World) -> Self {
        world.live.set(world.live.get() + 1);
        Self(world)
    }
}

impl Drop for Live<'_> {
    fn drop(&mut self) {
        self.0.live.set(self.0.live.get() - 1);
    }
}

impl Layers {
    pub(crate) fn new(world: &Rc<World>, permits: usize) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(permits)),
            world: Rc::clone(world),
            retry_after: RetryAfterLayer::new(),
            cooldown: FamilyCooldownLayer::new(world.families.clone()),
        }
    }

    /// Makes the call, and reads its answer. Whatever it ends in, it ends in time.
    pub(crate) async fn call(&self, call: &Call) {
        sleep(call.after).await;
        let world = &*self.world;
        let _live = Live::new(world);
        let sends = Arc::<Mutex<Sends>>::default();
        let answer = self.send(call, Logical(Arc::clone(&sends)));
        let answer = match call.leaves {
            Some(leaves) => timeout(leaves, answer).await.ok(),
            None => Some(answer.await),
        };
        let took = sends.lock().unwrap().called.map(|called| world.now() - called).unwrap_or_default();
        world.note(("over", call.number, answer.as_ref().map(Result::is_ok)));
        world.look();
        if let Some(budget) = call.budget {
            assert!(took <= budget + call.grace + TICK, "took {took:?}: {call:?}");
        }
        let sent = sends.lock().unwrap().attempts;
        assert!(call.attempts.is_none_or(|most| sent <= most), "{sent} attempts: {call:?}");
        match answer {
            Some(Ok(response)) => {
                sleep(call.holds).await;
                let _ = response.into_body().collect().await;
            }
            Some(Err(Error::BudgetExhausted(spent))) => {
                assert!(spent.spent() <= took + TICK, "{spent:?}: {call:?}");
            }
            Some(Err(Error::Cooling(_) | Error::Client(_))) | None => {}
            Some(Err(other)) => unreachable!("{other:?}: {call:?}"),
        }
        world.look();
    }

    pub(crate) async fn send(
        &self,
        call: &Call,
        logical: Logical,
    ) -> Result<http::Response<forbear::Peeked<forbear_mock::MockBody>>, Error> {
        let host = self.world.watched[call.family].family.host;
        let mut request = Request::get(format!("http://{host}{}", call.path)).body(Full::default()).unwrap();
        if call.post {
            *request.method_mut() = Method::POST;
            *request.body_mut() = Full::new(Bytes::from_static(b"an order"));
        }
        request.extensions_mut().insert(logical.clone());
        if call.no_wait {
            request.extensions_mut().insert(NoWait);
        }
        if call.background {
            request.extensions_mut().insert(Priority::Background);
        }
        let budget = call.budget.map_or(BudgetLayer::unlimited(), BudgetLayer::new).grace(call.grace);
        let budget = call.attempts.and_then(NonZeroU32::new).map_or(budget, |most| budget.attempts(most));
        let wire = Wire(Rc::clone(&self.world));
        let gate = self.cooldown.layer(ConcurrencyLimit::with_semaphore(wire, Arc::clone(&self.permits)));
        let above = Above { gate, world: Rc::clone(&self.world) };
        let mut service = budget.layer(self.retry_after.layer(above));
        let ready = ServiceExt::<Request<Full<Bytes>>>::ready(&mut service).await?;
        // The budget begins here.
        logical.0.lock().unwrap().called = Some(self.world.now());
        let answer = ready.call(request);
        drop(service);
        answer.await
    }

    /// A fresh caller is served by each vendor, now that all are well or will be when their outage is over.
    pub(crate) async fn assert_all_are_served(&self) {
        for family in 0..self.world.watched.len() {
            self.world.watched[family].family.vendor.set_script(forbear_mock::reply(200));
            let call = Call {
                number: usize::MAX,
                family,
                path: "/b",
                after: Duration::ZERO,
                budget: Some(Duration::from_secs(60 * 24 * 60 * 60)),
                attempts: None,
                grace: Duration::ZERO,
                no_wait: false,
                background: false,
                post: false,
                leaves: None,
                holds: Duration::ZERO,
            };
            loop {
                let answer = self.send(&call, Logical(Arc::default())).await;
                if answer.as_ref().is_ok_and(|answer| answer.status() == 200) {
                    break;
                }
                assert!(self.world.now() < LONGEST_OUTAGE, "{answer:?}");
                sleep(Duration::from_secs(1)).await;
            }
        }
    }
}
