//! One attempt for everybody who asks for the same.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use forbear_core::stale::Because;
use forbear_core::time::Monotonic;
use tokio::sync::Notify;

use super::entry::Entry;
use super::key::Key;
use super::manner::Manner;
use super::plain::Plain;
use crate::clock;
use crate::error::SharedFault;
use crate::parking::Parks;

/// How an attempt ended, for those who waited for it.
#[derive(Debug, Clone)]
pub(super) enum Landed {
    /// Its answer is stored; or what is stored was confirmed.
    Stored(Arc<Entry>),
    /// It brought nothing better than what is stored; and this, where somebody had nothing better.
    Worse(Because, Option<Arc<Plain>>),
    /// It brought this, which is the same for all who asked like that, and is not stored.
    Same(Arc<Plain>),
    /// The client failed, or refused.
    Failed(SharedFault),
    /// It was refused or limited like this, which is no measure for those who would have waited in another manner.
    Hasty(Manner, Box<Landed>),
    /// It waits itself, where who asks would not.
    Parked,
    /// Its answer is one caller's alone.
    Unshared,
    /// It ended without an answer: it was given up, or panicked.
    Lost,
}

/// One attempt, and who waits for it.
#[derive(Debug)]
pub(super) struct Flight {
    manner: Manner,
    /// From then on nobody joins it any more.
    joined_until: Monotonic,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    landed: Option<Landed>,
    /// How many still want to know.
    interested: usize,
    /// Until when it goes on where nobody does.
    kept: Option<Monotonic>,
    /// How many copies of its request wait below, and are not on their way.
    parked: usize,
    /// What another attempt for the same brought meanwhile.
    offered: Option<Arc<Entry>>,
    /// Something changed what it fetches since it began.
    outdated: bool,
}

/// Wants to know how a flight ends. Once nobody does any more, the attempt is given up.
#[derive(Debug)]
pub(super) struct Interest(Arc<Flight>);

/// The duty to say how a flight ended. Dropped without that, it was lost.
#[derive(Debug)]
pub(super) struct Duty {
    flights: Arc<Flights>,
    what: What,
    flight: Arc<Flight>,
}

/// What is fetched: an answer by its key and, where it is known by which fields answers are selected, those.
type What = (Key, u128);

/// All flights, by what they fetch.
#[derive(Debug)]
pub(super) struct Flights {
    /// For so long others join one.
    joined_for: Duration,
    flying: Mutex<HashMap<What, Vec<Arc<Flight>>>>,
}

/// What a caller has to do.
pub(super) enum Joined {
    /// Nobody fetches it yet: it does.
    Leads(Duty, Interest),
    /// Somebody does.
    Follows(Interest),
}

/// Whose flights a caller joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// Those that are on their way, and those that wait as it would.
    Any,
    /// Those of its own manner alone.
    Like,
}

impl Flights {
    pub(super) fn new(joined_for: Duration) -> Self {
        Self { joined_for, flying: Mutex::default() }
    }

    /// Joins a flight that fetches this, or begins one; `variant` is zero where nobody knows yet by what answers are selected.
    ///
    /// One that takes too long is not joined: it may hang, and another attempt might not.
    pub(super) fn join(self: &Arc<Self>, key: Key, variant: u128, manner: Manner, whose: Whose) -> Joined {
        let (what, now) = ((key, variant), clock::now());
        let mut flying = self.lock();
        let flights = flying.entry(what).or_default();
        let likes = |flight: &Arc<Flight>| Interest::in_flight(flight, now, |_| flight.manner == manner);
        let any = |flight: &Arc<Flight>| {
            Interest::in_flight(flight, now, |parked| !parked || manner.waits_with(flight.manner))
        };
        let others = || if whose == Whose::Any { flights.iter().find_map(any) } else { None };
        if let Some(interest) = flights.iter().find_map(likes).or_else(others) {
            return Joined::Follows(interest);
        }
        let state = Mutex::new(State { interested: 1, ..State::default() });
        let (joined_until, changed) = (now.after(self.joined_for), Notify::new());
        let flight = Arc::new(Flight { manner, joined_until, state, changed });
        flights.push(Arc::clone(&flight));
        let duty = Duty { flights: Arc::clone(self), what, flight: Arc::clone(&flight) };
        Joined::Leads(duty, Interest(flight))
    }

