use std::array;
use std::time::Duration;

use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};
use crate::sync::fewer;
use crate::time::Monotonic;

/// How far back attempts are told apart by the tenth of a second.
pub(super) const REACH: Duration = Duration::from_secs(10);

const TENTH: u64 = 100_000_000;
const SECOND: u64 = 1_000_000_000;

const FINE: usize = fewer(128, 2);
const COARSE: usize = fewer(64, 1);

/// Attempts by the time they were sent: in cells of 100 ms, which are added to cells of 1 s when they are used again,
/// 12.8 s later. So the last ten seconds are always in the former, and the last minute in both together.
///
/// One thread writes, others may read: plain loads and stores, no read-modify-write.
#[derive(Debug)]
pub(super) struct Tally {
    fine: [AtomicU64; FINE],
    coarse: [AtomicU64; COARSE],
}

impl Default for Tally {
    fn default() -> Self {
        Self { fine: array::from_fn(|_| AtomicU64::new(0)), coarse: array::from_fn(|_| AtomicU64::new(0)) }
    }
}

impl Tally {
    /// Counts one attempt sent at `now`.
    #[inline]
    pub(super) fn count(&self, now: Monotonic) {
        let span = now.as_nanos() / TENTH;
        let Some(slot) = slot(&self.fine, span) else { return };
        let cell = slot.load(Relaxed);
        if cell >> COUNT_BITS != span {
            self.turn(slot, cell, span);
        } else if cell & COUNT < COUNT {
            slot.store(cell.wrapping_add(1), Relaxed);
        }
    }

    /// A cell is used again.
    #[cold]
    fn turn(&self, used: &AtomicU64, cell: u64, span: u64) {
        let (second, counted) = ((cell >> COUNT_BITS) / (SECOND / TENTH), cell & COUNT);
        if let Some(slot) = slot(&self.coarse, second) {
            let known = slot.load(Relaxed);
            // What lay there through a quiet time may be older than what its second's cell holds by now.
            if known >> COUNT_BITS <= second {
                let before = if known >> COUNT_BITS == second { known & COUNT } else { 0 };
                slot.store(second << COUNT_BITS | before.saturating_add(counted).min(COUNT), Relaxed);
            }
        }
        used.store(span << COUNT_BITS | 1, Relaxed);
    }

    /// Attempts sent in the last ten seconds and in the last minute.
    pub(super) fn recent(&self, now: Monotonic) -> (u64, u64) {
        let (tenth, second) = (now.as_nanos() / TENTH, now.as_nanos() / SECOND);
        let tenths = |most: u64| sum(&self.fine, |span| span <= tenth && span > tenth.saturating_sub(most));
        let older = sum(&self.coarse, |span| span <= second && span > second.saturating_sub(60));
        (tenths(100), tenths(600).saturating_add(older))
    }

    /// Attempts sent in the cell of `sent` or later: what cannot be told apart from what was sent at the same time.
    pub(super) fn not_before(&self, sent: Monotonic) -> u64 {
        let first = sent.as_nanos() / TENTH;
        sum(&self.fine, |span| span >= first)
    }
}

/// A cell holds the number of its span in the high 40 bits and the count in the low 24.
const COUNT_BITS: u32 = 24;
const COUNT: u64 = (1 << COUNT_BITS) - 1;

#[inline]
fn slot(cells: &[AtomicU64], span: u64) -> Option<&AtomicU64> {
    cells.get(usize::try_from(span).unwrap_or(usize::MAX) & cells.len().saturating_sub(1))
}

fn sum(cells: &[AtomicU64], within: impl Fn(u64) -> bool) -> u64 {
    let cells = cells.iter().map(|slot| slot.load(Relaxed));
    cells.filter(|cell| within(cell >> COUNT_BITS)).map(|cell| cell & COUNT).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_of_attempts_is_counted_and_older_ones_are_forgotten() {
        let tally = Tally::default();
        let start = Monotonic::from_nanos(1_000_000 * SECOND);
        for second in 0..200 {
            for _ in 0..3 {
                tally.count(start.after(Duration::from_secs(second)));
            }
        }
        let now = start.after(Duration::from_secs(199));
        assert_eq!(tally.recent(now), (30, 180));
        assert_eq!(tally.recent(now.after(Duration::from_secs(70))), (0, 0));
        assert_eq!(tally.not_before(now), 3);
        assert_eq!(tally.not_before(now.before(Duration::from_secs(1))), 6);
    }

    #[test]
    fn a_cell_that_is_full_stays_full() {
        let tally = Tally::default();
        let now = Monotonic::from_nanos(1_000_000 * SECOND);
        let span = now.as_nanos() / TENTH;
        slot(&tally.fine, span).unwrap().store(span << COUNT_BITS | (COUNT - 1), Relaxed);
        for _ in 0..3 {
            tally.count(now);
            assert_eq!(tally.recent(now), (COUNT, COUNT));
        }
    }

    #[test]
    fn the_last_minute_is_whole_whatever_the_pace_and_after_a_quiet_time() {
        for (gap, calls) in [(10, 10_000), (130, 2_000), (999, 300), (12_799, 20), (12_801, 20)] {
            let tally = Tally::default();
            let gap = Duration::from_millis(gap);
            let mut now = Monotonic::from_nanos(5_000_000 * SECOND);
            let mut sent = Vec::new();
            for call in 0..calls {
                // One pause of five minutes, in the middle.
                now = now.after(if call == calls / 2 { Duration::from_secs(300) } else { gap });
                tally.count(now);
                sent.push(now);
                let within = |span: u64| {
                    let from = now.before(Duration::from_secs(span));
                    sent.iter().rev().take_while(|at| **at > from).count()
                };
                let (ten, minute) = tally.recent(now);
                for (counted, exact, margin) in [(ten, within(10), 100), (minute, within(60), 1_000)] {
                    let most = u128::try_from(exact).unwrap();
                    let at_edge = margin / gap.as_millis() + 1;
                    assert!(u128::from(counted) <= most, "{gap:?} {call}: {counted} of {exact}");
                    assert!(u128::from(counted) + at_edge >= most, "{gap:?} {call}: {counted} of {exact}");
                }
            }
        }
    }
}
