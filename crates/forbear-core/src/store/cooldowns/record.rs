use std::sync::Arc;
use std::time::Duration;

use crate::gate::{Operator, Struck, TOP_LEVEL, Transition};
use crate::work::Stamp;

use super::entry::{CooldownEntry, CooldownKey, Pause, span};

/// What a store keeps of one family, by the wall clock of its host.
#[derive(Debug, Clone, PartialEq)]
pub struct CooldownRecord {
    /// Raised by an operator's clear.
    pub epoch: u32,
    /// Raised by every strike.
    pub generation: u32,
    /// The level when it was saved.
    pub level: u8,
    /// The end of the cool-down.
    pub until: Stamp,
    /// Its length, from strike to deadline.
    pub length: Duration,
    /// When it was saved.
    pub saved: Stamp,
    /// Whether it was called freely then.
    pub open: bool,
    /// The learned pace, in attempts per second.
    pub pace: Option<f64>,
    /// What closed it. The time in it says nothing.
    pub struck: Option<Arc<Struck>>,
    /// The operator to whom the deadline is due.
    pub by: Option<Operator>,
    /// Who paused it, and when.
    pub pause: Option<(Operator, Stamp)>,
}

/// What became of an entry that a store was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Absorbed {
    /// It is what the record says now.
    Taken,
    /// The same, but the record has a later deadline: its own.
    TakenButLater,
    /// The record is newer, and kept; its deadline is the later of the two.
    Older,
}

/// A cool-down that is longer says something else.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 60 * 60);

impl CooldownRecord {
    /// What is kept of `entry`, of which nothing was known.
    #[must_use]
    pub fn new(entry: &CooldownEntry, now: Stamp) -> Self {
        let Transition { epoch, generation, level, length, remaining, pace, struck, by, open, quiet: _ } =
            entry.transition.clone();
        let length = whole(length);
        Self {
            epoch,
            generation,
            level,
            until: now.after(whole(remaining).min(length)),
            length,
            saved: now,
            open,
            pace,
            struck,
            by,
            pause: paused(&entry.pause, now),
        }
    }

    /// Takes in what a gate says. A newer generation or epoch is taken over, and so is the same one again; an older one of this
    /// epoch may move the deadline, and nothing else. Within an epoch the later deadline stands.
    pub fn absorb(&mut self, entry: &CooldownEntry, now: Stamp) -> Absorbed {
        self.mend(now);
        let mut new = Self::new(entry, now);
        if matches!(entry.pause, Pause::AsBefore) {
            new.pause = self.pause.take();
        }
        let (mine, theirs) = ((self.epoch, self.generation), (new.epoch, new.generation));
        if theirs < mine {
            if new.epoch == self.epoch && self.until > now {
                self.extend(new.until);
            }
            self.pause = new.pause;
            return Absorbed::Older;
        }
        let later = new.epoch == self.epoch && self.until > new.until;
        if later {
            new.extend(self.until);
        }
        *self = new;
        if later { Absorbed::TakenButLater } else { Absorbed::Taken }
    }

    fn extend(&mut self, until: Stamp) {
        if until > self.until {
            self.length = self.length.saturating_add(until.since(self.until));
            self.until = until;
        }
    }

    /// What is told of it at `now`.
    #[must_use]
    pub fn entry(&self, key: CooldownKey, now: Stamp) -> CooldownEntry {
        let transition = Transition {
            epoch: self.epoch,
            generation: self.generation,
            level: self.level,
            length: self.length,
            remaining: self.remaining(now),
            pace: self.pace,
            struck: self.struck.clone(),
            by: self.by.clone(),
            open: self.open,
            quiet: now.since(self.until.max(self.saved)),
        };
        let pause = match &self.pause {
            Some((by, at)) => Pause::On { by: by.clone(), since: now.since(*at) },
            None => Pause::AsBefore,
        };
        CooldownEntry { key, transition, pause }
    }

