//! What an operator is told: one WARN per strike, one INFO per recovery and per operator's act.

use std::time::Duration;

use forbear_core::gate::{Act, Event, Gate, Observed, Struck};

/// Emits what came of an observed answer.
pub(crate) fn emit_observed(gate: &Gate, observed: &Observed) {
    emit(gate, &observed.family_events);
    emit(observed.apart.as_deref().unwrap_or(gate), &observed.events);
}

/// Emits what a gate has to say.
pub(crate) fn emit(gate: &Gate, events: &[Event]) {
    let (family, partition) = (&**gate.name(), gate.partition_label());
    for event in events {
        let panicked = gate.tell(event);
        if panicked > 0 {
            tracing::error!(family, panicked, "a listener panicked");
        }
        match event {
            Event::Strike { struck, cooldown, level, blind } => tracing::warn!(
                family,
                partition,
                reason = struck.signal.reason.as_str(),
                class = %struck.signal.class,
                status = struck.signal.status.map(|status| status.as_u16()),
                delay_ms = millis(*cooldown),
                advertised_ms = struck.signal.delay.map(|delay| millis(delay.duration)),
                level,
                blind,
                route = named(struck),
                "family cools"
            ),
            Event::Recovery { struck, cooldown, closed, level, pace } => tracing::info!(
                family,
                partition,
                reason = struck.as_ref().map(|struck| struck.signal.reason.as_str()),
                delay_ms = millis(*cooldown),
                closed_ms = millis(*closed),
                level,
                pace,
                route = struck.as_deref().and_then(named),
                "family recovers"
            ),
            Event::DeadRoute { route } => tracing::warn!(
                family,
                route = &**route,
                "route is refused while its family is served; it has a gate of its own until it is accepted"
            ),
            Event::Operator(acted) => tracing::info!(
                family,
                partition,
                act = acted.act.as_str(),
                delay_ms = match acted.act {
                    Act::Cool(duration) => Some(millis(duration)),
                    _ => None,
                },
                who = acted.by.who(),
                why = acted.by.why(),
                "operator acts"
            ),
            _ => {}
        }
    }
}

/// The route that met a signal, where it has a name.
fn named(struck: &Struck) -> Option<&str> {
    (!struck.route.is_empty()).then_some(&*struck.route)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
