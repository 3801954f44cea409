use std::sync::{Arc, OnceLock, PoisonError};
use std::time::Duration;

use crate::living::{Id, Living};
use crate::pacing::Pacer;
use crate::partition::Partition;
use crate::stale::{StaleCounts, StaleTotals};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, MutexGuard, of_the_process};
use crate::time::Monotonic;
use crate::waking::wake;

use super::account::Account;
use super::ask::Ask;
use super::buckets::Buckets;
use super::decision::{Decision, Refusal, RefusalCause};
use super::event::{Effect, Event, Observed, Outcome};
use super::kept::Kept;
use super::listen::Listeners;
use super::partitions::Partitions;
use super::pause::Pause;
use super::queue::Key;
use super::settings::GateSettings;
use super::shard::{self, Served, Shard};
use super::state::{Phase, State};
use super::tally;
use super::ticket::{Kind, Ticket, age};
use super::totals::Totals;

of_the_process! {
    /// All gates of the process.
    pub(super) static GATES: Living<Gate> = Living::new();
}

/// The gate of one family, shared by all its callers.
///
/// While it is open, an attempt costs one atomic load and counts in its thread's own memory. Everything else goes
/// through one short lock.
#[derive(Debug)]
pub struct Gate {
    id: Id,
    name: Arc<str>,
    /// Which part of the family it is for.
    pub(super) label: Option<Box<str>>,
    /// What it is known by in a store.
    pub(super) kept: Kept,
    listeners: Option<Arc<Listeners>>,
    pub(super) partitions: OnceLock<Box<Partitions>>,
    pub(super) buckets: Buckets,
    /// The pacing of its family, once it had any.
    pub(super) pacer: OnceLock<Arc<Pacer>>,
    /// A bit for each route that was refused of late.
    pub(super) suspects: AtomicU64,
    /// Keeps what it did when it is gone.
    account: Option<Arc<Account>>,
    /// Open or not, epoch and generation: all that the happy path reads.
    word: AtomicU64,
    state: Mutex<State>,
    shards: Mutex<Vec<Arc<Shard>>>,
}

/// One in so many answers of an open gate is timed; the first ones all are.
const TIMED_EVERY: u32 = 16;

fn word(open: bool, epoch: u32, generation: u32) -> u64 {
    u64::from(open) | u64::from(generation) << 1 | u64::from(epoch) << 33
}

fn is_open(word: u64) -> bool {
    word & 1 == 1
}

