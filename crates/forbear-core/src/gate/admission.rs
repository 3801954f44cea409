//! Whether an attempt may go out: the decision that is made under the gate's lock.

use crate::time::Monotonic;

use super::ask::Ask;
use super::decision::{Refusal, RefusalCause};
use super::queue::Key;
use super::state::{Phase, State};
use super::ticket::Kind;

impl State {
    /// Decides under the lock; what an admitted attempt is counted as.
    pub(super) fn admit(&mut self, ask: &Ask, now: Monotonic) -> Result<Kind, Refusal> {
        self.asked = now;
        if self.pause.is_on() {
            return Err(self.refuse(RefusalCause::Paused, None, now));
        }
        if let Some(grant) = ask.grant {
            if self.holds(grant) {
                return Ok(Kind::Probe(self.send_probe(grant.number, now)));
            }
            if self.use_grant(grant) {
                return Ok(Kind::Counted);
            }
        }
        if self.probe_is_due(now) {
            if !self.in_time(ask, now) {
                return Err(self.refuse(RefusalCause::TooLate, None, now));
            }
            if self.may_probe(ask, now) {
                let number = self.number();
                return Ok(Kind::Probe(self.send_probe(number, now)));
            }
        }
        match self.phase {
            Phase::Open => Ok(Kind::Counted),
            Phase::Cooling => Err(self.refuse(RefusalCause::Cooling, Some(self.cooldown.until), now)),
            Phase::Probing => {
                let retry_at = self.lease.map_or(self.probe_from, |lease| lease.ends);
                Err(self.refuse(RefusalCause::Probing, Some(retry_at), now))
            }
            Phase::Recovering(_) => self.admit_recovering(ask, now),
        }
    }

    fn admit_recovering(&mut self, ask: &Ask, now: Monotonic) -> Result<Kind, Refusal> {
        let key = Key { priority: ask.priority, entered: ask.entered, number: u64::MAX };
        let ahead = self.queue.ahead_of(key);
        let in_time = self.in_time(ask, now);
        let Phase::Recovering(recovery) = &mut self.phase else { return Ok(Kind::Counted) };
        if recovery.has_token_behind(ahead) {
            if !in_time {
                return Err(self.refuse(RefusalCause::TooLate, None, now));
            }
            let _ = recovery.take();
            return Ok(Kind::Counted);
        }
        let turn = recovery.turn(ahead);
        recovery.refused(now);
        Err(self.refuse(RefusalCause::Recovering, Some(turn), now))
    }

    /// When the family may be called again; `None` where it is open, paused, or nobody can say.
    pub(super) fn retry_at(&self) -> Option<Monotonic> {
        match self.phase {
            Phase::Cooling => Some(self.cooldown.until),
            Phase::Probing => Some(self.lease.map_or(self.probe_from, |lease| lease.ends)),
            Phase::Open | Phase::Recovering(_) => None,
        }
    }
}
