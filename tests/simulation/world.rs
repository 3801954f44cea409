//! What all parts of a run share, and what must hold of it after every step.

use std::cell::{Cell, RefCell};
use std::collections::hash_map::DefaultHasher;
use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::time::Duration;

use forbear::{Families, FamilyHealth, GateSettings, HealthPhase, Ladder};
use tokio::time::Instant;

use super::flight::{Flights, Turns};
use super::plan::{Family, Settings};
use super::{MS, SECOND};

pub(crate) struct World {
    pub(crate) families: Families,
    pub(crate) watched: Vec<Watched>,
    pub(crate) began: Instant,
    /// The attempt that is being called or polled.
    pub(crate) current: Cell<usize>,
    pub(crate) attempts: Cell<usize>,
    /// Attempts that are alive below the gate, and callers.
    pub(crate) in_flight: Cell<usize>,
    pub(crate) live: Cell<usize>,
    pub(crate) flights: RefCell<Flights>,
    digest: RefCell<DefaultHasher>,
    /// Whether what happens is printed.
    pub(crate) tells: bool,
}

/// One family, and what is known of it from outside.
pub(crate) struct Watched {
    pub(crate) family: Family,
    pub(crate) settings: Settings,
    pub(crate) seen: RefCell<Seen>,
}

#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Attempts that came to the client.
    pub(crate) arrived: u64,
    /// Signals that the client gave to the gate.
    pub(crate) signals: u64,
    /// The family is not called before.
    pub(crate) deadline: Duration,
    /// The longest delay that was advertised.
    pub(crate) hint: Duration,
    /// Probes whose end the gate does not know yet, and when they were sent.
    pub(crate) probes: Vec<(usize, Duration)>,
    pub(crate) last_probe: Option<Duration>,
    /// The longest cool-down that an operator asked for.
    pub(crate) cooled: Duration,
    /// How often an operator closed or cleared it: each may end in a recovery, and begins a generation.
    pub(crate) recoverable: u64,
    pub(crate) generations: u64,
    pub(crate) health: Option<FamilyHealth>,
    /// The dead routes.
    apart: Vec<String>,
}

/// The routes that are apart from a family.
fn apart(health: &FamilyHealth) -> Vec<String> {
    let parts = health.partitions.iter().filter_map(|part| part.partition.as_deref());
    parts.filter(|part| part.starts_with("route ")).map(str::to_owned).collect()
}

impl World {
    pub(crate) fn new(families: Vec<Family>) -> Self {
        let registered = families.iter().filter_map(Family::definition);
        let builder = registered.fold(Families::builder(), forbear::FamiliesBuilder::family);
        let watched = families.into_iter().map(|family| Watched {
            settings: family.settings.clone().unwrap_or_else(Settings::automatic),
            family,
            seen: RefCell::default(),
        });
        Self {
            families: builder.build().unwrap(),
            watched: watched.collect(),
            began: Instant::now(),
            current: Cell::new(0),
            attempts: Cell::new(0),
            in_flight: Cell::new(0),
            live: Cell::new(0),
            flights: RefCell::default(),
            digest: RefCell::default(),
            tells: std::env::var_os("FORBEAR_SEED").is_some(),
        }
    }

    pub(crate) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Writes down that something happened now.
    pub(crate) fn note(&self, what: impl Hash + Debug) {
        if self.tells {
            println!("{:?} {what:?}", self.now());
        }
        (self.now(), what).hash(&mut *self.digest.borrow_mut());
    }

    /// What was written down, as one number.
    pub(crate) fn digest(&self) -> u64 {
        self.digest.borrow().finish()
    }

    pub(crate) fn of(&self, host: &str) -> &Watched {
        self.watched.iter().find(|watched| watched.family.host == host).expect("it has a vendor")
    }

    /// The configuration is read again, and says what it said: where the families stand they keep standing.
    pub(crate) fn configure(&self) {
        let families = self.watched.iter().filter_map(|watched| watched.family.definition());
        self.families.set(families).unwrap();
        self.note("configured");
        self.look();
    }

