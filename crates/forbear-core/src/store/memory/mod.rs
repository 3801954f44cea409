//! Stores that end with their process.

mod source;
mod work;

pub use work::MemoryWorkStore;