impl Gate {
    /// The gate of the family or partition `name`; open.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, settings: Arc<GateSettings>) -> Arc<Self> {
        Self::heard(name, settings, None)
    }

    /// The same; its events are told to `listeners`.
    #[must_use]
    pub fn heard(
        name: impl Into<Arc<str>>,
        settings: Arc<GateSettings>,
        listeners: Option<Arc<Listeners>>,
    ) -> Arc<Self> {
        let name = name.into();
        // One without a name is no family's.
        let family = listeners.as_ref().filter(|_| !name.is_empty());
        let account = family.map(|listeners| listeners.accounts().of(&name));
        let kept = if account.is_some() { Kept::Registered } else { Kept::No };
        Self::make((name, None, kept), settings, (listeners, account), Pause::new())
    }

    /// The gate of the automatic family `name`; its events are told to `listeners`. `shared` where it is not that of one host.
    pub(crate) fn automatic(name: &str, shared: bool, listeners: &Arc<Listeners>) -> Arc<Self> {
        let account = listeners.accounts().automatic();
        let settings = Arc::new(GateSettings::automatic());
        let kept = if shared { Kept::No } else { Kept::Automatic };
        let reports = (Some(Arc::clone(listeners)), Some(account));
        Self::make((name.into(), None, kept), settings, reports, Pause::new())
    }

    /// The gate of a part of `family`: the same name, numbers, pause, listeners and account. No `part` where it is shared by
    /// many.
    pub(super) fn part_of(family: &Self, part: Option<Partition>, label: &str) -> Arc<Self> {
        let state = family.lock();
        let (settings, pause) = (Arc::clone(&state.settings), state.pause.of_part());
        drop(state);
        let reports = (family.listeners.clone(), family.account.clone());
        let kept = part.map_or(Kept::No, |part| family.kept.part(part));
        let name = (Arc::clone(&family.name), Some(label.into()), kept);
        let part = Self::make(name, settings, reports, pause);
        if let Some(pacer) = family.pacer.get() {
            let _ = part.pacer.set(Arc::clone(pacer));
        }
        part
    }

    fn make(
        (name, label, kept): (Arc<str>, Option<Box<str>>, Kept),
        settings: Arc<GateSettings>,
        (listeners, account): (Option<Arc<Listeners>>, Option<Arc<Account>>),
        pause: Pause,
    ) -> Arc<Self> {
        GATES.add(|id| Self {
            id,
            name,
            label,
            kept,
            listeners,
            partitions: OnceLock::new(),
            buckets: Buckets::default(),
            pacer: OnceLock::new(),
            suspects: AtomicU64::new(0),
            account,
            word: AtomicU64::new(word(!pause.is_on(), 0, 0)),
            state: Mutex::new(State::new(id, settings, pause)),
            shards: Mutex::new(Vec::new()),
        })
    }

    /// Itself, for who holds it for longer.
    #[must_use]
    pub fn held(&self) -> Option<Arc<Self>> {
        GATES.find(self.id)
    }

    /// The name of the family it belongs to.
    #[must_use]
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(super) fn listeners(&self) -> Option<&Arc<Listeners>> {
        self.listeners.as_ref()
    }

    pub(super) fn account(&self) -> Option<&Arc<Account>> {
        self.account.as_ref()
    }

    /// What is counted of its family's stored answers; `None` where it is no family's.
    #[must_use]
    #[inline]
    pub fn stale(&self) -> Option<&Arc<StaleCounts>> {
        self.account.as_ref().map(|account| account.stale())
    }

    /// The same, where anything was.
    pub(crate) fn stale_totals(&self) -> Option<StaleTotals> {
        self.account.as_ref().and_then(|account| account.stale_totals())
    }

    /// What it did since it was made. An attempt that a part let through is its family's.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let mut totals = self.lock().totals;
        if self.label.is_none() {
            totals.attempts = self.served(0, Monotonic::ORIGIN).total;
            totals.pacing = self.pacer.get().map(|pacer| pacer.totals());
        }
        totals
    }

    /// Counts a refusal that was given in its place.
    pub(crate) fn count_refusal(&self, cause: RefusalCause) {
        self.lock().totals.refusal(cause);
    }

    /// Decides by other numbers from now on. What was decided stands.
    pub fn configure(&self, settings: &Arc<GateSettings>) {
        // First its own: a part that is made meanwhile has these, or is among those below.
        self.lock().settings = Arc::clone(settings);
        for partition in self.every_part() {
            partition.lock().settings = Arc::clone(settings);
        }
    }

    /// The longest cool-down that it records.
    #[must_use]
    pub fn max_advertised(&self) -> Duration {
        self.lock().settings.max_advertised
    }

    /// The gate that admitted an attempt, if it still lives.
    #[must_use]
    pub fn of(ticket: &Ticket) -> Option<Arc<Self>> {
        GATES.find(ticket.gate)
    }

    /// The happy path: a ticket where the gate is open, without a lock. `None` means: use [`Gate::admit`].
    #[must_use]
    #[inline]
    pub fn admit_open(&self, now: Monotonic) -> Option<Ticket> {
        let word = self.word.load(Ordering::Acquire);
        if !is_open(word) {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "the word is made of these two")]
        let (epoch, generation) = ((word >> 33) as u32, (word >> 1) as u32);
        let before = self.count(age(epoch, generation), now);
        let timed = before < TIMED_EVERY || before.is_multiple_of(TIMED_EVERY);
        Some(Ticket { gate: self.id, epoch, generation, sent: now, kind: Kind::Open { timed }, before })
    }

    /// A ticket for an attempt that another gate admitted at `sent` and that this family answered, as after a redirect
    /// that the client followed itself. It is of the current generation only if it was sent after the last strike.
    #[must_use]
    pub fn foreign(&self, sent: Monotonic) -> Ticket {
        let state = self.lock();
        let late = state.cooldown.struck.is_none() || sent > state.cooldown.from;
        let generation = if late { state.generation } else { state.generation.wrapping_sub(1) };
        Ticket {
            gate: self.id,
            epoch: state.epoch,
            generation,
            sent,
            kind: Kind::Counted,
            before: state.counted,
        }
    }

    /// Whether it was open when somebody looked last: one atomic load.
    #[must_use]
    pub fn is_open(&self) -> bool {
        is_open(self.word.load(Ordering::Acquire))
    }

    /// Whether nothing would be lost with this gate: nobody waits, no probe is out, and quiet time took all rungs off;
    /// also where nobody called since its cool-down ended. Looks and changes nothing, so that it wakes nobody.
    #[must_use]
    pub fn is_idle(&self, now: Monotonic) -> bool {
        let state = self.lock();
        let resting = match &state.phase {
            Phase::Open => true,
            Phase::Cooling => now >= state.cooldown.until,
            Phase::Probing => state.lease.is_none_or(|lease| lease.ends <= now),
            Phase::Recovering(recovery) => recovery.over(now),
        };
        let resting = resting && !state.pause.is_on() && state.level(now) == 0 && state.queue.len() == 0;
        drop(state);
        resting && self.partitions().iter().all(|partition| partition.is_idle(now))
    }

    /// Decides whether `ask` may send now. Events are what an operator is to be told; they come from time that passed.
    #[must_use]
    pub fn admit(&self, ask: &Ask, now: Monotonic) -> (Decision, Vec<Event>) {
        if let Some(ticket) = self.admit_open(now) {
            return (Decision::Go(ticket), Vec::new());
        }
        self.with(|state| {
            state.advance(now);
            match state.admit(ask, now) {
                Ok(kind) => Decision::Go(self.ticket(state, kind, now)),
                Err(refusal) => Decision::Refuse(refusal),
            }
        })
    }

    /// Takes the outcome of an admitted attempt.
    #[must_use]
    pub fn observe(&self, ticket: &Ticket, outcome: Outcome<'_>, now: Monotonic) -> Observed {
        let outcome = self.steered(ticket, outcome.weighed(), now);
        let served = match outcome {
            Outcome::Bad(..) => Some(self.served(ticket.age(), now)),
            _ => None,
        };
        let ((effect, retry_at), events) = self.with(|state| {
            state.advance(now);
            if served.is_some() {
                self.take_times(state);
            }
            let effect = match (outcome, &served) {
                (Outcome::Bad(signal, route), Some(served)) => {
                    let accepted = self.accepted(state, ticket, served, now);
                    state.signal(ticket, signal, route, (accepted, served), now)
                }
                (Outcome::Good, _) => state.good(ticket, now),
                (Outcome::NotSent, _) => state.not_sent(ticket, now),
                _ => state.neutral(ticket, now),
            };
            // While a probe is out nobody knows the end: a caller with budget waits for the verdict.
            let retry_at = matches!(state.phase, Phase::Cooling).then_some(state.cooldown.until);
            (effect, retry_at)
        });
        self.count_answer(ticket, outcome);
        if effect == Effect::DeadRoute
            && let Some(observed) = self.strike_apart(ticket, outcome, now)
        {
            return Observed { family_events: events, ..observed };
        }
        Observed { effect, retry_at, events, apart: None, family_events: Vec::new() }
    }

    /// Takes a place in the queue of those that wait. `not_before` is a time the caller was told itself, `jitter` its
    /// draw in 0..1, `refused_at` the moment of the refusal that it answers.
    ///
    /// # Errors
    /// The refusal where it cannot wait: paused, too many wait already, its place comes after its deadline, or the
    /// process shuts down.
    pub(super) fn park(
        &self,
        ask: &Ask,
        wait: (Monotonic, f64),
        refused_at: Option<Monotonic>,
        now: Monotonic,
    ) -> (Result<Key, Refusal>, Vec<Event>) {
        self.with(|state| match self.shuts_down() {
            true => Err(state.refuse(RefusalCause::ShuttingDown, state.retry_at(), now)),
            false => state.park(ask, wait, refused_at, now),
        })
    }

    /// Runs `with` under the lock, publishes what the happy path reads, and wakes whom it concerns after it.
    pub(super) fn with<T>(&self, with: impl FnOnce(&mut State) -> T) -> (T, Vec<Event>) {
        let mut state = self.lock();
        let before = self.is_watched().then(|| state.mark());
        let answer = with(&mut state);
        let moved = before.is_some_and(|before| before != state.mark());
        let open = matches!(state.phase, Phase::Open) && !state.pause.is_on();
        let word = word(open, state.epoch, state.generation);
        // Written under the lock alone.
        let closed = !open && self.word.load(Ordering::Relaxed) != word;
        self.word.store(word, Ordering::Release);
        self.publish_routes(&state);
        let events = std::mem::take(&mut state.events);
        let wakers = std::mem::take(&mut state.wakers);
        let spent = std::mem::take(&mut state.spent);
        drop(state);
        wake(wakers, spent);
        if closed {
            self.empty_pacing();
        }
        if moved {
            self.tell_watchers();
        }
        (answer, events)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // A panic under the lock can only come from the allocator; what it left is still a state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ticket(&self, state: &mut State, kind: Kind, now: Monotonic) -> Ticket {
        let before = state.counted;
        state.counted = before.saturating_add(1);
        let _ = self.count(age(state.epoch, state.generation), now);
        Ticket { gate: self.id, epoch: state.epoch, generation: state.generation, sent: now, kind, before }
    }

    /// Counts an attempt in this thread's shard; says how many of its generation this thread sent before.
    #[inline]
    fn count(&self, age: u64, now: Monotonic) -> u32 {
        shard::mine(self.id, || Some(self.adopt_shard()), |shard| shard.sent(age, now)).unwrap_or(0)
    }

    /// A shard for the calling thread: one that an ended thread left, or a new one.
    pub(super) fn adopt_shard(&self) -> Arc<Shard> {
        let mut shards = self.shards.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(left) = shards.iter().find(|shard| shard.take()) {
            return Arc::clone(left);
        }
        let shard = Arc::new(Shard::default());
        let _ = shard.take();
        shards.push(Arc::clone(&shard));
        shard
    }

    fn count_answer(&self, ticket: &Ticket, outcome: Outcome<'_>) {
        let good = match outcome {
            Outcome::Good => true,
            Outcome::Neutral | Outcome::NotSent => false,
            Outcome::Bad(..) => return,
        };
        shard::answered(self.id, ticket.age(), good, None);
    }

    /// What a generation did so far, over all threads.
    pub(super) fn served(&self, age: u64, now: Monotonic) -> Served {
        let mut served = Served::default();
        for shard in self.shards.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            shard.add_to(&mut served, age, now);
        }
        served
    }

    pub(super) fn take_times(&self, state: &mut State) {
        for shard in self.shards.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let (mean, deviation, samples) = shard.take_times();
            state.time.absorb(mean, deviation, samples);
        }
    }

    /// How many attempts of this generation were accepted: the good answers, or those sent before the refused one (or
    /// longer ago than the refusal window) that ended in nothing else.
    fn accepted(&self, state: &State, ticket: &Ticket, served: &Served, now: Monotonic) -> u64 {
        let sent_before = match ticket.kind {
            Kind::Counted | Kind::Probe(_) => ticket.before.into(),
            Kind::Open { .. } => {
                // What is older than the tally reaches is settled below.
                let reached = now.since(ticket.sent) < tally::REACH;
                let others = if reached { self.sent_clearly_before(ticket.age(), ticket.sent) } else { 0 };
                others.max(ticket.before.into())
            }
        };
        let unrefused = now.before(state.window.span());
        let settled = if unrefused > ticket.sent {
            self.sent_clearly_before(ticket.age(), unrefused).saturating_sub(1)
        } else {
            0
        };
        served.good.max(sent_before.max(settled).saturating_sub(served.neutral))
    }

    fn sent_clearly_before(&self, age: u64, at: Monotonic) -> u64 {
        let shards = self.shards.lock().unwrap_or_else(PoisonError::into_inner);
        shards.iter().map(|shard| shard.sent_before(age, at)).fold(0, u64::saturating_add)
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        if let Some(account) = &self.account {
            account.close(self);
        }
        GATES.remove(self.id);
    }
}

/// Takes the outcome of an attempt that an open gate admitted and that met no signal: touches nothing shared.
/// `took` is asked only where the time of this answer is sampled. False where the ticket must go through
/// [`Gate::observe`] instead.
#[inline]
pub fn answered_open(ticket: &Ticket, good: bool, took: impl FnOnce() -> Duration) -> bool {
    let Kind::Open { timed } = ticket.kind else { return false };
    shard::answered(ticket.gate, ticket.age(), good, (timed && good).then(took));
    true
}
