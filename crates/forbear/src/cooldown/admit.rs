//! Whether all whose limit an attempt counts against let it through.

use std::sync::Arc;

use forbear_core::gate::{Ask, Decision, Gate, Outcome, Refusal, Ticket};
use forbear_core::time::Monotonic;

use super::admitted::Admitted;
use crate::events;

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
