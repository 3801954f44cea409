//! The gate: may this family be called now, and what did its answer mean?
//!
//! A gate never sleeps. [`Gate::admit`] says [`Decision::Go`] with a [`Ticket`], or refuses with the time at which it
//! may be asked again; [`Gate::observe`] takes the answer. Callers that want to wait take a [`Place`] in its queue.
//!
//! ```text
//! Open       => (Open | Cooling)                   a strike closes it
//! Cooling    => (Cooling | Probing)                its deadline opens the door for one
//! Probing    => (Probing | Cooling | Recovering)   neutral | bad | good
//! Recovering => (Recovering | Cooling | Open)      a strike | nobody had to wait for long enough
//! ```
//!
//! Phases change when somebody looks: no timer and no task belongs to a gate.

mod account;
mod admission;
mod ask;
mod attempt_time;
mod buckets;
mod dead_route;
mod decision;
mod engine;
mod event;
mod inherit;
mod kept;
mod ladder;
mod learned;
mod listen;
mod look;
mod merge;
#[cfg(all(test, forbear_loom))]
mod models;
mod operator;
mod pacing;
mod partitions;
mod pause;
mod place;
mod probe;
mod queue;
mod recovery;
mod refusal_window;
mod settings;
mod shard;
mod shutdown;
mod state;
mod strike;
mod tally;
mod ticket;
mod totals;
mod verdict;
mod view;
mod waiting;

pub use ask::{Ask, GrantId, Priority};
pub use dead_route::Suspect;
pub use decision::{Decision, Refusal, RefusalCause, Struck};
pub use engine::{Gate, answered_open};
pub use event::{Effect, Event, Observed, Outcome};
pub use ladder::{Ladder, TOP_LEVEL};
pub use learned::Known;
pub use listen::{ListenerId, Listeners};
pub use merge::{Merged, Transition};
pub use operator::{Act, Acted, Operator, clears};
pub use place::{Grant, Place, Turn};
pub use settings::GateSettings;
pub use ticket::Ticket;
pub use totals::Totals;
pub use view::{Closed, Phase, View};
