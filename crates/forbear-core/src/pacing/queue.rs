//! Who goes next: interactive before background, which gets its share.

use std::task::Waker;

use crate::gate::Priority;
use crate::time::Monotonic;

use super::entry::Entry;
use super::flows::FlowId;
use super::line::{Line, Waiter};
use super::tag::Tag;

/// Where one that waits stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) priority: Priority,
    pub(super) flow: FlowId,
    /// By arrival at the queue.
    pub(super) number: Tag,
}

/// Attempts that wait.
#[derive(Debug)]
pub(super) struct Queue {
    interactive: Line,
    background: Line,
    /// The share of background attempts, in percent.
    share: u32,
    /// What is due to them, in hundredths of an attempt.
    due: u32,
    numbers: u64,
}

/// One attempt, in hundredths.
const WHOLE: u32 = 100;

/// What goes before an attempt that comes now, at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Ahead {
    pub(super) attempts: usize,
    pub(super) cost: u64,
}

impl Queue {
    pub(super) fn new(share: u8) -> Self {
        Self {
            interactive: Line::default(),
            background: Line::default(),
            share: share.into(),
            due: 0,
            numbers: 0,
        }
    }

    pub(super) fn share(&mut self, percent: u8) {
        self.share = percent.into();
    }

    pub(super) fn len(&self) -> usize {
        self.interactive.len().saturating_add(self.background.len())
    }

    /// Whether nobody waits that could be served; some may have been passed over.
    #[inline]
    pub(super) fn none_ready(&self) -> bool {
        self.interactive.len == 0 && self.background.len == 0
    }

    pub(super) fn insert(&mut self, entry: Entry, now: Monotonic) -> Key {
        self.numbers = self.numbers.wrapping_add(1);
        let key = Key { priority: entry.priority, flow: FlowId::of(&entry), number: Tag(self.numbers) };
        let waiter = Waiter { entry, waker: None, looks_at: now, called: None };
        self.line(key.priority).insert(key.number, waiter);
        key
    }

    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut Waiter> {
        self.line(key.priority).get_mut(key.flow, key.number)
    }

    /// Takes out one that gives up.
    pub(super) fn leave(&mut self, key: Key) -> Option<Waiter> {
        self.remove(key, false)
    }

    /// Takes out the leader, which is served.
    pub(super) fn serve(&mut self, key: Key) -> Option<Waiter> {
        let due = self.due.saturating_add(self.share);
        self.due = match key.priority {
            Priority::Background => due.saturating_sub(WHOLE),
            Priority::Interactive => due.min(WHOLE),
        };
        self.remove(key, true)
    }

    fn remove(&mut self, key: Key, served: bool) -> Option<Waiter> {
        let removed = self.line(key.priority).remove(key.flow, key.number, served);
        if self.background.len == 0 {
            self.due = 0;
        }
        removed
    }

    /// Passes over one that does not react.
    pub(super) fn set_aside(&mut self, key: Key) {
        self.line(key.priority).set_aside(key.flow, key.number);
    }

    /// One that was passed over looks again.
    pub(super) fn take_back(&mut self, key: Key) {
        self.line(key.priority).take_back(key.number);
    }

    /// The one that goes next.
    pub(super) fn leader(&self) -> Option<Key> {
        let of =
            |line: &Line, priority| line.flows.leader().map(|(flow, number)| Key { priority, flow, number });
        let background = of(&self.background, Priority::Background);
        match of(&self.interactive, Priority::Interactive) {
            Some(interactive) if background.is_none() || !self.background_is_due() => Some(interactive),
            _ => background,
        }
    }

    /// So many are served before the share of those in the background is one whole attempt.
    fn background_is_due(&self) -> bool {
        self.due.saturating_add(self.share) >= WHOLE
    }

    /// Roughly how many go before this one, counted up to `most`.
    pub(super) fn ahead_at_most(&self, key: Key, most: usize) -> u32 {
        let line = match key.priority {
            Priority::Interactive => &self.interactive,
            Priority::Background => &self.background,
        };
        let ahead = line.flows.ahead_at_most(key.flow, key.number, most).min(most);
        u32::try_from(ahead).unwrap_or(u32::MAX)
    }

    /// What goes before `entry` if it comes now. Exact where all are of one priority and one caller; else the least that it
    /// can be.
    pub(super) fn ahead(&self, entry: &Entry) -> Ahead {
        let flow = FlowId::of(entry);
        let own = |line: &Line| {
            let (attempts, cost) = line.flows.ahead_in(flow);
            Ahead { attempts, cost }
        };
        match entry.priority {
            Priority::Interactive => own(&self.interactive),
            Priority::Background => {
                let own = own(&self.background);
                let others = self.interactive_before(own.attempts);
                let attempts = own.attempts.saturating_add(others.attempts);
                Ahead { attempts, cost: own.cost.saturating_add(others.cost) }
            }
        }
    }

    /// What of the interactive ones goes, at least, before one in the background that has `own` before it.
    fn interactive_before(&self, own: usize) -> Ahead {
        let line = &self.interactive;
        let whole = Ahead { attempts: line.len, cost: line.cost };
        let Some(each) = WHOLE.saturating_sub(self.share).checked_div(self.share) else { return whole };
        // What is due already shortens the first round, so only the rounds after it are certain.
        let attempts = usize::try_from(each).unwrap_or(usize::MAX).saturating_mul(own);
        if attempts >= line.len {
            return whole;
        }
        let least = u64::from(line.least);
        Ahead { attempts, cost: u64::try_from(attempts).unwrap_or(u64::MAX).saturating_mul(least) }
    }

    /// Takes the wakers of everybody, so that each decides again. They have been called since `now`.
    pub(super) fn take_wakers(&mut self, into: &mut Vec<Waker>, now: Monotonic) {
        let all = self.interactive.waiters().chain(self.background.waiters());
        into.extend(all.filter_map(|waiter| {
            let waker = waiter.waker.take()?;
            let _ = waiter.called.get_or_insert(now);
            Some(waker)
        }));
    }

    fn line(&mut self, priority: Priority) -> &mut Line {
        match priority {
            Priority::Interactive => &mut self.interactive,
            Priority::Background => &mut self.background,
        }
    }
}