    /// Takes out what no clock and no gate can have meant: a deadline further away than the cool-down is long, or than it was
    /// when it was saved, a time of saving that has not come, a level or a pace that is none. Whether there was such.
    pub fn mend(&mut self, now: Stamp) -> bool {
        let before = (self.level, self.length, self.until, self.saved, self.pace);
        self.level = self.level.min(TOP_LEVEL);
        self.length = self.length.min(LONGEST);
        self.until = self.until.min(now.after(self.remaining(now)));
        self.saved = self.saved.min(now);
        self.pace = self.pace.filter(|pace| pace.is_normal() && *pace > 0.0);
        before != (self.level, self.length, self.until, self.saved, self.pace)
    }

    /// What is left of the cool-down. Where the clock was set back to before it was saved, no more than was left then.
    fn remaining(&self, now: Stamp) -> Duration {
        // One that was over when it was saved is no measure of that.
        let from = if self.saved < self.until { now.max(self.saved) } else { now };
        self.until.since(from).min(self.length)
    }

    /// When it says nothing any more, since its level is down; [`Stamp::NEVER`] while it is paused.
    #[must_use]
    pub fn forget_at(&self) -> Stamp {
        if self.pause.is_some() {
            return Stamp::NEVER;
        }
        let quiet = span(self.length).saturating_mul(u32::from(self.level).saturating_add(1));
        self.until.max(self.saved).after(quiet)
    }
}

fn paused(pause: &Pause, now: Stamp) -> Option<(Operator, Stamp)> {
    match pause {
        Pause::On { by, since } => Some((by.clone(), now.before(*since))),
        Pause::Off | Pause::AsBefore => None,
    }
}

/// In whole milliseconds, as a store counts; rounded up, since what is kept is never shorter.
fn whole(duration: Duration) -> Duration {
    let millis = duration.as_nanos().div_ceil(1_000_000);
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn at(minutes: u32) -> Stamp {
        Stamp::from_millis(1_000_000_000_000).after(MINUTE.saturating_mul(minutes))
    }

    fn entry(length: Duration, remaining: Duration) -> CooldownEntry {
        let key = CooldownKey { family: "vendor".into(), automatic: false, part: None };
        let (pace, struck, by) = (None, None, None);
        let quiet = Duration::ZERO;
        let transition = Transition {
            epoch: 0,
            generation: 1,
            level: 1,
            length,
            remaining,
            pace,
            struck,
            by,
            open: false,
            quiet,
        };
        CooldownEntry { key, transition, pause: Pause::AsBefore }
    }

    fn left(record: &CooldownRecord, now: Stamp) -> Duration {
        let told = record.entry(entry(MINUTE, MINUTE).key, now);
        told.transition.remaining
    }

    #[test]
    fn a_clock_that_is_set_back_gives_no_more_than_was_left_when_it_was_saved() {
        let mut record = CooldownRecord::new(&entry(60 * MINUTE, 20 * MINUTE), at(600));
        assert_eq!(left(&record, at(605)), 15 * MINUTE);
        for now in [at(600), at(590), at(300), at(0)] {
            assert_eq!(left(&record, now), 20 * MINUTE, "of a length of 60");
        }
        assert!(record.mend(at(300)));
        assert_eq!((record.until, record.saved), (at(320), at(300)));
        assert!(!record.mend(at(300)), "once");
        assert_eq!(left(&record, at(310)), 10 * MINUTE);
    }

    #[test]
    fn no_cool_down_is_longer_than_a_year() {
        let year = 366 * 24 * 60 * MINUTE;
        for (length, kept) in [(year, year), (year + MINUTE, year)] {
            let mut record = CooldownRecord::new(&entry(length, length), at(0));
            assert_eq!(record.mend(at(0)), length != kept);
            assert_eq!((record.length, left(&record, at(0))), (kept, kept));
        }
    }

    #[test]
    fn a_deadline_further_away_than_the_cooldown_is_long_is_brought_back() {
        let mut record = CooldownRecord::new(&entry(60 * MINUTE, 20 * MINUTE), at(600));
        record.until = at(60_000);
        assert_eq!(left(&record, at(601)), 60 * MINUTE);
        assert!(record.mend(at(601)));
        assert_eq!(record.until, at(661));
    }
}
