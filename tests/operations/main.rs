//! What an operator sees: metrics, events, the dashboard and the alerts of `docs/`, and what must never be seen; and that
//! the links of the pages lead somewhere.

#![allow(clippy::panic, reason = "these are the assertions of tests")]

mod decisions;
mod documented;
mod events;
mod expression;
mod links;
mod metrics;
mod promtool;
mod refresh;
mod scrape;
mod secrets;
mod series;
mod shipped;
mod stale;
mod sweep;
