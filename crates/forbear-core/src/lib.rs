//! The decisions of [forbear](https://docs.rs/forbear), without I/O, a runtime or a clock of their own.
//!
//! Every decision takes `now` as an argument and returns a value that says everything about it, so the Tower
//! layers, the adapters and the gateway share one engine, and tests need no sleeping.
//!
//! | module | decides |
//! |---|---|
//! | [`signal`] | what a response says about a limit |
//! | [`dialect`] | how one vendor phrases its signals |
//! | [`presets`] | vendors that are known |
//! | [`coding`] | what a coded body says |
//! | [`gate`] | whether a family may be called now, and what its answers mean |
//! | [`pacing`] | when an attempt may go, before any signal arrives |
//! | [`families`] | which family a request belongs to |
//! | [`budget`] | how long a logical request may take |
//! | [`deadlines`] | until when a URL is to be left alone |
//! | [`retry`] | whether and when a logical request is sent again |
//! | [`work`] | what may happen to one key of refresh work, and when it is refreshed |
//! | [`stale`] | when an old answer may be served in the place of a new one |
//! | [`store`] | what outlives the process, or is shared, and which of two truths holds: traits, and stores in memory |
//! | [`health`] | what an operator is shown |

mod bounded;
pub mod budget;
pub mod coding;
pub mod deadlines;
pub mod dialect;
pub mod families;
pub mod gate;
pub mod health;
mod host;
mod living;
pub mod pacing;
pub mod partition;
pub mod presets;
pub mod retry;
mod secret;
pub mod signal;
pub mod stale;
pub mod store;
mod sync;
pub mod time;
pub mod url;
mod waking;
pub mod work;
