//! A vendor, the layers around it in some combination, and what must hold after callers went away.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use forbear::{
    BoxError, Budget, BudgetLayer, Error, Families, Family, FamilyCooldownLayer, GateSettings, HealthPhase,
    Ladder, NoQueue, NoWait, Pacing, PacingHealth, PacingLayer, RetryAfterLayer, RetryQuota,
};
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};
use tower::limit::ConcurrencyLimit;
use tower::util::BoxCloneService;
use tower::{Layer, ServiceExt};

use crate::caller::Wakers;
use crate::client::{Act, Client, Frames, Plan, answer, limited};
use crate::common::{MS, SECOND};

pub(crate) const URL: &str = "http://vendor.test/a";
/// Another URL of the family, and two hosts whose families are made when they signal.
pub(crate) const URLS: [&str; 4] = [URL, "http://vendor.test/b", "http://one.test/", "http://two.test/"];

/// Attempts that the client takes at a time.
pub(crate) const PERMITS: usize = 2;

/// What stands between the caller and the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layers {
    Budget,
    RetryAfter,
    Pacing,
    Cooldown,
    /// Where the family has no limits.
    All,
    /// Where it has.
    Paced,
}

impl Layers {
    pub(crate) const EACH: [Self; 6] =
        [Self::Budget, Self::RetryAfter, Self::Pacing, Self::Cooldown, Self::All, Self::Paced];
    /// All layers, without limits and with some.
    pub(crate) const STACKS: [Self; 2] = [Self::All, Self::Paced];

    /// The limits of the family.
    pub(crate) fn limits(self) -> Option<Pacing> {
        let limits = Pacing::new().at_most(QUOTA, WINDOW).gap(GAP).in_flight(1);
        match self {
            Self::Budget | Self::RetryAfter | Self::Cooldown | Self::All => None,
            Self::Pacing => Some(limits),
            Self::Paced => Some(limits.retry_quota(RetryQuota::new(RETRIES).permille(1))),
        }
    }
}

/// What a paced family may be sent while a test runs; and how close, which is more than vendors here ask to wait, so that what
/// is sent again waits for its turn too.
pub(crate) const QUOTA: u32 = 100;
pub(crate) const WINDOW: Duration = Duration::from_secs(300 * 24 * 60 * 60);
pub(crate) const GAP: Duration = Duration::from_millis(1_500);
/// More further attempts than any test has; good answers earn next to none.
pub(crate) const RETRIES: u32 = 50;

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

pub(crate) type Service = BoxCloneService<Request<Frames>, Response<UnsyncBoxBody<Bytes, BoxError>>, Error>;

pub(crate) struct World {
    pub(crate) client: Client,
    pub(crate) families: Families,
    pub(crate) permits: Arc<Semaphore>,
    pub(crate) wakers: Wakers,
    /// Attempts and grace that every budget has.
    pub(crate) attempts: Option<NonZeroU32>,
    pub(crate) grace: Duration,
    retry_after: RetryAfterLayer,
    /// Attempts that were sent before anything was paced.
    unpaced: usize,
}

/// What a world's gate may have beside a lease that, not given back, would close it for an hour.
pub(crate) fn gate() -> GateSettings {
    GateSettings::registered().attempt_timeout(3600 * SECOND).throttled_ladder(Ladder::new([SECOND]))
}

impl World {
    /// A family of these limits that stands there, and a client that plays `script` from now on.
    pub(crate) async fn new(
        limits: Option<Pacing>,
        stands: Stands,
        gate: GateSettings,
        script: impl IntoIterator<Item = Act>,
    ) -> Self {
        let mut family = Family::new("vendor").host("vendor.test").gate(gate);
        if let Some(limits) = limits {
            family = family.pacing(limits);
        }
        let mut world = Self {
            client: Client::new(),
            families: Families::builder().family(family).build().unwrap(),
            permits: Arc::new(Semaphore::new(PERMITS)),
            wakers: Wakers::default(),
            attempts: None,
            grace: Duration::ZERO,
            retry_after: RetryAfterLayer::new().max_recorded(URLS.len()),
            unpaced: 0,
        };
        world.client.play([limited(429, 2)]);
        if stands != Stands::Open {
            assert_eq!(world.send(Layers::Cooldown, URL).await.unwrap(), StatusCode::TOO_MANY_REQUESTS);
        }
        if matches!(stands, Stands::Due | Stands::Recovering) {
            sleep(2 * SECOND).await;
        }
        if stands == Stands::Recovering {
            world.client.play([answer(200)]);
            assert_eq!(world.send(Layers::Cooldown, URL).await.unwrap(), StatusCode::OK);
        }
        world.client.play(script);
        world.client.trouble(0, []);
        world.unpaced = world.client.sent();
        world
    }

