//! What a run holds, and what it does each time it wakes.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use forbear_core::gate::{Closed, ListenerId};
use forbear_core::store::{Claims, StoreError};
use forbear_core::time::Monotonic;
use forbear_core::work::{Bounds, Key, LastError, Stamp, Terms, Token};
use tokio::runtime::Handle;
use tokio::task::{Id, JoinSet};
use tracing::Instrument;

use super::claiming;
use super::job::Ran;
use super::plan::{Plan, Stand};
use super::run::Stop;
use super::settle::give_back_orphans;
use super::shared::{Shared, count};
use super::trouble::Trouble;
use crate::Families;
use crate::clock::{self, Alarm};

pub(super) struct Driver {
    pub(super) shared: Arc<Shared>,
    pub(super) plan: Plan,
    tasks: JoinSet<Ran>,
    flights: HashMap<Id, Flight>,
    /// Runs that are over, and that the store does not know of yet.
    pub(super) ended: Vec<(Flight, Ran)>,
    pub(super) trouble: Trouble,
    /// Two clocks at one moment, to see the one be set.
    clocks: (Monotonic, Stamp),
    extend_at: Monotonic,
    look_at: Option<Monotonic>,
    listener: ListenerId,
}

/// A run in flight.
#[derive(Debug, Clone)]
pub(super) struct Flight {
    pub(super) source: usize,
    pub(super) key: Key,
    pub(super) token: Token,
    /// What was counted of the key before.
    pub(super) attempts: u32,
    pub(super) deferrals: u32,
    /// When it was due.
    pub(super) due: Stamp,
}

/// A family that is not registered any more is looked for so often, while it has something due.
const GONE: Duration = Duration::from_secs(60);
/// What is in flight is given so long to be given back, however short the grace is.
const LEAST: Duration = Duration::from_millis(100);
/// It may look at every row.
const MENDS: Duration = Duration::from_secs(300);
/// A clock that differs by more was set.
const SET: Duration = Duration::from_secs(5);

impl Driver {
    /// `None` where another runs.
    pub(super) fn begin(shared: Arc<Shared>) -> Option<Self> {
        if !shared.running.begin() {
            return None;
        }
        let mut families: Vec<(Arc<str>, u32)> = Vec::new();
        let mut sources = Vec::new();
        for source in &shared.sources {
            let at = families.iter().position(|(family, _)| *family == source.family).unwrap_or_else(|| {
                let weight = shared.weights.get(&*source.family).copied().unwrap_or(1);
                families.push((Arc::clone(&source.family), weight));
                families.len() - 1
            });
            sources.push((at, source.settings.priority, source.settings.drain));
        }
        let (told, ours) = (Arc::clone(&shared.told), families.clone());
        let listener = shared.families.0.listeners().add(move |gate, _| {
            if ours.iter().any(|(family, _)| family == gate.name()) {
                told.gate(gate.name());
            }
        });
        let settings = &shared.settings;
        let plan = Plan::new(families, &sources, (settings.tick, settings.in_flight));
        let now = clock::now();
        Some(Self {
            plan,
            tasks: JoinSet::new(),
            flights: HashMap::new(),
            ended: Vec::new(),
            trouble: Trouble::new(),
            clocks: (now, clock::stamp()),
            extend_at: now,
            look_at: settings.look_every.map(|every| now.after(every)),
            listener,
            shared,
        })
    }

    pub(super) async fn run<F: Future<Output = ()>>(&mut self, stop: &mut Stop<'_, F>) {
        let mut mended = false;
        loop {
            self.hear();
            let now = clock::now();
            let over = stop.until().is_some_and(|until| now >= until);
            if over || (stop.is_asked() && self.flights.is_empty() && self.ended.is_empty()) {
                break;
            }
            let mut wake = None;
            if self.trouble.may_ask(now) {
                match self.step(stop, &mut mended).await {
                    Ok(Some(next)) => wake = next.wake,
                    Ok(None) => continue,
                    Err(error) => self.trouble.met(&error, &self.shared, clock::now()),
                }
            }
            self.wait(stop, wake).await;
        }
        self.end().await;
    }

