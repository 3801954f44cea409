//! A vendor, the layers around it in some combination, and what must hold after callers went away.

use std::sync::Arc;
use std::time::Duration;

use forbear::{
    Budget, BudgetLayer, Error, Families, Family, FamilyCooldownLayer, GateSettings, NoWait, RetryAfterLayer,
};
use http::{Request, StatusCode};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};
use tower::limit::ConcurrencyLimit;
use tower::util::BoxCloneService;
use tower::{Layer, ServiceExt};

use crate::common::{Act, Client, MS, SECOND, Sent, answer, get, limited, with};

pub(crate) const URL: &str = "http://vendor.test/a";

/// Attempts that the client takes at a time.
pub(crate) const PERMITS: usize = 2;

/// What stands between the caller and the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layers {
    Budget,
    RetryAfter,
    Cooldown,
    All,
}

impl Layers {
    pub(crate) const EACH: [Self; 4] = [Self::Budget, Self::RetryAfter, Self::Cooldown, Self::All];
}

/// Where the family stands when the callers come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stands {
    Open,
    Cooling,
    /// Its cool-down is over and nobody has probed yet.
    Due,
    Recovering,
}

impl Stands {
    pub(crate) const EACH: [Self; 4] = [Self::Open, Self::Cooling, Self::Due, Self::Recovering];
}

pub(crate) type Service = BoxCloneService<Request<Sent>, StatusCode, Error>;

pub(crate) struct World {
    pub(crate) client: Client,
    pub(crate) families: Families,
    pub(crate) permits: Arc<Semaphore>,
    retry_after: RetryAfterLayer,
}

impl World {
    /// A family that stands there, and a client that plays `script` from now on.
    pub(crate) async fn new(stands: Stands, script: impl IntoIterator<Item = Act>) -> Self {
        // A lease that is not given back would close the family for an hour.
        let gate = GateSettings::registered().attempt_timeout(3600 * SECOND);
        let family = Family::new("vendor").host("vendor.test").gate(gate);
        let world = Self {
            client: Client::new([limited(429, 2)]),
            families: Families::builder().family(family).build().unwrap(),
            permits: Arc::new(Semaphore::new(PERMITS)),
            retry_after: RetryAfterLayer::new(),
        };
        let send = || world.service(Layers::Cooldown, Duration::MAX).oneshot(get(URL));
        if stands != Stands::Open {
            assert_eq!(send().await.unwrap(), StatusCode::TOO_MANY_REQUESTS);
        }
        if matches!(stands, Stands::Due | Stands::Recovering) {
            sleep(2 * SECOND).await;
        }
        if stands == Stands::Recovering {
            world.client.play([answer(200)]);
            assert_eq!(send().await.unwrap(), StatusCode::OK);
        }
        world.client.play(script);
        world
    }

    /// The client with these layers around it. All services of a world share its state.
    pub(crate) fn service(&self, layers: Layers, budget: Duration) -> Service {
        let client = ConcurrencyLimit::with_semaphore(self.client.clone(), Arc::clone(&self.permits));
        let (budget, cooldown) = (BudgetLayer::new(budget), FamilyCooldownLayer::new(self.families.clone()));
        macro_rules! boxed {
            ($service:expr) => {
                BoxCloneService::new(ServiceExt::<Request<Sent>>::map_response($service, |response| {
                    response.status()
                }))
            };
        }
        match layers {
            Layers::Budget => boxed!(budget.layer(client)),
            Layers::RetryAfter => boxed!(self.retry_after.layer(client)),
            Layers::Cooldown => boxed!(cooldown.layer(client)),
            Layers::All => boxed!((budget, self.retry_after.clone(), cooldown).layer(client)),
        }
    }

    /// Nothing is in flight, no permit is out, nobody waits, no budget is in scope.
    pub(crate) fn assert_nothing_is_held(&self, context: &str) {
        assert_eq!(self.client.in_flight(), 0, "in flight: {context}");
        assert_eq!(self.permits.available_permits(), PERMITS, "permits: {context}");
        for family in self.families.health().families {
            assert_eq!(family.waiting, 0, "waiting: {context}");
        }
        assert_eq!(Budget::current(), None, "in scope: {context}");
    }

    /// Now that the vendor is well, a fresh request is served: after what it asked for, and the gap after probes
    /// without news, but not after a lease that nobody gave back.
    pub(crate) async fn assert_it_heals(&self, context: &str) {
        self.client.play([answer(200)]);
        let start = Instant::now();
        loop {
            let fresh = self.service(Layers::All, 120 * SECOND).oneshot(with(get(URL), NoWait)).await;
            assert!(start.elapsed() < 45 * SECOND, "{context}: {fresh:?} after {:?}", start.elapsed());
            match fresh {
                Ok(status) => break assert_eq!(status, StatusCode::OK, "{context}"),
                Err(Error::Cooling(cooling)) => {
                    let wait = cooling.retry_in().expect("it says when");
                    sleep(wait.clamp(MS, 45 * SECOND)).await;
                }
                Err(other) => unreachable!("{context}: {other:?}"),
            }
        }
        let waiting = self.service(Layers::All, 120 * SECOND).oneshot(get(URL)).await;
        assert_eq!(waiting.unwrap(), StatusCode::OK, "{context}");
    }
}
