//! Which family a request belongs to.

mod automatic;
mod builder;
mod family;
mod table;

pub use builder::{FamiliesBuilder, InvalidFamilies};
pub use family::{Family, FamilyName, Unknown};
pub use table::{Families, FamiliesId, Found, Member};
