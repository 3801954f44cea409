//! At most N in any span of length W: an exact log of what was sent.

use std::collections::VecDeque;
use std::time::Duration;

use crate::time::Monotonic;

/// Up to this limit every attempt is an entry of its own; beyond, those of one 1,024th of the span are one.
const EXACT: u64 = 1024;
/// So many are remembered without a look at which of them have left.
const CELLS: usize = 1024;

/// The attempts of one span. What is sent at t leaves it after t + W: vendors differ in whether both ends of a span belong
/// to it, so here both do.
#[derive(Debug)]
pub(super) struct Window {
    /// How much fits.
    pub(super) most: u64,
    /// W, with the margin.
    pub(super) per: Duration,
    /// After so many nanoseconds what was sent has left.
    span: u64,
    /// The length of a cell: 1 ns where each attempt has its own.
    grain: u64,
    /// Where the last cell ends: what is sent from then on is of another.
    cell_ends: u64,
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
        let span = nanos.saturating_add(1);
        let grain = if most <= EXACT { 1 } else { nanos.div_ceil(EXACT).max(1) };
        Self { most, per, span, grain, cell_ends: 0, cells: VecDeque::new(), used: 0, since }
    }

    /// The same limits over what another window knows at `now`.
    pub(super) fn inherit(mut self, from: &Self, now: Monotonic) -> Self {
        self.since = from.since.max(now.before(from.per));
        for cell in &from.cells {
            self.book(cell.cost, cell.latest);
        }
        self
    }

    fn leaves(&self, cell: Cell) -> Monotonic {
        later(cell.latest, self.span, 1)
    }

    /// Lets go what has left at `now`.
    pub(super) fn advance(&mut self, now: Monotonic) {
        let Some(before) = now.as_nanos().checked_sub(self.span).map(Monotonic::from_nanos) else { return };
        let (mut gone, mut cost) = (0_usize, 0_u64);
        let (first, second) = self.cells.as_slices();
        for cell in first.iter().chain(second).take_while(|cell| cell.latest <= before) {
            gone = gone.wrapping_add(1);
            cost = cost.wrapping_add(cell.cost);
        }
        if gone > 0 {
            drop(self.cells.drain(..gone));
            self.used = self.used.saturating_sub(cost);
        }
    }

    /// How much more fits, beside what is held back for later.
    pub(super) fn left(&self, held: u64) -> u64 {
        self.most.saturating_sub(self.used.saturating_add(held))
    }

    /// Notes what is sent at `now`, which is never before what was noted last.
    #[inline]
    pub(super) fn book(&mut self, cost: u64, now: Monotonic) {
        if cost == 0 {
            return;
        }
        self.used = self.used.saturating_add(cost);
        if self.grain > 1 {
            if now.as_nanos() < self.cell_ends
                && let Some(last) = self.cells.back_mut()
            {
                last.latest = now;
                last.cost = last.cost.saturating_add(cost);
                return;
            }
            self.cell_ends = self.cell_of(now).map_or(0, |begins| begins.saturating_add(self.grain));
            // Where the limit is far away, nobody else looks what has left.
            if self.cells.len() > CELLS {
                self.advance(now);
            }
        }
        self.cells.push_back(Cell { latest: now, cost });
    }

    /// When the cell begins that `now` lies in.
    fn cell_of(&self, now: Monotonic) -> Option<u64> {
        now.as_nanos().checked_div(self.grain)?.checked_mul(self.grain)
    }

    /// What was noted at `sent` was not sent after all.
    pub(super) fn give_back(&mut self, cost: u64, sent: Monotonic, now: Monotonic) {
        self.advance(now);
        if sent < self.since || self.leaves(Cell { latest: sent, cost }) <= now {
            return;
        }
        let at = self.cells.partition_point(|cell| cell.latest < sent);
        let (mut due, mut whose) = (cost, None);
        // Where several went at the same moment, it does not matter whose entry is whose.
        while due > 0
            && let Some(cell) = self.cells.get_mut(at)
            && *whose.get_or_insert(cell.latest) == cell.latest
        {
            let given = cell.cost.min(due);
            due = due.saturating_sub(given);
            cell.cost = cell.cost.saturating_sub(given);
            self.used = self.used.saturating_sub(given);
            if cell.cost == 0 {
                self.cells.remove(at);
                self.cell_ends = 0;
            }
        }
    }

    /// When the last of `cost` units has been sent at the earliest, where units are sent from `now` on and each as soon as it
    /// fits. A lower bound: what is held back counts as sent now, and a cost may go in parts.
    pub(super) fn earliest(&self, cost: u64, held: u64, now: Monotonic) -> Monotonic {
        let (rounds, last) = self.rounds(cost);
        // Each round begins just after the one before has left.
        later(self.slot(last, held, now), self.span, rounds)
    }

    /// The same, but never earlier than that, and found without a look at what was sent.
    pub(super) fn latest(&self, cost: u64, now: Monotonic) -> Monotonic {
        later(now, self.span, self.rounds(cost).0.saturating_add(1))
    }

    /// How often the whole window must pass before the last of `cost` units, and how many are of the last round.
    fn rounds(&self, cost: u64) -> (u64, u64) {
        let before = cost.saturating_sub(1);
        let rounds = before.checked_div(self.most).unwrap_or(0);
        (rounds, before.checked_rem(self.most).unwrap_or(0).saturating_add(1))
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
        if lacking == 0 { slot } else { later(now, self.span, 1) }
    }

    /// Whether nothing is in it at `now`.
    pub(super) fn is_empty(&self, now: Monotonic) -> bool {
        self.cells.back().is_none_or(|cell| self.leaves(*cell) <= now)
    }
}

