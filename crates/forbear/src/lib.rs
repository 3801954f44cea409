//! Tower middleware for outbound HTTP.

#[cfg(feature = "budget")]
pub mod budget;
#[cfg(feature = "cooldown")]
pub mod cooldown;
#[cfg(feature = "retry-after")]
pub mod retry_after;

pub mod body;
mod clock;
pub mod error;
mod events;
mod extensions;
mod families;
#[cfg(any(feature = "retry-after", feature = "cooldown"))]
mod host;
mod order;
#[cfg(all(feature = "budget", feature = "retry-after", feature = "cooldown"))]
mod stack;
#[cfg(all(feature = "budget", feature = "retry-after", feature = "cooldown"))]
mod vendor;

pub use body::BoxError;
pub use error::{BudgetExhausted, Cooling, Error, Spent, UnknownFamily};
pub use extensions::{EffectiveUri, NoWait, Signal};
pub use families::{Families, FamiliesBuilder};
pub use forbear_core::dialect::Dialect;
pub use forbear_core::families::{Family, FamilyName, InvalidFamilies, Unknown};
pub use forbear_core::gate::{GateSettings, Ladder, Priority, RefusalCause};
pub use forbear_core::health::Health;
pub use forbear_core::signal::{Class, Reason};

#[cfg(feature = "budget")]
pub use budget::{Budget, BudgetLayer, BudgetService};
#[cfg(feature = "cooldown")]
pub use cooldown::{FamilyCooldownLayer, FamilyCooldownService};
#[cfg(feature = "retry-after")]
pub use retry_after::{RetryAfterLayer, RetryAfterService};
#[cfg(all(feature = "budget", feature = "retry-after", feature = "cooldown"))]
pub use stack::{Stack, Stacked, stack};
#[cfg(all(feature = "budget", feature = "retry-after", feature = "cooldown"))]
pub use vendor::Vendor;
