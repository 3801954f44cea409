//! Pacing: spacing of attempts before any signal arrives.
//!
//! A [`Pacer`] lets an attempt go when its family's limits allow it, and queues it otherwise. It never sleeps and has no
//! clock of its own: [`Pacer::enter`] answers at once, and who is queued holds a [`Spot`] and looks again when told.
//!
//! | limit | holds |
//! |---|---|
//! | [`Pacing::gap`] | two attempts are never closer than that |
//! | [`Pacing::at_most`] | never more than that cost in *any* span of that length, both ends included |
//! | [`Pacing::in_flight`] | never more attempts whose [`Booking`]s live: until the response's body ends or drops |
//! | [`Pacing::steered`] | what the vendor says is left, spread over the time for which it must last |
//! | [`Pacing::retry_quota`] | further attempts are a share of the good answers |
//!
//! Limits are the family's. [`Pacing::per_partition`] adds limits that each credential has for itself: an attempt then needs
//! both. Attempts of one partition wait in its own queue first ([`Pacer::part`]), and in the family's after it.
//!
//! Order: interactive before background, which still gets its [share](Pacing::background_share); within these, callers that
//! [name themselves](Caller) take turns by cost, and the attempts of one caller go first come first served.
//!
//! # Cancellation
//!
//! A dropped [`Spot`] leaves the queue and wakes whoever comes next; a [`Booking`] that was not sent is
//! [given back](Booking::give_back) and costs no quota; a dropped one ends its time in flight.
//!
//! # Memory
//!
//! A window remembers each attempt of its span up to a thousand; beyond, attempts that lie within a 1,024th of the span are
//! one, and leave it as the last of them does: some 1,026 entries of 16 bytes whatever the limit, allocated as they are needed.
//! A token bucket or GCRA would do with a number, but lets almost twice the limit through in some spans: its burst, and what
//! is refilled meanwhile.

mod booking;
mod entry;
mod estimate;
mod flight;
mod flows;
mod gap;
mod held;
mod in_flight;
mod line;
#[cfg(all(test, forbear_loom))]
mod models;
mod pacer;
mod parts;
mod queue;
mod recent;
mod refusal;
mod retry_quota;
mod settings;
mod spot;
mod state;
mod steering;
mod tag;
mod totals;
mod view;
mod waiting;
mod window;

pub use booking::Booking;
pub use entry::{Caller, Entry};
pub use flight::Flight;
pub use pacer::{Entered, Pacer};
pub use refusal::{PacingCause, PacingRefusal};
pub use retry_quota::RetryQuota;
pub use settings::Pacing;
pub use spot::{Spot, Turn};
pub use steering::{Left, Unit};
pub use totals::PacingTotals;
pub use view::PacingView;
