//! The gate: the last layer before the wire.
//!
//! **The failure it prevents.** One route of a vendor answers `429`; the other routes, and every other caller, go on
//! hammering it, until all of them are refused or the program is banned. Here a signal on one route cools every route
//! of the same family.
//!
//! | the family is | an attempt is |
//! |---|---|
//! | open | sent: a match on the authority, one atomic load, one clock read |
//! | cooling | refused with [`Cooling`](crate::Cooling) and the time at which it may be sent |
//! | probing | sent if it is the one probe, else refused until the probe's verdict |
//! | recovering | sent at a learned pace, in the order in which logical requests entered |
//! | unknown | what [`Unknown`](crate::Unknown) says: a family of its own, refused, or passed through |
//!
//! The layer never sleeps. It reads the head of each answer in the family's dialect and, where that can say more, at
//! most 16 KiB and 250 ms of its body, [decoded](forbear_core::coding), never past the budget; every byte still reaches
//! the caller, coded as it was, whose response body is a [`Peeked`](crate::body::Peeked). A limited response carries the [`Signal`](crate::Signal) extension.
//!
//! **Place in the order.** Innermost, so that it sees every attempt and no retry can bypass it. What waits is
//! [`RetryAfterLayer`](crate::RetryAfterLayer).
//!
//! ```
//! use forbear::{Families, Family, FamilyCooldownLayer};
//! use tower::{ServiceBuilder, service_fn};
//! # type Body = http_body_util::Empty<bytes::Bytes>;
//! # async fn client(_: http::Request<Body>) -> Result<http::Response<Body>, std::io::Error> { Ok(http::Response::default()) }
//!
//! let families = Families::builder().family(Family::new("github").host("api.github.com")).build()?;
//! let vendor = ServiceBuilder::new().layer(FamilyCooldownLayer::new(families.clone())).service(service_fn(client));
//! # let _ = vendor;
//! # Ok::<(), forbear::InvalidFamilies>(())
//! ```
//!
//! With a ladder of its own, for a vendor that never says how long:
//!
//! ```
//! # use std::time::Duration;
//! use forbear::{Families, Family, FamilyCooldownLayer, Ladder};
//!
//! let ladder = Ladder::new([10, 30, 120].map(Duration::from_secs));
//! let family = Family::new("legacy").host("legacy.example.com").throttled_ladder(ladder);
//! let layer = FamilyCooldownLayer::new(Families::builder().family(family).build()?);
//! # let _ = layer;
//! # Ok::<(), forbear::InvalidFamilies>(())
//! ```
//!
//! **Cancellation.** An attempt that is dropped, or panics, is no news of its vendor: a probe's lease ends, and the
//! next probe goes out after a gap. **Memory.** A family holds about 2 KiB per thread that calls it; a healthy host
//! without a family holds nothing, and at most 10,000 automatic families exist.

mod admit;
mod admitted;
mod answer;
mod future;
mod layer;
mod service;

pub(crate) use admit::admit;
pub(crate) use admitted::Admitted;
pub use future::CooldownFuture;
pub use layer::FamilyCooldownLayer;
pub use service::FamilyCooldownService;
