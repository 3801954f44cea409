//! An operator's hands, while traffic flows.

use std::time::Duration;

use fastrand::Rng;
use forbear::{HealthPhase, Operator};
use tokio::time::sleep;

use super::world::{Watched, World};
use super::{MS, SECOND};

/// One act, on the family of this number.
#[derive(Debug, Clone)]
pub(crate) struct Act {
    after: Duration,
    family: usize,
    what: What,
}

#[derive(Debug, Clone, Copy)]
enum What {
    /// The configuration is read again, and says what it said.
    Configure,
    Cool(Duration),
    Clear,
    /// Ends again after so long.
    Pause(Duration),
}

/// What an operator does in a run.
pub(crate) fn acts(rng: &mut Rng, families: usize) -> Vec<Act> {
    let count = if rng.bool() { 0 } else { rng.usize(1..4) };
    (0..count)
        .map(|_| Act {
            after: rng.u32(0..30_000) * MS,
            family: rng.usize(0..families),
            what: match rng.u8(0..4) {
                0 => What::Configure,
                1 => What::Cool(rng.u32(1..60) * SECOND),
                2 => What::Clear,
                _ => What::Pause(rng.u32(0..20_000) * MS),
            },
        })
        .collect()
}

impl Act {
    pub(crate) const fn clears(&self) -> bool {
        matches!(self.what, What::Clear)
    }
}

impl World {
    /// Does it, when its time has come. A host that never signalled has no family that could be acted on.
    pub(crate) async fn operate(&self, act: &Act) {
        sleep(act.after).await;
        self.look();
        self.note(("operator", act.family));
        let watched = &self.watched[act.family];
        let (name, by) = (watched.family.host, || Operator::new("operator", "a run"));
        if watched.phase().is_none() {
            return;
        }
        match act.what {
            What::Configure => self.configure(),
            What::Cool(duration) => {
                let phase = watched.phase();
                watched.seen.borrow_mut().cools(duration, phase);
                self.families.cool(name, duration, by()).unwrap();
            }
            What::Clear => {
                watched.seen.borrow_mut().clears(self.now());
                self.families.clear(name, by()).unwrap();
            }
            What::Pause(lasts) => {
                self.families.pause(name, by()).unwrap();
                self.look();
                assert_eq!(watched.phase(), Some(HealthPhase::Paused));
                sleep(lasts).await;
                self.families.resume(name, by()).unwrap();
            }
        }
        self.look();
    }
}

impl Watched {
    fn phase(&self) -> Option<HealthPhase> {
        self.seen.borrow().health.as_ref().map(|health| health.phase)
    }
}

impl super::world::Seen {
    /// A running cool-down only becomes longer; else another generation begins.
    fn cools(&mut self, duration: Duration, phase: Option<HealthPhase>) {
        self.cooled = self.cooled.max(duration);
        if phase != Some(HealthPhase::Cooling) {
            self.recoverable += 1;
            self.probes.clear();
            // Behind a pause nobody sees whether one runs.
            self.generations += u64::from(phase != Some(HealthPhase::Paused));
        }
    }

    pub(crate) fn clears(&mut self, now: Duration) {
        self.recoverable += 1;
        self.generations += 1;
        self.probes.clear();
        self.deadline = self.deadline.min(now);
    }
}
