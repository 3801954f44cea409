//! Background work that is gentle to vendors.

mod builder;
mod driver;
mod error;
mod handle;
mod job;
mod plan;
mod run;
mod settle;
mod shared;
mod source;
mod trouble;

pub use builder::{InvalidRefresh, RefreshBuilder};
pub use error::NotTaken;
pub use forbear_core::store::{MemoryWorkStore, StoreError, StoreFault, WorkStore};
pub use forbear_core::work;
pub use handle::Refresh;
pub use job::SourceOf;
pub use source::{Fetching, GateSource, HttpSource, Running, Source};
