//! Faults that others have met in public, replayed against the layers.
//!
//! Each test names its report and says in a line what went wrong there.

mod bodies;
mod bombs;
mod budgets;
mod clock;
mod cooldown;
mod deadlines;
mod events;
mod flapping;
mod hints;
mod memory;
mod methods;
mod pacing;
mod permits;
mod pool;
mod probe;
mod readiness;
mod stampede;
mod support;
mod turns;
