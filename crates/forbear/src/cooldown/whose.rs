//! Whose limit an attempt counts against, and whether all of those let it through.

use std::sync::Arc;

use forbear_core::families::Member;
use forbear_core::gate::{Ask, Decision, Gate, Outcome, Refusal, Suspect, Ticket};
use forbear_core::partition::Partition;
use forbear_core::signal::{Scope, Signal as Said};
use forbear_core::time::Monotonic;

use super::admitted::Admitted;
use crate::events;

/// Whose limit an attempt counts against, besides its family's.
pub(crate) struct Whose {
    pub(crate) partition: Option<Partition>,
    /// Whether a signal that does not state its scope is about that alone.
    pub(crate) per_partition: bool,
    /// The gate of the partition, where that has one.
    pub(crate) part: Option<Arc<Gate>>,
    /// Whether it matters that its route is accepted.
    pub(crate) suspect: bool,
}

impl Whose {
    /// Of an attempt on `route` of a family, whose `partition` is asked only where it counts.
    #[inline]
    pub(crate) fn of(member: &Member, route: &str, partition: impl FnOnce() -> Option<Partition>) -> Self {
        let mut suspect = false;
        if member.gate.has_suspects()
            && let Some(Suspect { route, gate }) = member.gate.suspect(route)
        {
            // A route that is apart from its family is a part of it like any other.
            if gate.is_some() {
                return Self { partition: Some(route), per_partition: true, part: gate, suspect: true };
            }
            suspect = true;
        }
        let partition = partition();
        let part = partition.and_then(|partition| member.gate.partition(partition));
        Self { partition, per_partition: member.per_partition, part, suspect }
    }
}

/// The partition that a signal is about. One about a part, of which nobody said which, is about the whole.
pub(crate) fn about(signal: &Said, partition: Option<Partition>, per_partition: bool) -> Option<Partition> {
    let part = match signal.scope {
        Scope::Partition => true,
        Scope::Unstated => per_partition,
        _ => false,
    };
    partition.filter(|_| part)
}

/// Who does not let an attempt through, and why.
pub(crate) type Refused<'g> = (&'g Arc<Gate>, Refusal);

/// Asks a family and its partition, which must both let an attempt through, under their locks.
///
/// # Errors
/// Who does not let it through, and why.
pub(crate) fn admit<'g>(
    gate: &'g Arc<Gate>,
    partition: Option<&'g Arc<Gate>>,
    ask: &Ask,
    now: Monotonic,
) -> Result<Admitted, Refused<'g>> {
    let admit = |gate: &'g Arc<Gate>| -> Result<Ticket, Refused<'g>> {
        let (decision, news) = gate.admit(ask, now);
        events::emit(gate, &news);
        match decision {
            Decision::Go(ticket) => Ok(ticket),
            Decision::Refuse(refusal) => Err((gate, refusal)),
        }
    };
    let part = partition.map(admit).transpose()?;
    match (admit(gate), partition.zip(part)) {
        (Ok(ticket), _) => Ok(Admitted::new(Some(ticket), now).and(part)),
        (Err(refused), Some((partition, part))) => {
            // What was taken of the partition goes to the next caller.
            let observed = partition.observe(&part, Outcome::NotSent, now);
            events::emit(partition, &observed.events);
            Err(refused)
        }
        (Err(refused), None) => Err(refused),
    }
}
