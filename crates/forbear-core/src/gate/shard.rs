//! What one thread counted of one gate: the happy path writes here and nowhere else.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use crate::living::Id;
use crate::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use crate::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use crate::sync::of_each_thread;
use crate::time::Monotonic;

use super::engine::GATES;
use super::tally::Tally;

/// One thread's counts of one gate. Only the owning thread writes; plain loads and stores.
#[derive(Debug, Default)]
pub(super) struct Shard {
    owned: AtomicBool,
    /// The epoch and generation that the four counts below belong to.
    age: AtomicU64,
    /// Attempts of all generations: never goes back.
    sent: AtomicU64,
    /// How many of them were sent in generations before.
    earlier: AtomicU64,
    good: AtomicU32,
    neutral: AtomicU32,
    /// When the first of them was sent; zero before it.
    first: AtomicU64,
    /// Moving averages in nanoseconds, and how many answers they saw since the gate last took them over.
    mean: AtomicU64,
    deviation: AtomicU64,
    samples: AtomicU32,
    tally: Tally,
}

/// What a generation has done so far, over all threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Served {
    pub(super) sent: u64,
    pub(super) good: u64,
    pub(super) neutral: u64,
    pub(super) first: Option<Monotonic>,
    pub(super) ten_seconds: u64,
    pub(super) minute: u64,
    /// Attempts of all generations.
    pub(super) total: u64,
}

of_each_thread! {
    static MINE: RefCell<Mine> = RefCell::new(Mine(Vec::new()));
}

/// This thread's shards, by the place of their gate.
struct Mine(Vec<Option<(u32, Arc<Shard>)>>);

impl Drop for Mine {
    fn drop(&mut self) {
        for (_, shard) in self.0.drain(..).flatten() {
            // Whoever takes it over sees what was counted.
            shard.owned.store(false, Release);
        }
    }
}

/// Runs `with` on this thread's shard of a gate, made by `adopt` where the thread has none yet.
/// `None` while the thread is being torn down.
#[inline]
pub(super) fn mine<T>(
    id: Id,
    adopt: impl FnOnce() -> Option<Arc<Shard>>,
    with: impl FnOnce(&Shard) -> T,
) -> Option<T> {
    MINE.try_with(|mine| {
        let mut mine = mine.try_borrow_mut().ok()?;
        let place = id.place as usize;
        if let Some(Some((tag, shard))) = mine.0.get(place)
            && *tag == id.tag
        {
            return Some(with(shard));
        }
        let shard = adopt()?;
        let answer = with(&shard);
        if mine.0.len() <= place {
            mine.0.resize(place.saturating_add(1), None);
        }
        if let Some(slot) = mine.0.get_mut(place) {
            *slot = Some((id.tag, shard));
        }
        Some(answer)
    })
    .ok()
    .flatten()
}

/// Counts the answer to an attempt that an open gate let through: nothing shared is touched.
#[inline]
pub(super) fn answered(id: Id, age: u64, good: bool, took: Option<Duration>) {
    let adopt = || GATES.find(id).map(|gate| gate.adopt_shard());
    let _ = mine(id, adopt, |shard| {
        if shard.enter(age) {
            let count = if good { &shard.good } else { &shard.neutral };
            count.store(count.load(Relaxed).saturating_add(1), Relaxed);
        }
        if let Some(took) = took.filter(|_| good) {
            shard.answered_in(took);
        }
    });
}

impl Shard {
    /// A shard that nobody owns, for the calling thread.
    pub(super) fn take(&self) -> bool {
        self.owned.compare_exchange(false, true, Acquire, Relaxed).is_ok()
    }

    /// Turns to the generation of this age where it is newer; false where it is older than what is counted here.
    #[inline]
    fn enter(&self, age: u64) -> bool {
        let counted = self.age.load(Relaxed);
        if counted < age {
            self.earlier.store(self.sent.load(Relaxed), Relaxed);
            self.first.store(0, Relaxed);
            for count in [&self.good, &self.neutral] {
                count.store(0, Relaxed);
            }
            // Whoever sees the new age sees none of the old counts.
            self.age.store(age, Release);
        }
        counted <= age
    }

