use std::collections::BTreeMap;
use std::task::Waker;

use crate::time::Monotonic;

use super::ask::{Ask, Priority};
use super::decision::Refusal;

/// The order in which callers are served: interactive first, then as the logical requests entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) priority: Priority,
    pub(super) entered: Monotonic,
    pub(super) number: u64,
}

/// One caller that waits.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) ask: Ask,
    /// It was told to wait until then, whatever the family does.
    pub(super) not_before: Monotonic,
    /// Its draw of jitter, in 0..1.
    pub(super) jitter: f64,
    /// The deadline of the cool-down that `due` was computed for.
    pub(super) cooldown: Monotonic,
    /// When it asks again if nothing wakes it.
    pub(super) due: Monotonic,
    /// Where the gate already decided against it.
    pub(super) refusal: Option<Refusal>,
    pub(super) waker: Option<Waker>,
    /// When its timer fires, as it was told when it looked last.
    pub(super) looks_at: Monotonic,
    /// Since when it is known to be woken without having looked.
    pub(super) called: Option<Monotonic>,
}

/// Callers that wait for one gate. `ready` ones may be served as soon as the gate lets anybody through; `asleep` ones
/// were told a time that has not come.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) ready: BTreeMap<Key, Waiter>,
    pub(super) asleep: BTreeMap<Key, Waiter>,
}

impl Queue {
    pub(super) fn len(&self) -> usize {
        self.ready.len().saturating_add(self.asleep.len())
    }

    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut Waiter> {
        match self.ready.get_mut(&key) {
            Some(waiter) => Some(waiter),
            None => self.asleep.get_mut(&key),
        }
    }

    pub(super) fn remove(&mut self, key: Key) -> Option<Waiter> {
        self.ready.remove(&key).or_else(|| self.asleep.remove(&key))
    }

    /// Its time has come: from now on it may be served.
    pub(super) fn rouse(&mut self, key: Key) {
        if let Some(waiter) = self.asleep.remove(&key) {
            self.ready.insert(key, waiter);
        }
    }

    /// It is not served until it looks again.
    pub(super) fn lull(&mut self, key: Key, now: Monotonic) {
        if let Some(mut waiter) = self.ready.remove(&key) {
            waiter.due = now;
            self.asleep.insert(key, waiter);
        }
    }

    /// The caller that is served next.
    pub(super) fn leader(&self) -> Option<Key> {
        self.ready.keys().next().copied()
    }

    /// How many ready callers are served before one of this order.
    pub(super) fn ahead_of(&self, key: Key) -> usize {
        match self.ready.keys().next_back() {
            Some(last) if *last < key => self.ready.len(),
            _ => self.ready.range(..key).count(),
        }
    }

    /// How many ready callers are served before this one, counted up to `most`.
    pub(super) fn ahead_at_most(&self, key: Key, most: usize) -> u32 {
        let ahead = self.ready.range(..key).take(most).count();
        u32::try_from(ahead).unwrap_or(u32::MAX)
    }

    /// Whether somebody interactive may be served now.
    pub(super) fn interactive_is_ready(&self) -> bool {
        self.leader().is_some_and(|key| key.priority == Priority::Interactive)
    }

    /// A good verdict: whoever slept for the cool-down alone may be served.
    pub(super) fn rouse_all(&mut self, now: Monotonic) {
        let (mut ready, asleep) =
            std::mem::take(&mut self.asleep).into_iter().partition(|(_, waiter)| waiter.not_before <= now);
        self.asleep = asleep;
        self.ready.append(&mut ready);
    }

    /// A strike: everybody waits for the new cool-down.
    pub(super) fn lull_all(&mut self) {
        self.asleep.append(&mut self.ready);
    }

    /// Takes the wakers of all that `concerns`, so that each decides again. They have been called since `now`: where
    /// many do nothing, the line passes over all of them at once.
    pub(super) fn take_wakers(
        &mut self,
        into: &mut Vec<Waker>,
        now: Monotonic,
        concerns: impl Fn(&Waiter) -> bool,
    ) {
        let all = self.ready.values_mut().chain(self.asleep.values_mut());
        into.extend(all.filter(|waiter| concerns(waiter)).filter_map(|waiter| {
            let waker = waiter.waker.take()?;
            let _ = waiter.called.get_or_insert(now);
            Some(waker)
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u64) -> Key {
        Key { priority: Priority::Interactive, entered: Monotonic::ORIGIN, number }
    }

    #[test]
    fn a_place_is_counted_from_the_front_without_oneself() {
        let now = Monotonic::ORIGIN;
        let mut queue = Queue::default();
        for number in [1, 2, 4] {
            let waiter = Waiter {
                ask: Ask::new(now),
                not_before: now,
                jitter: 0.0,
                cooldown: now,
                due: now,
                refusal: None,
                waker: None,
                looks_at: now,
                called: None,
            };
            queue.ready.insert(key(number), waiter);
        }
        let ahead = |number| queue.ahead_of(key(number));
        assert_eq!([1, 2, 3, 4, 5].map(ahead), [0, 1, 2, 2, 3]);
        let at_most = |number| queue.ahead_at_most(key(number), 2);
        assert_eq!([1, 2, 3, 4, 5].map(at_most), [0, 1, 2, 2, 2]);
    }
}
