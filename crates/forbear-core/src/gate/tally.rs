use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use std::time::Duration;

use crate::time::Monotonic;

/// How far back attempts are told apart by the tenth of a second.
pub(super) const REACH: Duration = Duration::from_secs(10);

const TENTH: u64 = 100_000_000;
const SECOND: u64 = 1_000_000_000;

/// Attempts by the time they were sent: cells of 100 ms for the last ten seconds, of 1 s for the last minute.
///
/// One thread writes, others may read: plain loads and stores, no read-modify-write.
#[derive(Debug)]
pub(super) struct Tally {
    fine: [AtomicU64; 128],
    coarse: [AtomicU64; 64],
}

impl Default for Tally {
    fn default() -> Self {
        Self { fine: [const { AtomicU64::new(0) }; 128], coarse: [const { AtomicU64::new(0) }; 64] }
    }
}

impl Tally {
    /// Counts one attempt sent at `now`.
    #[inline]
    pub(super) fn count(&self, now: Monotonic) {
        bump(&self.fine, now.as_nanos() / TENTH);
        bump(&self.coarse, now.as_nanos() / SECOND);
    }

    /// Attempts sent in the last ten seconds and in the last minute.
    pub(super) fn recent(&self, now: Monotonic) -> (u64, u64) {
        let (fine, coarse) = (now.as_nanos() / TENTH, now.as_nanos() / SECOND);
        (
            sum(&self.fine, |span| span <= fine && span > fine.saturating_sub(100)),
            sum(&self.coarse, |span| span <= coarse && span > coarse.saturating_sub(60)),
        )
    }

    /// Attempts sent in the cell of `sent` or later: what cannot be told apart from what was sent at the same time.
    pub(super) fn not_before(&self, sent: Monotonic) -> u64 {
        let first = sent.as_nanos() / TENTH;
        sum(&self.fine, |span| span >= first)
    }
}

/// A cell holds the number of its span in the high 40 bits and the count in the low 24.
#[inline]
fn bump(cells: &[AtomicU64], span: u64) {
    let at = usize::try_from(span).unwrap_or(usize::MAX) & cells.len().saturating_sub(1);
    if let Some(slot) = cells.get(at) {
        let cell = slot.load(Relaxed);
        let counted = if cell >> 24 == span { cell & 0xff_ffff } else { 0 };
        slot.store(span << 24 | counted.saturating_add(1).min(0xff_ffff), Relaxed);
    }
}

fn sum(cells: &[AtomicU64], within: impl Fn(u64) -> bool) -> u64 {
    let cells = cells.iter().map(|slot| slot.load(Relaxed));
    cells.filter(|cell| within(cell >> 24)).map(|cell| cell & 0xff_ffff).fold(0, u64::saturating_add)
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
}
