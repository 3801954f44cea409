//! Items that are not sent now: by whom they are held, and who of them comes next.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use forbear_core::budget::Budget as Limits;
use forbear_core::gate::{Ask, Gate, Grant, Refusal, RefusalCause};
use forbear_core::retry::jittered;
use forbear_core::time::Monotonic;
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::item::Item;
use super::places::Line;
use super::why::Why;
use crate::events;
use crate::waiting::{Wait, Waited};

/// Who holds items back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    /// A gate, by its address: it lives as long as something is held for it.
    Gate(usize),
    /// Nobody but what one item was told itself.
    Alone(u64),
}

/// What one gate holds back, in the order in which it was given. Only the first waits, in the gate's own queue: the gate says
/// when it goes, and then the next waits.
struct Hold<T> {
    /// `None` where it waits for a moment alone, and nobody could end that.
    gate: Option<Arc<Gate>>,
    items: BTreeMap<u64, Item<T>>,
    /// Why, as it was said last.
    why: Why,
    /// The refusal that the next wait answers.
    refused_at: Option<Monotonic>,
    /// Which of the waits is its own; of those before it nothing is wanted any more.
    wait: Option<u64>,
}

/// One wait at a gate.
struct Waiting {
    key: Key,
    number: u64,
    wait: Wait,
}

impl Future for Waiting {
    type Output = (Key, u64, Waited);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (key, number) = (self.key, self.number);
        self.wait.poll(cx).map(|waited| (key, number, waited))
    }
}

/// All that is held back. Memory: the items, and a wait for each gate.
pub(super) struct Holds<T> {
    by: BTreeMap<Key, Hold<T>>,
    waits: FuturesUnordered<Waiting>,
    /// Their next item waits nowhere yet.
    idle: VecDeque<Key>,
    /// Their wait was over when there was no room: each takes its place again as soon as there is some.
    due: VecDeque<Key>,
    len: usize,
    waited: u64,
}

/// How a wait for the first of those that are held together ended.
pub(super) enum Called<T> {
    /// It is its turn.
    Go(Item<T>, Option<Grant>),
    /// It will not be its turn.
    Refused(Item<T>, Why),
}