/// `rounds` times `span` nanoseconds after `at`.
#[inline]
fn later(at: Monotonic, span: u64, rounds: u64) -> Monotonic {
    Monotonic::from_nanos(at.as_nanos().saturating_add(span.saturating_mul(rounds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Monotonic {
        Monotonic::from_nanos(nanos)
    }

    fn window(most: u32, per: u64) -> Window {
        Window::new(most, Duration::from_nanos(per), Monotonic::ORIGIN)
    }

    #[test]
    fn both_ends_belong_to_a_span() {
        let mut window = window(1, 1000);
        window.book(1, at(5));
        window.advance(at(1005));
        assert_eq!(window.left(0), 0);
        assert_eq!(window.slot(1, 0, at(1005)), at(1006));
        window.advance(at(1006));
        assert!(window.left(0) == 1 && window.is_empty(at(1006)));
    }

    /// However large a limit is, so much is remembered, and no attempt leaves early.
    #[test]
    fn memory_is_bounded_and_nothing_leaves_early() {
        let mut window = window(1_000_000, 1_024_000);
        let mut most = 0;
        for nanos in (0..10_000_000).step_by(7) {
            window.advance(at(nanos));
            window.book(1, at(nanos));
            most = most.max(window.cells.len());
            let exact = nanos.min(1_024_000) / 7 + 1;
            assert!(window.used >= exact && window.used <= exact + 1000 / 7 + 1, "{nanos}: {}", window.used);
        }
        assert!((1024..=1026).contains(&most), "{most}");
    }

    /// Also where it is never near, so that nobody looks.
    #[test]
    fn memory_is_bounded_without_a_look() {
        let mut window = window(u32::MAX, 1_024_000);
        for nanos in (0..100_000_000).step_by(500) {
            window.book(1, at(nanos));
            assert!(window.cells.len() <= 1026, "{}", window.cells.len());
        }
        assert!(window.cells.capacity() <= 2048 && window.used >= 2048, "{}", window.used);
    }

    /// A clock that stands still: each gives back what it cost, whichever was noted first.
    #[test]
    fn what_went_at_once_is_given_back_in_any_order() {
        let mut window = window(10, 1000);
        for cost in [3, 5, 1] {
            window.book(cost, at(7));
        }
        window.give_back(5, at(7), at(8));
        assert_eq!((window.used, window.left(0)), (4, 6));
        window.give_back(3, at(7), at(8));
        window.give_back(1, at(7), at(8));
        assert_eq!((window.used, window.cells.len()), (0, 0));
    }

    #[test]
    fn what_is_given_back_is_taken_from_its_own_entry() {
        let mut window = window(10, 1000);
        for (nanos, cost) in [(0, 3), (10, 4), (20, 2)] {
            window.book(cost, at(nanos));
        }
        window.give_back(4, at(10), at(30));
        assert_eq!((window.used, window.slot(8, 0, at(30))), (5, at(1001)));
        // Left already, or never known.
        window.give_back(3, at(0), at(1001));
        assert_eq!(window.used, 2);
        window.since = at(2000);
        window.give_back(2, at(20), at(1002));
        assert_eq!(window.used, 2);
    }

    #[test]
    fn what_went_when_the_window_began_is_in_it() {
        let mut window = Window::new(2, Duration::from_nanos(1000), at(5));
        window.book(1, at(5));
        window.give_back(1, at(5), at(6));
        assert_eq!(window.used, 0);
    }

    #[test]
    fn the_wait_for_what_is_ahead_is_known() {
        let mut window = window(2, 1000);
        assert_eq!(window.earliest(2, 0, at(100)), at(100));
        window.book(1, at(0));
        window.book(1, at(100));
        let earliest = [1, 2, 3, 4, 5].map(|cost| window.earliest(cost, 0, at(100)).as_nanos());
        assert_eq!(earliest, [1001, 1101, 2002, 2102, 3003]);
        for cost in 1..20 {
            assert!(window.earliest(cost, 0, at(100)) <= window.latest(cost, at(100)));
        }
    }
}