    /// Looks at every family; what they say must fit what they said before, and what was seen from outside.
    pub(crate) fn look(&self) {
        let health = self.families.health();
        for watched in &self.watched {
            match health.family(watched.family.host) {
                Some(health) => watched.look(health, self.now(), self.live.get()),
                None => assert!(watched.family.settings.is_none(), "a registered family is gone"),
            }
        }
    }

    /// Nobody waits, nothing is in flight, no probe is out, and all counts agree.
    pub(crate) fn assert_nothing_is_held(&self) {
        self.look();
        assert_eq!((self.live.get(), self.in_flight.get()), (0, 0), "callers and attempts");
        for watched in &self.watched {
            let seen = watched.seen.borrow();
            let Some(health) = &seen.health else { continue };
            assert_eq!(health.waiting, 0, "{health:?}");
            // A signal of before a clear is no news.
            assert!(health.signals <= seen.signals, "{seen:?}: {health:?}");
            assert!(health.signals == seen.signals || seen.recoverable > 0, "{seen:?}: {health:?}");
            assert!(seen.probes.is_empty(), "{seen:?}");
            if health.phase == HealthPhase::Probing {
                assert!(health.remaining.is_none_or(|left| left <= 30 * SECOND), "a lease: {health:?}");
            }
        }
    }
}

impl Family {
    /// What is registered; `None` for a host that nobody registers.
    fn definition(&self) -> Option<forbear::Family> {
        let settings = self.settings.as_ref()?;
        let ladder = Ladder::new(settings.ladder.iter().copied());
        let gate = GateSettings::registered()
            .throttled_ladder(ladder.clone())
            .overloaded_ladder(ladder)
            .max_advertised(settings.max_advertised)
            .attempt_timeout(settings.attempt_timeout)
            .max_waiters(settings.max_waiters);
        let gate = match settings.recheck {
            Some(every) => gate.recheck(every),
            None => gate,
        };
        Some(forbear::Family::new(self.host).host(self.host).gate(gate))
    }
}

impl Watched {
    fn is_registered(&self) -> bool {
        self.family.settings.is_some()
    }

    /// The longest cool-down that there can be.
    fn longest(&self, seen: &Seen) -> Duration {
        let advertised = seen.hint.min(self.settings.max_advertised);
        let advertised = (advertised + 60 * SECOND).min(advertised.saturating_mul(4)).max(8 * SECOND);
        let ladder = self.settings.ladder.last().copied().unwrap_or_default();
        advertised.min(self.settings.max_advertised).max(ladder).max(seen.cooled)
    }

