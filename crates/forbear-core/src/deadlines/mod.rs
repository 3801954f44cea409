//! The Retry-After map: until when vendors asked to be left alone, by URL.

mod key;
mod map;
#[cfg(all(test, forbear_loom))]
mod models;
mod names;

pub use key::UrlKey;
pub use map::{Deadlines, DeadlinesId};