    /// The client with these layers around it. All services of a world share its state.
    pub(crate) fn service(&self, layers: Layers, budget: Duration) -> Service {
        let client = ConcurrencyLimit::with_semaphore(self.client.clone(), Arc::clone(&self.permits));
        let mut budget = BudgetLayer::new(budget).grace(self.grace);
        if let Some(attempts) = self.attempts {
            budget = budget.attempts(attempts);
        }
        let pacing = PacingLayer::new(self.families.clone());
        let cooldown = FamilyCooldownLayer::new(self.families.clone());
        macro_rules! boxed {
            ($service:expr) => {
                BoxCloneService::new(ServiceExt::<Request<Frames>>::map_response($service, |response| {
                    response.map(|body| body.map_err(BoxError::from).boxed_unsync())
                }))
            };
        }
        match layers {
            Layers::Budget => boxed!(budget.layer(client)),
            Layers::RetryAfter => boxed!(self.retry_after.layer(client)),
            Layers::Pacing => boxed!(pacing.layer(client)),
            Layers::Cooldown => boxed!(cooldown.layer(client)),
            Layers::All | Layers::Paced => {
                boxed!((budget, self.retry_after.clone(), pacing, cooldown).layer(client))
            }
        }
    }

    /// One request that does not wait and has no budget but that of its layers; its status.
    async fn send(&self, layers: Layers, url: &str) -> Result<StatusCode, Error> {
        let mut request = Request::get(url).body(self.client.request_body(Plan::default())).unwrap();
        request.extensions_mut().insert(NoWait);
        Ok(self.service(layers, 120 * SECOND).oneshot(request).await?.status())
    }

    /// No service, attempt or body is alive, no permit is out, nobody waits or could be woken, no probe is out, no
    /// budget is in scope, and nothing is remembered but what a vendor said.
    pub(crate) fn assert_nothing_is_held(&self, context: &str) {
        let [services, attempts, requests, responses] = self.client.alive();
        assert_eq!(services, 0, "services: {context}");
        assert_eq!(attempts, 0, "attempts: {context}");
        assert_eq!(requests, 0, "bodies of requests: {context}");
        assert_eq!(responses, 0, "bodies of responses: {context}");
        assert_eq!(self.permits.available_permits(), PERMITS, "permits: {context}");
        assert_eq!(self.wakers.held(), 0, "wakers: {context}");
        assert_eq!(self.retry_after.overflows(), 0, "more than {} URLs are recorded: {context}", URLS.len());
        for family in self.families.health().families {
            assert_eq!(family.waiting, 0, "waiting: {context}");
            if let Some(PacingHealth { queued, in_flight, .. }) = family.pacing {
                assert_eq!((queued, in_flight), (0, Some(0)), "queued and in flight: {context}");
            }
            // Between two probes lie 30 s at most; a lease lasts an hour here.
            let lease = family.phase == HealthPhase::Probing
                && family.remaining.is_some_and(|remaining| remaining > 30 * SECOND);
            assert!(!lease, "a probe's lease: {context}: {family:?}");
            assert!(family.signals > 0 || &*family.family == "vendor", "no signal: {context}: {family:?}");
        }
        assert_eq!(Budget::current(), None, "in scope: {context}");
    }

    /// Now that the vendor is well, a fresh request is served at each URL: after what it asked for, and the gap after
    /// probes without news, but not after a lease that nobody gave back.
    pub(crate) async fn assert_it_heals(&self, context: &str) {
        self.client.play([answer(200)]);
        self.client.trouble(0, []);
        for url in URLS {
            let start = Instant::now();
            loop {
                let fresh = self.send(Layers::All, url).await;
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
        }
        let request = Request::get(URL).body(self.client.request_body(Plan::default())).unwrap();
        let waiting = self.service(Layers::All, 120 * SECOND).oneshot(request).await;
        assert_eq!(waiting.unwrap().status(), StatusCode::OK, "{context}");
        self.assert_what_was_not_sent_costs_nothing(context).await;
    }

    /// How its family is paced, if it is.
    pub(crate) fn pacing(&self) -> Option<PacingHealth> {
        self.families.health().family("vendor").unwrap().pacing.clone()
    }

    /// Attempts that were sent since it was made.
    pub(crate) fn sent(&self) -> usize {
        self.client.sent() - self.unpaced
    }

    /// A window that was never left holds what was sent and nothing else: just as many may go as are left.
    async fn assert_what_was_not_sent_costs_nothing(&self, context: &str) {
        if self.pacing().is_none() {
            return;
        }
        loop {
            // Past every limit but the quota.
            sleep(2 * GAP).await;
            let mut request = Request::get(URL).body(self.client.request_body(Plan::default())).unwrap();
            request.extensions_mut().insert(NoQueue);
            match self.service(Layers::Pacing, Duration::ZERO).oneshot(request).await {
                Ok(response) => assert_eq!(response.status(), StatusCode::OK, "{context}"),
                Err(Error::Pacing(refused)) => break assert_eq!(refused.reason(), "no-queue", "{context}"),
                Err(other) => unreachable!("{context}: {other:?}"),
            }
        }
        // One that panicked when a probe called it may have been sent, for all that anybody knows.
        let (sent, quota) = (self.sent(), usize::try_from(QUOTA).unwrap());
        assert!(
            sent <= quota && sent + self.client.broke() >= quota,
            "{sent} of {quota} were sent: {context}"
        );
    }
}
