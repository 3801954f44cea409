//! Turns between callers: start-time fair queueing.
//!
//! Each caller's attempts are a flow, first come first served within it. A flow has a start tag: what it was served so far, in
//! cost, or where everybody stands, whichever is more. The flow with the lowest goes next, and its tag grows by what that cost.
//! Everybody stands just behind the last one served, so that callers who are new all the time cannot keep an old one
//! waiting. (P. Goyal, H. M. Vin, H. Cheng: Start-time Fair Queueing, SIGCOMM 1996; there everybody stands where the last one
//! began.)

use std::collections::BTreeMap;

use hashbrown::HashMap;

use crate::sync::RandomState;

use super::entry::{Caller, Entry};
use super::line::Waiter;
use super::tag::Tag;

/// So many flows that wait for nothing are remembered at most, beside one for each that does.
const REMEMBERED: usize = 1024;

/// A flow: a caller that names itself, or all that do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct FlowId(Option<Caller>);

impl FlowId {
    pub(super) const fn of(entry: &Entry) -> Self {
        Self(entry.caller)
    }
}

#[derive(Debug, Default)]
struct Flow {
    waiters: BTreeMap<Tag, Waiter>,
    start: u64,
    /// What its waiters cost together.
    cost: u64,
}

impl Flow {
    fn head(&self) -> Option<(Tag, Tag)> {
        self.waiters.keys().next().map(|number| (Tag(self.start), *number))
    }
}

/// The flows that have somebody waiting, and those that were served ahead of the others.
#[derive(Debug, Default)]
pub(super) struct Flows {
    by_id: HashMap<FlowId, Flow, RandomState>,
    /// The first of each flow, by start tag and number.
    heads: BTreeMap<(Tag, Tag), FlowId>,
    /// Where everybody stands.
    stand: u64,
}

impl Flows {
    /// The one that goes next.
    pub(super) fn leader(&self) -> Option<(FlowId, Tag)> {
        self.heads.iter().next().map(|((_, number), flow)| (*flow, *number))
    }

    /// How many wait in this flow, and what they cost together.
    pub(super) fn ahead_in(&self, id: FlowId) -> (usize, u64) {
        self.by_id.get(&id).map_or((0, 0), |flow| (flow.waiters.len(), flow.cost))
    }

    /// Roughly how many go before this one, counted up to `most` in its own flow, and as many before that flow.
    pub(super) fn ahead_at_most(&self, id: FlowId, number: Tag, most: usize) -> usize {
        let Some(flow) = self.by_id.get(&id) else { return 0 };
        let own = flow.waiters.range(..number).take(most).count();
        let before = flow.head().map_or(0, |head| self.heads.range(..head).take(most).count());
        own.saturating_add(before)
    }

    pub(super) fn get_mut(&mut self, id: FlowId, number: Tag) -> Option<&mut Waiter> {
        self.by_id.get_mut(&id)?.waiters.get_mut(&number)
    }

    pub(super) fn insert(&mut self, id: FlowId, number: Tag, waiter: Waiter) {
        let stand = self.stand;
        let flow = self.by_id.entry(id).or_default();
        if let Some(head) = flow.head() {
            self.heads.remove(&head);
        } else {
            flow.start = flow.start.max(stand);
        }
        flow.cost = flow.cost.saturating_add(waiter.entry.cost.into());
        flow.waiters.insert(number, waiter);
        if let Some(head) = flow.head() {
            self.heads.insert(head, id);
        }
    }

    /// Takes out one that leaves; what was `served` counts for its flow.
    pub(super) fn remove(&mut self, id: FlowId, number: Tag, served: bool) -> Option<Waiter> {
        let flow = self.by_id.get_mut(&id)?;
        let head = flow.head()?;
        let waiter = flow.waiters.remove(&number)?;
        self.heads.remove(&head);
        flow.cost = flow.cost.saturating_sub(waiter.entry.cost.into());
        if served {
            self.stand = self.stand.max(flow.start.saturating_add(1));
            // What costs nothing takes a turn as well.
            flow.start = flow.start.saturating_add(waiter.entry.cost.max(1).into());
        }
        match flow.head() {
            Some(head) => drop(self.heads.insert(head, id)),
            None => self.rest(id),
        }
        Some(waiter)
    }

    /// Nobody waits in a flow any more. It is forgotten, but where it was served ahead of where everybody stands.
    fn rest(&mut self, id: FlowId) {
        if self.heads.is_empty() {
            *self = Self::default();
            return;
        }
        if self.by_id.get(&id).is_some_and(|flow| flow.start <= self.stand) {
            self.by_id.remove(&id);
        }
        let resting = self.by_id.len().saturating_sub(self.heads.len());
        if resting > REMEMBERED.max(self.heads.len()) {
            let stand = self.stand;
            self.by_id.retain(|_, flow| !flow.waiters.is_empty() || flow.start > stand);
            if self.by_id.len().saturating_sub(self.heads.len()) > REMEMBERED {
                self.by_id.retain(|_, flow| !flow.waiters.is_empty());
            }
        }
    }

    pub(super) fn waiters(&mut self) -> impl Iterator<Item = &mut Waiter> {
        self.by_id.values_mut().flat_map(|flow| flow.waiters.values_mut())
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "tests")]
mod tests {
    use super::*;
    use crate::time::Monotonic;

    /// Flows, and how many have come.
    #[derive(Default)]
    struct Came(Flows, u64);

    impl Came {
        /// One of each of these callers comes.
        fn come(&mut self, callers: std::ops::Range<u64>, cost: u32) -> Vec<(FlowId, Tag)> {
            let one = |caller: u64| {
                let entry = Entry::new().caller(Caller::of(caller.to_le_bytes())).cost(cost);
                self.1 += 1;
                let (id, number) = (FlowId::of(&entry), Tag(self.1));
                let waiter = Waiter { entry, waker: None, looks_at: Monotonic::ORIGIN, called: None };
                self.0.insert(id, number, waiter);
                (id, number)
            };
            callers.map(one).collect()
        }

        fn serve(&mut self, waiting: Vec<(FlowId, Tag)>) {
            waiting.into_iter().for_each(|(id, number)| assert!(self.0.remove(id, number, true).is_some()));
        }

        fn resting(&self) -> usize {
            self.0.by_id.len() - self.0.heads.len()
        }
    }

    #[test]
    fn callers_that_rest_are_remembered_while_they_are_ahead_and_up_to_a_bound() {
        let mut came = Came::default();
        let waits = came.come(0..1, 1);
        let ahead = came.come(1..2001, 10);
        for (served, one) in ahead.into_iter().enumerate() {
            came.serve(vec![one]);
            // Beside as many as wait; then all at once.
            let most = REMEMBERED.max(came.0.heads.len());
            assert!(came.resting() <= most, "{served}: {}", came.resting());
            assert!(served >= 1000 || came.resting() == served + 1);
        }
        came.serve(waits);
        assert_eq!(came.0.by_id.len(), 0, "nobody waits, so nobody is ahead");
    }

    #[test]
    fn those_that_everybody_caught_up_with_make_room_first() {
        let mut came = Came::default();
        let _waits = came.come(0..1, 1);
        let (early, late) = (came.come(1..1001, 10), came.come(1001..1026, 40));
        came.serve(early);
        assert_eq!(came.resting(), 1000);
        // Another is served until everybody stands where the thousand are.
        for _ in 0..9 {
            let again = came.come(5000..5001, 1);
            came.serve(again);
        }
        assert_eq!((came.0.stand, came.resting()), (10, 1000));
        came.serve(late);
        assert_eq!(came.resting(), 25, "those that are still ahead");
    }
}
