//! Families of mock vendors, with ladders short enough for a test.

use std::time::Duration;

use forbear::{Families, Family, Ladder, Unknown};
use forbear_mock::MockVendor;

/// The family `name`, with these vendors as its hosts.
pub fn family<'a>(name: &str, vendors: impl IntoIterator<Item = &'a MockVendor>) -> Family {
    vendors.into_iter().fold(Family::new(name), |family, vendor| family.host(vendor.authority()))
}

/// A ladder of so many milliseconds.
#[must_use]
pub fn ladder(rungs: &[u64]) -> Ladder {
    Ladder::new(rungs.iter().copied().map(Duration::from_millis))
}

/// These families and no others: what they do not have is refused.
///
/// # Panics
///
/// When they cannot work together.
pub fn families(list: impl IntoIterator<Item = Family>) -> Families {
    let none = Families::builder().unknown(Unknown::Refuse);
    list.into_iter().fold(none, forbear::FamiliesBuilder::family).build().unwrap()
}

/// The level of `family` now.
///
/// # Panics
///
/// When there is no such family.
#[track_caller]
#[must_use]
pub fn level(families: &Families, family: &str) -> u8 {
    families.health().family(family).unwrap().level
}