    /// Counts one attempt of the generation of this age, and says how many this thread counted before it.
    #[inline]
    pub(super) fn sent(&self, age: u64, now: Monotonic) -> u32 {
        self.tally.count(now);
        let sent = self.sent.load(Relaxed);
        let before = if self.enter(age) {
            let before = sent.saturating_sub(self.earlier.load(Relaxed));
            if before == 0 {
                self.first.store(now.as_nanos().max(1), Relaxed);
            }
            before
        } else {
            self.earlier.store(self.earlier.load(Relaxed).saturating_add(1), Relaxed);
            0
        };
        self.sent.store(sent.saturating_add(1), Relaxed);
        u32::try_from(before).unwrap_or(u32::MAX)
    }

    pub(super) fn answered_in(&self, took: Duration) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let samples = self.samples.load(Relaxed);
        let (mean, deviation) = if samples == 0 {
            (took, 0)
        } else {
            let (mean, deviation) = (self.mean.load(Relaxed), self.deviation.load(Relaxed));
            (toward(mean, took, 3), toward(deviation, took.abs_diff(mean), 2))
        };
        self.mean.store(mean, Relaxed);
        self.deviation.store(deviation, Relaxed);
        // Whoever sees that there is one sees what was measured.
        self.samples.store(samples.saturating_add(1), Release);
    }

    /// Hands over the moving averages and begins new ones.
    pub(super) fn take_times(&self) -> (Duration, Duration, u32) {
        let samples = self.samples.load(Acquire);
        let (mean, deviation) = (self.mean.load(Relaxed), self.deviation.load(Relaxed));
        self.samples.store(0, Relaxed);
        (Duration::from_nanos(mean), Duration::from_nanos(deviation), samples)
    }

    /// Adds what this thread did of the generation of this age to `served`.
    pub(super) fn add_to(&self, served: &mut Served, age: u64, now: Monotonic) {
        let total = self.sent.load(Relaxed);
        served.total = served.total.saturating_add(total);
        if self.age.load(Acquire) != age {
            return;
        }
        served.sent = served.sent.saturating_add(self.of_this_generation());
        served.good = served.good.saturating_add(self.good.load(Relaxed).into());
        served.neutral = served.neutral.saturating_add(self.neutral.load(Relaxed).into());
        let first = self.first.load(Relaxed);
        if first > 0 {
            let first = Monotonic::from_nanos(first);
            served.first = Some(served.first.map_or(first, |other| other.min(first)));
        }
        let (ten_seconds, minute) = self.tally.recent(now);
        served.ten_seconds = served.ten_seconds.saturating_add(ten_seconds);
        served.minute = served.minute.saturating_add(minute);
    }

    /// How many attempts of the generation of this age this thread sent clearly before `sent`.
    pub(super) fn sent_before(&self, age: u64, sent: Monotonic) -> u64 {
        if self.age.load(Acquire) != age {
            return 0;
        }
        self.of_this_generation().saturating_sub(self.tally.not_before(sent))
    }

    fn of_this_generation(&self) -> u64 {
        self.sent.load(Relaxed).saturating_sub(self.earlier.load(Relaxed))
    }
}

/// `from`, moved by 1/2^`shift` of the way to `to`.
fn toward(from: u64, to: u64, shift: u32) -> u64 {
    if to >= from {
        from.saturating_add((to.abs_diff(from)) >> shift)
    } else {
        from.saturating_sub(to.abs_diff(from) >> shift)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::gate::{Gate, GateSettings};

    /// Threads that come and go leave as many shards as there were at once.
    #[test]
    fn a_shard_has_one_thread_at_a_time_and_is_left_to_the_next() {
        let gate = Gate::new("vendor", Arc::new(GateSettings::registered()));
        let counts = || assert!(gate.admit_open(Monotonic::from_nanos(1)).is_some());
        for _ in 0..3 {
            thread::scope(|scope| scope.spawn(counts).join().unwrap());
        }
        let left = gate.adopt_shard();
        assert_eq!(left.sent.load(Relaxed), 3);
        let other = gate.adopt_shard();
        assert!(!Arc::ptr_eq(&left, &other));
        assert_eq!(other.sent.load(Relaxed), 0);
    }
}
