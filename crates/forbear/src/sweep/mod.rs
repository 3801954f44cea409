//! Many items over one service.

mod ending;
mod flight;
mod gates;
mod holds;
mod item;
mod judge;
mod outcome;
mod outcomes;
mod progress;
mod report;
mod request;
mod settings;
mod state;
mod why;

pub use outcome::{Deferred, Done, Failed, Outcome};
pub use outcomes::Outcomes;
pub use progress::Progress;
pub use report::Report;
pub use request::{IntoRequest, NoRequest, Panicked};
pub use settings::Sweep;