impl<T> Holds<T> {
    pub(super) fn new() -> Self {
        Self {
            by: BTreeMap::new(),
            waits: FuturesUnordered::new(),
            idle: VecDeque::new(),
            due: VecDeque::new(),
            len: 0,
            waited: 0,
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) fn key_of(gate: &Arc<Gate>) -> Key {
        Key::Gate(Arc::as_ptr(gate).addr())
    }

    /// Whether something is held for this gate, so that what comes later stands behind it.
    pub(super) fn holds(&self, gate: &Arc<Gate>) -> bool {
        self.by.contains_key(&Self::key_of(gate))
    }

    /// Holds an item behind what is held for `gate`.
    pub(super) fn join(&mut self, gate: &Arc<Gate>, item: Item<T>) {
        if let Some(hold) = self.by.get_mut(&Self::key_of(gate)) {
            hold.items.insert(item.number, item);
            self.len = self.len.saturating_add(1);
        }
    }

    /// Holds an item until a gate says that it may go.
    pub(super) fn at_gate(
        &mut self,
        gate: &Arc<Gate>,
        item: Item<T>,
        why: Why,
        refused_at: Option<Monotonic>,
    ) {
        self.hold(Self::key_of(gate), Some(Arc::clone(gate)), item, why, refused_at);
    }

    /// Holds an item until its own moment, in the waiting room where there is one.
    pub(super) fn alone(&mut self, room: Option<Arc<Gate>>, item: Item<T>, why: Why) {
        self.hold(Key::Alone(item.number), room, item, why, None);
    }

    fn hold(
        &mut self,
        key: Key,
        gate: Option<Arc<Gate>>,
        item: Item<T>,
        why: Why,
        refused_at: Option<Monotonic>,
    ) {
        let hold = self.by.entry(key).or_insert_with(|| {
            self.idle.push_back(key);
            Hold { gate, items: BTreeMap::new(), why: why.clone(), refused_at, wait: None }
        });
        hold.why = why;
        hold.items.insert(item.number, item);
        self.len = self.len.saturating_add(1);
    }

    /// Whose wait is over, as soon as there is one. Without `room` for its line a turn goes to the next caller of the gate, whoever
    /// that is, and is asked for again later.
    pub(super) fn poll(
        &mut self,
        room: impl Fn(Line) -> bool,
        budget: &Limits,
        now: Monotonic,
        cx: &mut Context<'_>,
    ) -> Poll<Called<T>> {
        loop {
            if let Some(key) = self.due_with(&room).or_else(|| self.idle.pop_front()) {
                match self.wait(key, budget, now) {
                    Some(refused) => return Poll::Ready(refused),
                    None => continue,
                }
            }
            let Poll::Ready(Some((key, number, waited))) = self.waits.poll_next_unpin(cx) else {
                return Poll::Pending;
            };
            let Some(hold) = self.by.get_mut(&key).filter(|hold| hold.wait == Some(number)) else { continue };
            hold.wait = None;
            match waited {
                Waited::Refused(gate, refusal) => {
                    if let Some(refused) = self.refused(key, &gate, &refusal) {
                        return Poll::Ready(refused);
                    }
                }
                // What it was granted goes to the next caller.
                _ if !self.has_room(key, &room) => self.due.push_back(key),
                _ if !self.first_may_go(key, now) => self.idle.push_back(key),
                waited => {
                    let grant = if let Waited::Over(grant) = waited { grant } else { None };
                    if let Some((item, _)) = self.take_first(key) {
                        return Poll::Ready(Called::Go(item, grant));
                    }
                }
            }
        }
    }

    /// The first of those that come again as soon as there is room.
    fn due_with(&mut self, room: &impl Fn(Line) -> bool) -> Option<Key> {
        let at = self.due.iter().position(|key| self.has_room(*key, room))?;
        self.due.remove(at)
    }

    fn has_room(&self, key: Key, room: &impl Fn(Line) -> bool) -> bool {
        let first = self.by.get(&key).and_then(|hold| hold.items.values().next());
        first.is_none_or(|item| room(item.line))
    }

    /// Others may have come before the one that waited.
    fn first_may_go(&self, key: Key, now: Monotonic) -> bool {
        let first = self.by.get(&key).and_then(|hold| hold.items.values().next());
        first.is_none_or(|item| item.not_before <= now)
    }

    /// Takes a place for the first of those that are held together.
    fn wait(&mut self, key: Key, budget: &Limits, now: Monotonic) -> Option<Called<T>> {
        let hold = self.by.get_mut(&key).filter(|hold| hold.wait.is_none())?;
        let item = hold.items.values_mut().next()?;
        let deadline = item.history.wait_limit(budget, now).deadline();
        let wait = match &hold.gate {
            None => Wait::until(jittered(item.not_before, fastrand::f64(), deadline, now)),
            Some(gate) => {
                let ask = Ask {
                    entered: item.entered,
                    deadline,
                    waited: true,
                    priority: item.nature.priority,
                    grant: None,
                };
                let at = (item.not_before, fastrand::f64());
                let (place, news) = gate.place(&ask, at, hold.refused_at.take(), now);
                events::emit(gate, &news);
                match (place, key) {
                    (Ok(place), Key::Gate(_)) => Wait::at_gate(place),
                    (Ok(place), Key::Alone(_)) => Wait::recorded_in(place),
                    (Err(refusal), _) => {
                        let gate = Arc::clone(gate);
                        return self.refused(key, &gate, &refusal);
                    }
                }
            }
        };
        self.waited = self.waited.wrapping_add(1);
        hold.wait = Some(self.waited);
        self.waits.push(Waiting { key, number: self.waited, wait });
        None
    }

    /// The first is not waited for any longer; what is behind it is asked about anew.
    fn refused(&mut self, key: Key, gate: &Arc<Gate>, refusal: &Refusal) -> Option<Called<T>> {
        let (item, why) = self.take_first(key)?;
        let why = match key {
            Key::Gate(_) => Why::turned_away(gate, refusal),
            // The waiting room is no family.
            Key::Alone(_) if refusal.cause == RefusalCause::ShuttingDown => {
                Why { reason: Why::turned_away(gate, refusal).reason, ..why }
            }
            Key::Alone(_) => why,
        };
        Some(Called::Refused(item, why))
    }

    fn take_first(&mut self, key: Key) -> Option<(Item<T>, Why)> {
        let hold = self.by.get_mut(&key)?;
        let (_, item) = hold.items.pop_first()?;
        let why = hold.why.clone();
        self.len = self.len.saturating_sub(1);
        if hold.items.is_empty() {
            self.by.remove(&key);
        } else {
            self.idle.push_back(key);
        }
        Some((item, why))
    }

    /// Lets go of all that is held for `gate`.
    pub(super) fn take_all_of(&mut self, gate: &Arc<Gate>) -> impl Iterator<Item = Item<T>> + use<T> {
        let hold = self.by.remove(&Self::key_of(gate));
        let items = hold.map(|hold| hold.items).unwrap_or_default();
        self.len = self.len.saturating_sub(items.len());
        items.into_values()
    }

    /// Lets go of everything.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = (Item<T>, Why)> + use<T> {
        let all = std::mem::replace(self, Self::new());
        all.by.into_values().flat_map(|hold| {
            let why = hold.why;
            hold.items.into_values().map(move |item| (item, why.clone()))
        })
    }
}
