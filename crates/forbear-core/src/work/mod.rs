//! Refresh work: what is known of one key of a source, and what may happen to it.
//!
//! A [`Row`] is all that a store keeps of a key. What happens to it is decided here, by functions that take `now` and say
//! everything about what they did; a store applies them inside its own transaction, and decides nothing. So the stores
//! cannot differ.
//!
//! ```text
//!            demand                     claim                     done (or again)
//!  (no row) ────────▶ Waiting(due) ─────────────▶ Running(claim) ─────────────────▶ Waiting(next due)
//!                        ▲  ▲  ▲                    │    │    │
//!                        │  │  └── refused, failed ─┘    │    └── nobody demands it any more ──▶ (no row)
//!                        │  └── its lease is over ───────┤
//!                        └── demand, retry ── Failed, Stalled
//! ```
//!
//! | call | answers | changes |
//! |---|---|---|
//! | [`Row::demand`] | [`Demanded`] | who wants it; wakes what has failed; a run that is out is followed by one more |
//! | [`Row::undemand`] | [`Undemanded`] | who wants it; the last one ends it |
//! | [`Row::invalidate`] | [`Invalidated`] | due as soon as its source's gap allows; a run that is out is followed by one more |
//! | [`Row::retry`] | [`Retried`] | what has failed is due |
//! | [`Row::claim`] | [`Claimed`] | it runs, under a lease; a lease that is over costs an attempt |
//! | [`Row::extend`] | [`Extended`] | its lease |
//! | [`Row::finish`] | [`Finished`] | when it is due next, by the [`Outcome`] of its run |
//! | [`Row::mend`] | [`Mended`] | times that no clock can have meant |

mod claim;
mod demand;
mod finish;
mod mend;
mod names;
mod reasons;
mod row;
mod stamp;
mod tally;

pub use claim::{Claim, Claimed, Extended, Terms, Token};
pub use demand::{Demanded, Invalidated, Retried, Undemanded};
pub use finish::{Finished, Outcome};
pub use mend::{Bounds, Mended};
pub use names::{DemandReason, InvalidName, Key, SourceName};
pub use reasons::Reasons;
pub use row::{LastError, Phase, Row};
pub use stamp::Stamp;
pub use tally::Tally;
