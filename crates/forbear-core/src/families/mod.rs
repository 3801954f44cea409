//! Which family a request belongs to.

mod automatic;
mod builder;
mod check;
mod family;
mod lately;
#[cfg(all(test, forbear_loom))]
mod models;
mod registry;
mod table;

pub use builder::{FamiliesBuilder, InvalidFamilies};
pub use check::AUTOMATIC;
pub use family::{Family, FamilyName, Unknown};
pub use registry::{Families, FamiliesId, Found, Restored, Snapshot};
pub use table::Member;
