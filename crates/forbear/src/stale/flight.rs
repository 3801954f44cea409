//! One attempt for everybody who asks for the same.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use forbear_core::stale::Because;
use forbear_core::time::Monotonic;
use tokio::sync::Notify;

use super::entry::Entry;
use super::key::Key;
use super::plain::Plain;
use crate::clock;
use crate::error::SharedFault;

/// How an attempt ended, for those who waited for it.
#[derive(Debug, Clone)]
pub(super) enum Landed {
    /// Its answer is stored; or what is stored was confirmed.
    Stored(Arc<Entry>),
    /// It brought nothing better than what is stored; and this, where somebody had nothing better.
    Worse(Because, Option<Arc<Plain>>),
    /// The client failed, or refused.
    Failed(SharedFault),
    /// It was refused or limited like this, and its leader would not wait for what others would.
    Hasty(Box<Landed>),
    /// Its answer is one caller's alone.
    Unshared,
    /// It ended without an answer: it was given up, or panicked.
    Lost,
}

/// One attempt, and who waits for it.
#[derive(Debug)]
pub(super) struct Flight {
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
#[derive(Debug, Default)]
pub(super) struct Flights(Mutex<HashMap<What, Arc<Flight>>>);

/// What a caller has to do.
pub(super) enum Joined {
    /// Nobody fetches it yet: it does.
    Leads(Duty, Interest),
    /// Somebody does.
    Follows(Interest),
}

impl Flights {
    /// Joins the flight that fetches this, or begins one; `variant` is zero where nobody knows yet by what answers are selected.
    pub(super) fn join(self: &Arc<Self>, key: Key, variant: u128) -> Joined {
        let what = (key, variant);
        let mut flights = self.lock();
        if let Some(interest) = flights.get(&what).and_then(Interest::in_flight) {
            return Joined::Follows(interest);
        }
        let state = Mutex::new(State { interested: 1, ..State::default() });
        let flight = Arc::new(Flight { state, changed: Notify::new() });
        flights.insert(what, Arc::clone(&flight));
        let duty = Duty { flights: Arc::clone(self), what, flight: Arc::clone(&flight) };
        Joined::Leads(duty, Interest(flight))
    }

    /// Something changed there: who asks from now on does not join what began before, and that is not stored.
    pub(super) fn outdate(&self, key: Key) {
        self.lock().retain(|(of, _), flight| {
            if *of == key {
                flight.lock().outdated = true;
            }
            *of != key
        });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<What, Arc<Flight>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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

impl Interest {
    fn in_flight(flight: &Arc<Flight>) -> Option<Self> {
        let mut state = flight.lock();
        // One that is given up this moment is not joined.
        if state.landed.is_some() || (state.interested == 0 && state.kept.is_none()) {
            return None;
        }
        state.interested += 1;
        Some(Self(Arc::clone(flight)))
    }

    /// How it ended.
    pub(super) async fn landed(&self) -> Landed {
        self.0.until(|state| state.landed.clone()).await
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
        // Whoever comes meanwhile has it until then too, and asks anew after that.
        tokio::time::sleep_until(clock::to_instant(until)).await;
        self.flight.until(|state| (state.interested == 0).then_some(())).await;
    }

    /// Whether several callers want to know.
    pub(super) fn is_shared(&self) -> bool {
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

    fn tell(&self, landed: Landed) {
        let mut flights = self.flights.lock();
        if flights.get(&self.what).is_some_and(|flight| Arc::ptr_eq(flight, &self.flight)) {
            flights.remove(&self.what);
        }
        drop(flights);
        self.flight.lock().landed.get_or_insert(landed);
        self.flight.changed.notify_waiters();
    }
}

impl Drop for Duty {
    fn drop(&mut self) {
        self.tell(Landed::Lost);
    }
}
