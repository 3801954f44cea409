//! What a sweep knows, and what it does with each item.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll};

use forbear_core::budget::Budget as Limits;
use forbear_core::gate::{Gate, Grant};
use forbear_core::time::Monotonic;
use futures_util::stream::{FuturesUnordered, StreamExt};
use http::{Request, Response};
use tower_service::Service;

use super::ending::{Ended, given_up};
use super::flight::{Below, Flight};
use super::gates::{First, Gates, Met};
use super::holds::{Called, Holds};
use super::item::{Item, Known};
use super::judge::{Judge, Judged};
use super::outcome::Outcome;
use super::places::Places;
use super::progress::Progress;
use super::request::{IntoRequest, NoRequest, Panicked};
use super::settings::Settings;
use super::watch::Watch;
use super::why::Why;
use crate::Error;
use crate::body::BoxError;

/// What a sweep knows.
pub(super) struct State<S: Service<Request<B>>, T, B> {
    vendor: S,
    pub(super) settings: Settings,
    pub(super) flights: FuturesUnordered<Flight<S, T, B, S::Future>>,
    pub(super) holds: Holds<T>,
    pub(super) places: Places<T>,
    /// What is to be handed over.
    pub(super) ready: VecDeque<Known<T, S::Response>>,
    below: Below,
    gates: Gates,
    /// Where the first one was sent, alone: whose it is is known once it is back.
    first: Option<First>,
    pub(super) watch: Watch,
    /// Why nothing more is sent.
    pub(super) ended: Option<Ended>,
    pub(super) exhausted: bool,
}

/// The moment of a step, and how long it may wait.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    pub(super) now: Monotonic,
    pub(super) budget: Limits,
}

