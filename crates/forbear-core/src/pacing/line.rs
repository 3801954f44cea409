//! Those of one priority that wait, in the order in which they go.

use std::collections::BTreeMap;
use std::task::Waker;

use crate::time::Monotonic;

use super::entry::Entry;
use super::flows::{FlowId, Flows};
use super::tag::Tag;

/// One attempt that waits.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) entry: Entry,
    pub(super) waker: Option<Waker>,
    /// When its timer fires, as it was told when it looked last.
    pub(super) looks_at: Monotonic,
    /// Since when it is known to be woken without having looked.
    pub(super) called: Option<Monotonic>,
}

/// Whoever waits, by caller and arrival.
#[derive(Debug, Default)]
pub(super) struct Line {
    pub(super) flows: Flows,
    /// Those that were passed over, since they did not react: they go on waiting where they stood once they look again.
    pub(super) aside: BTreeMap<Tag, Waiter>,
    /// What all of `flows` cost together.
    pub(super) cost: u64,
    /// The least that any of them costs, or cost since the line was empty.
    pub(super) least: u32,
    /// How many wait in `flows`.
    pub(super) len: usize,
}

impl Line {
    pub(super) fn len(&self) -> usize {
        self.len.saturating_add(self.aside.len())
    }

    pub(super) fn insert(&mut self, number: Tag, waiter: Waiter) {
        let cost = waiter.entry.cost;
        self.least = if self.len == 0 { cost } else { self.least.min(cost) };
        self.len = self.len.saturating_add(1);
        self.cost = self.cost.saturating_add(cost.into());
        self.flows.insert(FlowId::of(&waiter.entry), number, waiter);
    }

    pub(super) fn get_mut(&mut self, flow: FlowId, number: Tag) -> Option<&mut Waiter> {
        match self.flows.get_mut(flow, number) {
            Some(waiter) => Some(waiter),
            None => self.aside.get_mut(&number),
        }
    }

    /// Takes out one that leaves, `served` or not.
    pub(super) fn remove(&mut self, flow: FlowId, number: Tag, served: bool) -> Option<Waiter> {
        let Some(waiter) = self.flows.remove(flow, number, served) else { return self.aside.remove(&number) };
        self.len = self.len.saturating_sub(1);
        self.cost = self.cost.saturating_sub(waiter.entry.cost.into());
        Some(waiter)
    }

    /// Passes over one that does not react.
    pub(super) fn set_aside(&mut self, flow: FlowId, number: Tag) {
        if let Some(waiter) = self.remove(flow, number, false) {
            self.aside.insert(number, waiter);
        }
    }

    /// One that was passed over looks again.
    pub(super) fn take_back(&mut self, number: Tag) {
        if let Some(waiter) = self.aside.remove(&number) {
            self.insert(number, waiter);
        }
    }

    pub(super) fn waiters(&mut self) -> impl Iterator<Item = &mut Waiter> {
        self.flows.waiters().chain(self.aside.values_mut())
    }
}