    /// One look at everything; `None` where there is to be another at once.
    async fn step<F: Future<Output = ()>>(
        &mut self,
        stop: &mut Stop<'_, F>,
        mended: &mut bool,
    ) -> Result<Option<Wake>, StoreError> {
        macro_rules! answer {
            ($answer:expr) => {
                match stop.answered($answer).await {
                    Some(answer) => answer?,
                    None => return Ok(None),
                }
            };
        }
        let shared = Arc::clone(&self.shared);
        let calls = stop.calls();
        self.settle(stop).await?;
        if self.clock_was_set() {
            (*mended, self.extend_at) = (false, clock::now());
        }
        // Before anything is claimed: after an outage its own leases may be over.
        self.extend(stop).await?;
        if !*mended {
            self.give_back(stop).await?;
            for (at, source) in shared.sources.iter().enumerate() {
                let bounds = Bounds {
                    now: clock::stamp(),
                    rest: source.rest(),
                    due: source.furthest(),
                    lease: shared.settings.lease,
                };
                let mending = shared.store.mend(&source.name, &bounds);
                match stop.answered_within(MENDS, mending).await {
                    Some(mended) => {
                        if mended? > 0 {
                            self.plan.ask_again(at);
                        }
                    }
                    None => return Ok(None),
                }
            }
            *mended = true;
        }
        if stop.is_asked() {
            if stop.calls() > calls {
                self.trouble.is_over(&shared);
            }
            return Ok(Some(Wake { wake: None }));
        }
        let unknown: Vec<usize> = self.plan.unknown().collect();
        if !unknown.is_empty() {
            let names: Vec<_> = unknown.iter().filter_map(|at| shared.names.get(*at).cloned()).collect();
            let next = answer!(shared.store.next(&names));
            let stamp = clock::stamp();
            for (source, next) in unknown.into_iter().zip(next) {
                self.plan.is_next(source, next, stamp);
            }
        }
        let at = (clock::now(), clock::stamp());
        let grants = self.plan.grants(|family| stands(&shared.families, family, at.0), fastrand::f64, at);
        let mut began = false;
        for (source, limit) in grants.sources {
            let Some(name) = shared.names.get(source) else { continue };
            let Some(known) = shared.sources.get(source) else { continue };
            let terms = Terms {
                now: clock::stamp(),
                lease: shared.settings.lease,
                token: Token(fastrand::u64(..)),
                max_attempts: known.settings.max_attempts,
            };
            let claims = answer!(claiming::claim(&shared, (source, name), limit, terms));
            self.launch(source, limit, claims, terms.token);
            began = true;
        }
        if self.trouble.is_met() {
            // What it was told last it may have done, or not; and where it lost all, nothing is as it was.
            self.plan.ask_all_again();
            // Not before: one that can be read, and not written, is not back.
            if stop.calls() > calls {
                self.trouble.is_over(&shared);
            }
            return Ok(None);
        }
        Ok((!began).then_some(Wake { wake: grants.wake }))
    }

    /// Begins the runs of what was claimed.
    fn launch(&mut self, source: usize, granted: usize, claims: Claims, token: Token) {
        let Some(known) = self.shared.sources.get(source) else { return };
        count(&known.totals.reclaimed, claims.reclaimed);
        if !claims.failed.is_empty() {
            let (source, keys) = (known.name.as_str(), claims.failed.len());
            tracing::warn!(source, family = &*known.family, keys, "keys failed: their runs did not end");
        }
        let began = claims.claimed.len();
        for kept in claims.claimed {
            let flight = Flight {
                source,
                key: kept.key,
                token,
                attempts: kept.row.attempts,
                deferrals: kept.row.deferrals,
                due: kept.row.due,
            };
            let span = tracing::debug_span!(
                "refresh",
                source = known.name.as_str(),
                family = &*known.family,
                key = flight.key.as_str(),
                attempts = flight.attempts,
                deferrals = flight.deferrals,
            );
            let (job, key) = (Arc::clone(&known.job), flight.key.clone());
            // Made within the task: what it calls may panic.
            let run = async move { job(key).await };
            let task = self.tasks.spawn(run.instrument(span));
            self.flights.insert(task.id(), flight);
        }
        let granted = if claims.more || !claims.failed.is_empty() { began } else { granted };
        self.plan.began(source, (granted, began), clock::now());
    }