impl<S, T, B, RB> State<S, T, B>
where
    S: Service<Request<B>, Response = Response<RB>> + Clone,
    S::Error: Into<BoxError>,
{
    pub(super) fn new(vendor: S, settings: Settings) -> Self {
        Self {
            vendor,
            gates: Gates::new(settings.families.clone()),
            places: Places::new(settings.concurrency),
            watch: Watch::new(settings.concurrency, settings.budget),
            settings,
            flights: FuturesUnordered::new(),
            holds: Holds::new(),
            ready: VecDeque::new(),
            below: Below::default(),
            first: None,
            ended: None,
            exhausted: false,
        }
    }

    /// The next outcome that is known.
    pub(super) fn known(&mut self) -> Option<Outcome<T, S::Response>> {
        let (outcome, of) = self.ready.pop_front()?;
        self.watch.counts(&outcome, of);
        self.settings.tell(&self.progress());
        Some(outcome)
    }

    pub(super) fn progress(&self) -> Progress {
        Progress { in_flight: self.flights.len(), held: self.held(), ..self.watch.progress }
    }

    /// How many items are held back, or wait for a place.
    pub(super) fn held(&self) -> usize {
        self.holds.len().saturating_add(self.places.len())
    }

    /// Whether no further item comes, for now.
    fn is_last(&self) -> bool {
        self.exhausted || self.ended.is_some() || self.held() >= self.settings.most_held
    }

    /// Whether it may send another item. Before the first service was made ready nobody knows whose families these are, and one
    /// goes alone.
    fn has_room(&self) -> bool {
        let known = self.below.get().is_some() || self.gates.are_known();
        self.flights.len() < self.settings.concurrency && (known || self.flights.is_empty())
    }

    pub(super) fn takes_more(&self) -> bool {
        !self.exhausted && self.ended.is_none() && self.has_room() && self.held() < self.settings.most_held
    }

    /// Takes what has come back; false where nothing has.
    pub(super) fn land(&mut self, at: Moment, cx: &mut Context<'_>) -> bool {
        let Poll::Ready(Some((mut item, answer))) = self.flights.poll_next_unpin(cx) else { return false };
        self.places.ends(item.line);
        if let Some(first) = self.first.take() {
            item.of = self.gates.whose(&self.below, &first);
        }
        let judged = self.judge(at).landed(item, answer);
        self.judged(judged);
        true
    }

    /// Sends, or gives up, what is held back and has come to its turn; false where nothing has.
    pub(super) fn call<F, Q>(&mut self, make: &mut F, at: Moment, cx: &mut Context<'_>) -> bool
    where
        F: FnMut(&T) -> Q,
        Q: IntoRequest<Body = B>,
    {
        let (has_room, last) = (self.has_room(), self.is_last());
        let places = &self.places;
        let room = |line| has_room && places.are_for(line, last);
        let Poll::Ready(called) = self.holds.poll(room, &at.budget, at.now, cx) else {
            return has_room && self.place(make, at, last);
        };
        match called {
            Called::Refused(item, why) => {
                self.ready.push_back(given_up(item, why));
            }
            Called::Go(item, grant) => {
                if let Some((item, mut request)) = self.made(item, make) {
                    item.comes_back(&mut request, grant.as_ref().map(Grant::id));
                    self.send(item, request, grant);
                }
            }
        }
        true
    }

    /// What waits for a place has one: false where nothing does.
    fn place<F, Q>(&mut self, make: &mut F, at: Moment, last: bool) -> bool
    where
        F: FnMut(&T) -> Q,
        Q: IntoRequest<Body = B>,
    {
        let Some(item) = self.places.next(last) else { return false };
        if let Some((item, request)) = self.made(item, make) {
            self.meet(item, request, at, true);
        }
        true
    }

    /// An item is taken: sent, held back, or given up.
    pub(super) fn take<F, Q>(&mut self, item: T, make: &mut F, at: Moment)
    where
        F: FnMut(&T) -> Q,
        Q: IntoRequest<Body = B>,
    {
        let item = Item::new(item, self.number(), at.now);
        if let Some((item, request)) = self.made(item, make) {
            self.meet(item, request, at, false);
        }
    }

    /// What becomes of an item that comes up; `placed` where it has a place already.
    fn meet(&mut self, mut item: Item<T>, request: Request<B>, at: Moment, placed: bool) {
        let (met, line, of) = self.gates.meet(&self.below, &self.holds, &request, at);
        (item.line, item.of) = (line, of);
        self.places.sees(line);
        match met {
            Met::Behind(gate) => {
                // Without a budget its time begins now, not when it comes to be the first.
                let _ = item.history.wait_limit(&at.budget, at.now);
                self.holds.join(&gate, item);
            }
            Met::Refused(cooling) => {
                let judged = self.judge(at).refused(item, &cooling, false);
                self.judged(judged);
            }
            // Those that wait for one have theirs before any further item is taken.
            Met::Nobody if !placed && !self.places.are_for(line, false) => self.places.hold(item),
            Met::Nobody => self.send(item, request, None),
        }
    }

    /// The next place in the order of the items.
    pub(super) fn number(&mut self) -> u64 {
        let number = self.watch.progress.taken;
        self.watch.progress.taken = number.saturating_add(1);
        number
    }

    /// The request of an item; where there is none it has failed.
    fn made<F, Q>(&mut self, mut item: Item<T>, make: &mut F) -> Option<(Item<T>, Request<B>)>
    where
        F: FnMut(&T) -> Q,
        Q: IntoRequest<Body = B>,
    {
        // Whatever a closure has changed when it panics is its own.
        let error = match catch_unwind(AssertUnwindSafe(|| make(&item.item).into_request())) {
            Ok(Ok(mut request)) => {
                item.takes(&mut request);
                return Some((item, request));
            }
            Ok(Err(why)) => NoRequest::error(why),
            Err(panic) => Panicked::error(&*panic),
        };
        self.fail(item, error);
        None
    }

    fn send(&mut self, item: Item<T>, request: Request<B>, grant: Option<Grant>) {
        self.places.begins(item.line);
        if !self.gates.are_known() && self.below.get().is_none() {
            self.first = Some(First::of(&request));
        }
        let below = Arc::clone(&self.below);
        self.flights.push(Flight::new(self.vendor.clone(), request, item, grant, below));
    }

    fn fail(&mut self, item: Item<T>, error: Error) {
        self.ready.push_back(item.ends(|item| Outcome::failed(item, error)));
    }

    const fn judge(&self, at: Moment) -> Judge {
        Judge { waits: self.settings.waits && self.ended.is_none(), budget: at.budget, now: at.now }
    }

    fn judged(&mut self, judged: Judged<T, S::Response>) {
        match judged {
            Judged::Ended(outcome) => self.ready.push_back(outcome),
            Judged::EndedAll(outcome, gate, why) => {
                self.ready.push_back(outcome);
                self.give_up(&gate, &why);
            }
            Judged::AtGate(item, gate, why, refused_at) => self.holds.at_gate(&gate, item, why, refused_at),
            Judged::Alone(item, why) => self.holds.alone(self.gates.waiting_room(&self.below), item, why),
        }
    }

    fn give_up(&mut self, gate: &Arc<Gate>, why: &Why) {
        let held = self.holds.take_all_of(gate);
        self.ready.extend(held.map(|item| given_up(item, why.clone())));
    }
}