    fn look(&self, health: &FamilyHealth, now: Duration, live: usize) {
        let mut seen = self.seen.borrow_mut();
        let apart = apart(health);
        if !apart.iter().all(|route| seen.apart.contains(route)) {
            // A dead route: its family is as after a clear.
            seen.clears(now);
        }
        seen.apart = apart;
        assert!(health.level <= 7, "{health:?}");
        assert!(health.waiting <= live.min(self.settings.max_waiters), "of {live} callers: {health:?}");
        let closed = health.strikes + seen.recoverable;
        assert!(health.strikes <= health.signals && health.recoveries <= closed, "{seen:?}: {health:?}");
        assert!(health.signals <= seen.signals, "{seen:?}: {health:?}");
        if self.is_registered() {
            assert_eq!(health.attempts, seen.arrived, "{health:?}");
        } else {
            assert!(health.attempts <= seen.arrived, "{seen:?}: {health:?}");
        }
        if let Some(last) = seen.health.take() {
            let counts =
                |of: &FamilyHealth| [of.strikes, of.signals, of.refusals, of.recoveries, of.attempts];
            let grew = counts(&last).iter().zip(counts(health)).all(|(before, now)| *before <= now);
            assert!(grew, "{last:?}, then {health:?}");
            let struck = health.strikes - last.strikes;
            assert!(u64::from(health.level) <= u64::from(last.level) + struck, "{last:?}, then {health:?}");
            if struck > 0 {
                // The late answer of one probe may strike while the next is out, which then means nothing.
                seen.probes.clear();
            }
            if health.recoveries > last.recoveries {
                // A recheck may find the vendor well before its time.
                assert!(self.settings.recheck.is_some() || now >= seen.deadline, "{seen:?}: {health:?}");
                seen.deadline = seen.deadline.min(now);
            }
        }
        match health.phase {
            HealthPhase::Open => assert!(now >= seen.deadline, "open before {:?}: {health:?}", seen.deadline),
            HealthPhase::Cooling => {
                let remaining = health.remaining.expect("a cool-down ends");
                assert!(remaining <= self.longest(&seen), "hint {:?}: {health:?}", seen.hint);
                assert!(now + remaining >= seen.deadline, "before {:?}: {health:?}", seen.deadline);
                seen.deadline = now + remaining;
            }
            HealthPhase::Probing => {
                assert!(now >= seen.deadline, "probes before {:?}: {health:?}", seen.deadline);
                let longest = self.settings.attempt_timeout.max(30 * SECOND);
                assert!(health.remaining.is_none_or(|remaining| remaining <= longest), "{health:?}");
            }
            HealthPhase::Recovering => {
                assert!(health.pace.is_some_and(|pace| pace.is_finite() && pace > 0.0), "{health:?}");
            }
            HealthPhase::Paused => assert_eq!(health.remaining, None, "{health:?}"),
            _ => unreachable!("nobody does that here: {health:?}"),
        }
        seen.health = Some(health.clone());
    }

    /// An attempt came to the client: was it let through rightly?
    pub(crate) fn arrived(&self, attempt: usize, now: Duration) {
        let mut seen = self.seen.borrow_mut();
        let Some(health) = &seen.health else { return };
        match health.phase {
            HealthPhase::Open | HealthPhase::Recovering | HealthPhase::Probing => {}
            HealthPhase::Cooling => {
                let every = self.settings.recheck.expect("nothing is sent while a family cools");
                let early = seen.last_probe.is_some_and(|last| now < last + every);
                assert!(!early, "rechecked after {:?}: {health:?}", seen.last_probe);
            }
            _ => unreachable!("nothing is sent: {health:?}"),
        }
        if matches!(health.phase, HealthPhase::Probing | HealthPhase::Cooling) {
            let lease = self.settings.attempt_timeout;
            seen.probes.retain(|(_, sent)| now < *sent + lease);
            assert!(seen.probes.is_empty(), "a second probe: {:?}: {:?}", seen.probes, seen.health);
            seen.probes.push((attempt, now));
            seen.last_probe = Some(now);
        }
    }

    /// How many generations and recoveries there were when it was looked at last.
    pub(crate) fn turns(&self) -> Turns {
        let seen = self.seen.borrow();
        seen.health.as_ref().map_or((0, 0), |health| (health.strikes + seen.generations, health.recoveries))
    }

    /// The gate took the outcome of an attempt, or its caller went away.
    pub(crate) fn settled(&self, attempt: usize) {
        self.seen.borrow_mut().probes.retain(|(probe, _)| *probe != attempt);
    }

    /// A signal came back to whoever is above the gate.
    pub(crate) fn told(&self, delay: Option<Duration>, retry_in: Option<Duration>) {
        let seen = self.seen.borrow();
        let Some(health) = &seen.health else { unreachable!("a family that signalled has state") };
        if health.phase == HealthPhase::Cooling {
            let asked = delay.unwrap_or_default().min(self.settings.max_advertised);
            let remaining = health.remaining.unwrap_or_default();
            assert!(remaining >= asked, "{asked:?} was asked for: {health:?}");
            assert_eq!(retry_in, Some(remaining), "{health:?}");
        }
    }
}

/// A timer of tokio is late by less than this.
pub(crate) const TICK: Duration = MS;
