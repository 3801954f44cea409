//! The single attempt let through when a cool-down ends.

use std::time::Duration;

use crate::time::Monotonic;

use super::ask::{Ask, GrantId, Priority};
use super::state::{Phase, State};

/// The right to send the probe. It ends by itself, so a probe that never settles cannot close a family for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lease {
    pub(super) number: u64,
    /// When the probe was sent; `None` while its holder has not come to the gate yet.
    pub(super) sent: Option<Monotonic>,
    pub(super) ends: Monotonic,
}

impl Lease {
    /// The part of its number that a ticket carries.
    #[expect(clippy::cast_possible_truncation, reason = "tells one lease from its neighbours")]
    pub(super) const fn tag(&self) -> u32 {
        self.number as u32
    }
}

impl State {
    /// Ends a lease that time has decided: not refused within the refusal window is accepted; over is neutral.
    pub(super) fn advance_lease(&mut self, now: Monotonic) {
        let Some(lease) = self.lease else { return };
        match lease.sent {
            Some(sent) => {
                let accepted = sent.after(self.window.span());
                if accepted <= now && accepted <= lease.ends {
                    self.begin_recovery(accepted);
                } else if lease.ends <= now {
                    self.probe_was_fruitless(lease.ends);
                }
            }
            None if lease.ends <= now => self.hand_on(),
            None => {}
        }
    }

    /// When somebody should look at the lease again.
    pub(super) fn lease_decides_at(&self) -> Option<Monotonic> {
        let lease = self.lease?;
        Some(lease.sent.map_or(lease.ends, |sent| sent.after(self.window.span()).min(lease.ends)))
    }

    /// Whether the probe may go out now, to anybody.
    pub(super) fn probe_is_due(&self, now: Monotonic) -> bool {
        let due = match self.phase {
            Phase::Probing => true,
            Phase::Cooling => self.settings.recheck.is_some() && self.cooldown.advertised,
            Phase::Open | Phase::Recovering(_) => false,
        };
        due && self.lease.is_none() && now >= self.next_probe_at()
    }

    /// When the next probe may go out, or the next recheck while the cool-down runs.
    pub(super) fn next_probe_at(&self) -> Monotonic {
        if matches!(self.phase, Phase::Cooling) { self.recheck_from } else { self.probe_from }
    }

    /// Whether this caller may be the probe: an answer must be likely within its budget, and nobody interactive waits
    /// where it is background.
    pub(super) fn may_probe(&self, ask: &Ask, now: Monotonic) -> bool {
        self.in_time(ask, now)
            && (ask.priority == Priority::Interactive || !self.queue.interactive_is_ready())
    }

    /// A caller that has waited is not sent where its remaining budget is too short for an answer.
    pub(super) fn in_time(&self, ask: &Ask, now: Monotonic) -> bool {
        !ask.waited || ask.deadline.is_none_or(|deadline| deadline.since(now) >= self.time.needed())
    }

    /// Gives the right to send the probe to a caller that has waited for it.
    pub(super) fn reserve_probe(&mut self, now: Monotonic) -> GrantId {
        let number = self.number();
        let ends = now.after(self.settings.attempt_timeout);
        self.lease = Some(Lease { number, sent: None, ends });
        GrantId { gate: self.id, number }
    }

    /// The probe goes out now. Returns the lease's tag.
    pub(super) fn send_probe(&mut self, number: u64, now: Monotonic) -> u32 {
        let lease = Lease { number, sent: Some(now), ends: now.after(self.settings.attempt_timeout) };
        self.lease = Some(lease);
        if let (Phase::Cooling, Some(every)) = (&self.phase, self.settings.recheck) {
            self.recheck_from = now.after(every);
        }
        lease.tag()
    }

    /// The probe brought no news: the next one waits 1, 2, 4 … 30 s.
    pub(super) fn probe_was_fruitless(&mut self, at: Monotonic) {
        self.lease = None;
        let gap = 1_u64.checked_shl(self.fruitless.min(5)).unwrap_or(30).min(30);
        self.fruitless = self.fruitless.saturating_add(1);
        let next = at.after(Duration::from_secs(gap));
        self.probe_from = self.probe_from.max(next);
        self.recheck_from = self.recheck_from.max(next);
        self.nudge();
    }

    /// The lease was dropped before anything was sent: the next caller may have it at once.
    pub(super) fn hand_on(&mut self) {
        self.lease = None;
        self.nudge();
    }
}