    /// Something changed there: who asks from now on does not join what began before, and that is not stored.
    pub(super) fn outdate(&self, key: Key) {
        self.lock().retain(|(of, _), flights| {
            if *of == key {
                flights.iter().for_each(|flight| flight.lock().outdated = true);
            }
            *of != key
        });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<What, Vec<Arc<Flight>>>> {
        self.flying.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Flight {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `look` finds something.
    async fn until<T>(&self, look: impl Fn(&State) -> Option<T>) -> T {
        loop {
            let mut changed = pin!(self.changed.notified());
            // From now on nothing is missed.
            changed.as_mut().enable();
            if let Some(found) = look(&self.lock()) {
                return found;
            }
            changed.await;
        }
    }
}

impl Parks for Flight {
    fn parked(&self, is: bool) {
        let mut state = self.lock();
        state.parked = if is { state.parked + 1 } else { state.parked.saturating_sub(1) };
        drop(state);
        if is {
            self.changed.notify_waiters();
        }
    }
}

impl Interest {
    /// In this one, where it can be joined and `fits` says so, which is told whether it waits itself.
    fn in_flight(flight: &Arc<Flight>, now: Monotonic, fits: impl Fn(bool) -> bool) -> Option<Self> {
        let mut state = flight.lock();
        // One that is given up this moment is not joined.
        if state.landed.is_some()
            || (state.interested == 0 && state.kept.is_none())
            || now >= flight.joined_until
            || !fits(state.parked > 0)
        {
            return None;
        }
        state.interested += 1;
        Some(Self(Arc::clone(flight)))
    }

    /// How it ended, or that it waits where a caller of this manner would not.
    pub(super) async fn landed(&self, manner: Manner) -> Landed {
        let waits_with = manner.waits_with(self.0.manner);
        let parked = |state: &State| (state.parked > 0 && !waits_with).then_some(Landed::Parked);
        self.0.until(|state| state.landed.clone().or_else(|| parked(state))).await
    }

    /// Lets it go on until then although nobody waits for it.
    pub(super) fn keep(&self, until: Monotonic) {
        self.0.lock().kept.get_or_insert(until);
    }
}

impl Drop for Interest {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.interested -= 1;
        let last = state.interested == 0;
        drop(state);
        if last {
            self.0.changed.notify_waiters();
        }
    }
}

impl Duty {
    /// Ready once nobody wants to know how it ends, and it is not kept any more.
    pub(super) async fn abandoned(&self) {
        let kept = self.flight.until(|state| (state.interested == 0).then_some(state.kept)).await;
        let Some(until) = kept else { return };
        // Whoever came meanwhile has it until he goes.
        tokio::time::sleep_until(clock::to_instant(until)).await;
        self.flight.until(|state| (state.interested == 0).then_some(())).await;
    }

    /// What another attempt brought while this one waits to be sent, where that `fits`.
    pub(super) async fn offered(&self, fits: impl Fn(&Entry) -> bool) -> Arc<Entry> {
        let look = |state: &State| state.offered.clone().filter(|entry| state.parked > 0 && fits(entry));
        self.flight.until(look).await
    }

    /// Who is told where its request waits below.
    pub(super) fn parks(&self) -> Arc<dyn Parks> {
        Arc::clone(&self.flight) as Arc<dyn Parks>
    }

    /// How its attempt lets itself be kept waiting.
    pub(super) fn manner(&self) -> Manner {
        self.flight.manner
    }

    /// Nobody joins it any more. Whether several callers want to know.
    pub(super) fn close(&self) -> bool {
        self.leave();
        self.flight.lock().interested > 1
    }

    /// One more who wants to know.
    pub(super) fn interest(&self) -> Interest {
        self.flight.lock().interested += 1;
        Interest(Arc::clone(&self.flight))
    }

    /// Does this, unless something changed what it fetches: then neither before that nor after it.
    pub(super) fn unless_outdated(&self, store: impl FnOnce()) {
        let state = self.flight.lock();
        if !state.outdated {
            store();
        }
    }

    /// Says how it ended.
    pub(super) fn land(self, landed: Landed) {
        self.tell(landed);
    }

    /// Says how it ends for those who wait for it, while the attempt goes on.
    pub(super) fn tell(&self, landed: Landed) {
        let others = self.leave();
        if let Landed::Stored(entry) = &landed {
            for other in others {
                other.lock().offered = Some(Arc::clone(entry));
                other.changed.notify_waiters();
            }
        }
        self.flight.lock().landed.get_or_insert(landed);
        self.flight.changed.notify_waiters();
    }

    /// Is flown no more for who comes from now on. Others that fetch the same, if this one was.
    fn leave(&self) -> Vec<Arc<Flight>> {
        let mut flying = self.flights.lock();
        let Some(flights) = flying.get_mut(&self.what) else { return Vec::new() };
        let before = flights.len();
        flights.retain(|flight| !Arc::ptr_eq(flight, &self.flight));
        let others = if flights.len() < before { flights.clone() } else { Vec::new() };
        if flights.is_empty() {
            flying.remove(&self.what);
        }
        others
    }
}

impl Drop for Duty {
    fn drop(&mut self) {
        self.tell(Landed::Lost);
    }
}