    /// Until something ends, is told, is due, or the end is asked for.
    async fn wait<F: Future<Output = ()>>(&mut self, stop: &mut Stop<'_, F>, wake: Option<Monotonic>) {
        let wake = if self.trouble.is_met() {
            Some(self.trouble.from()).filter(|from| *from > clock::now())
        } else {
            let flying = (!self.flights.is_empty()).then_some(self.extend_at);
            [wake, flying, self.look_at].into_iter().flatten().min()
        };
        let wake = wake.into_iter().chain(stop.until()).min();
        self.shared.live().wake = wake;
        let shared = Arc::clone(&self.shared);
        let mut told = std::pin::pin!(shared.told.notified());
        let (mut alarm, asked) = (Alarm::new(), stop.is_asked());
        poll_fn(|cx| {
            let mut ready = stop.poll(cx) && !asked;
            while let Poll::Ready(Some(ended)) = self.tasks.poll_join_next_with_id(cx) {
                let (id, ran) = match ended {
                    Ok(ended) => ended,
                    Err(error) => (error.id(), Ran::Failed(LastError::new("it panicked"))),
                };
                if let Some(flight) = self.flights.remove(&id) {
                    self.plan.ended(flight.source);
                    let shadows = shared.families.0.shadows();
                    self.ended.push((flight, if shadows { ran.in_shadow() } else { ran }));
                }
                ready = true;
            }
            ready |= told.as_mut().poll(cx).is_ready();
            ready |= wake.is_some_and(|wake| alarm.poll(wake, cx).is_ready());
            if ready { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Takes in what was told.
    fn hear(&mut self) {
        let (dirty, gates) = self.shared.told.take();
        dirty.into_iter().for_each(|source| self.plan.ask_again(source));
        gates.iter().for_each(|family| self.plan.hear(family));
        let now = clock::now();
        if self.look_at.is_some_and(|at| at <= now) {
            self.plan.ask_all_again();
            self.look_at = self.shared.settings.look_every.map(|every| now.after(every));
        }
    }

    fn clock_was_set(&mut self) -> bool {
        let (now, stamp) = (clock::now(), clock::stamp());
        let expected = self.clocks.1.after(now.since(self.clocks.0));
        self.clocks = (now, stamp);
        let off = stamp.since(expected).max(expected.since(stamp));
        if off > SET {
            tracing::warn!(by_ms = off.as_millis(), "the wall clock was set; times in the store are mended");
            self.plan.ask_all_again();
        }
        off > SET
    }

    /// What is in flight needs longer leases.
    async fn extend<F: Future<Output = ()>>(&mut self, stop: &mut Stop<'_, F>) -> Result<(), StoreError> {
        let now = clock::now();
        if now < self.extend_at {
            return Ok(());
        }
        let lease = self.shared.settings.lease;
        let shared = Arc::clone(&self.shared);
        for (at, name) in shared.names.iter().enumerate() {
            let ours = self.flights.values().chain(self.ended.iter().map(|(flight, _)| flight));
            let held: Vec<_> = ours.filter(|flight| flight.source == at).map(Flight::held).collect();
            if !held.is_empty() {
                let until = clock::stamp().after(lease);
                // A claim that is lost is told when its run ends.
                let Some(extended) = stop.answered(shared.store.extend(name, &held, until)).await else {
                    break;
                };
                let _ = extended?;
            }
        }
        self.extend_at = now.after(lease / 3);
        Ok(())
    }

    /// The grace is over: what is still in flight is dropped, and given back.
    async fn end(&mut self) {
        let left = self.flights.len();
        if left > 0 {
            tracing::info!(left, "refresh ends with runs in flight; they are given back");
        }
        let most = self.shared.settings.grace.max(LEAST);
        let given_back = async {
            // One that blocks its thread runs still, and keeps its claim.
            self.tasks.shutdown().await;
            self.give_back_all().await;
        };
        let _ = tokio::time::timeout(most, given_back).await;
        self.shared.live().wake = None;
    }
}

impl Flight {
    pub(super) fn held(&self) -> forbear_core::store::Held {
        forbear_core::store::Held { key: self.key.clone(), token: self.token }
    }
}

/// When to look again, where nothing happens before.
struct Wake {
    wake: Option<Monotonic>,
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.shared.families.0.listeners().forget(self.listener);
        let mut live = self.shared.live();
        // A claim that comes now is given back by its own task.
        live.claiming.clear();
        let claims = std::mem::take(&mut live.claims);
        live.orphans.extend(claims.into_iter().map(|((source, key), token)| (source, key, token)));
        live.wake = None;
        let orphans = !live.orphans.is_empty();
        drop(live);
        self.shared.running.end();
        if let Some(runtime) = Handle::try_current().ok().filter(|_| orphans) {
            let (shared, mut tasks) = (Arc::clone(&self.shared), std::mem::take(&mut self.tasks));
            let most = shared.settings.grace.max(LEAST);
            // It ends by itself, with the grace.
            drop(runtime.spawn(async move {
                let given_back = async {
                    tasks.shutdown().await;
                    let _ = give_back_orphans(&shared).await;
                };
                let _ = tokio::time::timeout(most, given_back).await;
            }));
        }
    }
}

/// Whether a family may be called.
pub(super) fn stands(families: &Families, family: &str, now: Monotonic) -> Stand {
    let Some(member) = families.0.named(family) else { return Stand::Closed(Some(now.after(GONE))) };
    if families.0.shadows() {
        return Stand::Open;
    }
    if member.gate.is_paused() {
        return Stand::Closed(None);
    }
    match member.gate.closed(now) {
        Closed::Open => Stand::Open,
        Closed::Recovering => Stand::Recovering,
        Closed::Probing => Stand::Probing,
        Closed::Cooling(until) => Stand::Closed(Some(until)),
    }
}
