//! When an old answer may be served in the place of a new one, and why it was.
//!
//! What is stored, and who asks for a new one, is the layer's; what HTTP itself says is RFC 9111's. Here is what goes beyond:
//! for how long an answer is served past its freshness, family by family, and what is counted of it.

mod counts;
mod fallback;
mod policy;
mod served;

pub use counts::{StaleCounts, StaleTotals, Stored};
pub use fallback::Fallback;
pub use policy::StalePolicy;
pub use served::{Because, Served};
