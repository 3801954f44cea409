//! At most N in any span of length W: an exact log of what was sent.

use std::collections::VecDeque;
use std::time::Duration;

use crate::time::Monotonic;

/// Up to this limit every attempt is an entry of its own; beyond, those of one 1,024th of the span are one.
const EXACT: u64 = 1024;

/// The attempts of one span. What is sent at t leaves it after t + W: vendors differ in whether both ends of a span belong
/// to it, so here both do.
#[derive(Debug)]
pub(super) struct Window {
    /// How much fits.
    pub(super) most: u64,
    /// W, with the margin.
    pub(super) per: Duration,
    /// The length of a cell: 1 ns where each attempt has its own.
    grain: u64,
    cells: VecDeque<Cell>,
    /// What the cells cost together.
    used: u64,
    /// What was sent before is not in it.
    since: Monotonic,
}

/// Attempts that leave together, as the latest of them does: never early, and at most a 1,024th of the span late.
#[derive(Debug, Clone, Copy)]
struct Cell {
    latest: Monotonic,
    cost: u64,
}

impl Window {
    pub(super) fn new(most: u32, per: Duration, since: Monotonic) -> Self {
        let (most, nanos) = (u64::from(most), u64::try_from(per.as_nanos()).unwrap_or(u64::MAX));
        let grain = if most <= EXACT { 1 } else { nanos.div_ceil(EXACT).max(1) };
        Self { most, per, grain, cells: VecDeque::new(), used: 0, since }
    }

    /// The same limits over what another window knows.
    pub(super) fn inherit(mut self, from: &Self) -> Self {
        self.since = from.since;
        for cell in &from.cells {
            self.book(cell.cost, cell.latest);
        }
        self
    }

    fn leaves(&self, cell: Cell) -> Monotonic {
        Monotonic::from_nanos(cell.latest.after(self.per).as_nanos().saturating_add(1))
    }

    /// Lets go what has left at `now`.
    #[inline]
    pub(super) fn advance(&mut self, now: Monotonic) {
        while let Some(cell) = self.cells.front().copied().filter(|cell| self.leaves(*cell) <= now) {
            self.cells.pop_front();
            self.used = self.used.saturating_sub(cell.cost);
        }
    }

    /// Whether so much more fits, beside what is held back for later.
    #[inline]
    pub(super) fn fits(&self, cost: u64, held: u64) -> bool {
        self.used.saturating_add(held).saturating_add(cost) <= self.most
    }

    /// Notes what is sent at `now`, which is never before what was noted last.
    #[inline]
    pub(super) fn book(&mut self, cost: u64, now: Monotonic) {
        if cost == 0 {
            return;
        }
        self.used = self.used.saturating_add(cost);
        let grain = self.grain;
        let cell = |at: Monotonic| at.as_nanos().checked_div(grain);
        match self.cells.back_mut() {
            Some(last) if cell(last.latest) == cell(now) => {
                last.latest = now;
                last.cost = last.cost.saturating_add(cost);
            }
            _ => self.cells.push_back(Cell { latest: now, cost }),
        }
    }

    /// What was noted at `sent` was not sent after all.
    pub(super) fn give_back(&mut self, cost: u64, sent: Monotonic, now: Monotonic) {
        self.advance(now);
        if sent < self.since || self.leaves(Cell { latest: sent, cost }) <= now {
            return;
        }
        let at = self.cells.partition_point(|cell| cell.latest < sent);
        if let Some(cell) = self.cells.get_mut(at) {
            let given = cell.cost.min(cost);
            cell.cost = cell.cost.saturating_sub(given);
            self.used = self.used.saturating_sub(given);
            if cell.cost == 0 {
                self.cells.remove(at);
            }
        }
    }

    /// When the first `cost` units, of all that are sent from `now` on, have been sent at the earliest, where units go as
    /// soon as those before them leave, and from `from` on one each `gap`. A lower bound: what is held back counts as sent
    /// now, and a cost is taken to go in parts.
    pub(super) fn earliest(&self, cost: u64, held: u64, now: Monotonic) -> Monotonic {
        let unit = cost.saturating_sub(1);
        let (rounds, unit) =
            (unit.checked_div(self.most).unwrap_or(0), unit.checked_rem(self.most).unwrap_or(0));
        let later = u32::try_from(rounds).map_or(Monotonic::NEVER, |rounds| {
            self.slot(unit.saturating_add(1), held, now).after(self.per.saturating_mul(rounds))
        });
        // Each round begins just after the one before has left.
        Monotonic::from_nanos(later.as_nanos().saturating_add(rounds))
    }

    /// When there is room for `cost` units, no more than fit at all, if nothing is sent meanwhile.
    pub(super) fn slot(&self, cost: u64, held: u64, now: Monotonic) -> Monotonic {
        let mut lacking = self.used.saturating_add(held).saturating_add(cost).saturating_sub(self.most);
        let mut slot = now;
        for cell in &self.cells {
            if lacking == 0 {
                return slot;
            }
            lacking = lacking.saturating_sub(cell.cost);
            slot = self.leaves(*cell).max(now);
        }
        // What is left to find is held back: it leaves a whole span after it is sent, which is not before now.
        if lacking == 0 { slot } else { now.after(self.per) }
    }

    /// Whether nothing is in it at `now`.
    pub(super) fn is_empty(&self, now: Monotonic) -> bool {
        self.cells.back().is_none_or(|cell| self.leaves(*cell) <= now)
    }

    #[cfg(test)]
    pub(super) fn entries(&self) -> usize {
        self.cells.len()
    }

    #[cfg(test)]
    pub(super) fn used(&self) -> u64 {
        self.used
    }
}
