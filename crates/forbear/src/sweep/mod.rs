//! Many items over one service, and one 429 among them costs one wait.
//!
//! **The failure it prevents.** A pass over forty items meets one 429. The client throws the pass away, or sends the other
//! items to be refused one after another, or sleeps in the middle of it while another vendor's items stand behind. Here what
//! succeeded stays, what is limited is waited for where that fits the budget and reported with its time where it does not, and
//! items of other families go on.
//!
//! | an item that | is |
//! |---|---|
//! | was answered, with any status that is no limit | [`Done`] |
//! | was limited, or whose family cools, where the wait fits the budget | held back; sent again when the gate lets it, in order and at the recovery's pace |
//! | the same, where the wait does not fit, or nobody knows its end | [`Deferred`], at once, with family, reason and time |
//! | is of a family that has half of the places already, while others want them | sent when one of those is free |
//! | met an exhausted quota or a ban, or came after that | [`Deferred`], at once: nobody waits for these |
//! | was not sent when the budget ended | [`Deferred`] |
//! | met an ordinary fault, or was on its way when the budget ended | [`Failed`]: sending it again is `tower::retry`'s job, in the stack |
//! | has no request, or whose closure or service panicked | [`Failed`] |
//!
//! `docs/background.md` has the whole table.
//!
//! **Place.** Around everything: a stack, or any other service of requests that is [`Clone`]. It sends with
//! [`NoWait`](crate::NoWait) and waits itself, in the queue of each gate, with one place for all of its items of that family. So
//! [`RetryAfterLayer`](crate::RetryAfterLayer) has nothing to wait for, and a budget in the stack bounds each send alone. It finds
//! the families below by itself, see [`Sweep::families`].
//!
//! ```
//! use std::time::Duration;
//!
//! use bytes::Bytes;
//! use forbear::{Families, Sweep};
//! use forbear_mock::{MockVendor, reply};
//! use http_body_util::Empty;
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! let mock = MockVendor::in_process().script([reply(200).times(38), reply(429).retry_after(30), reply(200)]);
//! let families = Families::builder().build()?;
//! let vendor = forbear::stack(&families).service(mock.service());
//!
//! let sweep = Sweep::new(vendor).budget(Duration::from_secs(60));
//! let report = sweep.run(1..=40, |id| http::Request::get(mock.url(&format!("/{id}"))).body(Empty::<Bytes>::new())).await;
//! assert_eq!(report.to_string(), "40 done, 0 deferred, 0 failed");
//! # Ok(())
//! # }
//! ```
//!
//! Each outcome as soon as it is known, nothing waited for, and bodies read:
//!
//! ```
//! use forbear::{Families, Sweep, sweep::Outcome};
//! # use forbear_mock::{MockVendor, reply};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! # let mock = MockVendor::in_process().script([reply(200).body("7"), reply(429).retry_after(30)]);
//! # let families = Families::builder().build()?;
//! # let vendor = forbear::stack(&families).service(mock.service());
//! # let request = |id: &u32| http::Request::get(mock.url(&format!("/{id}"))).body(http_body_util::Empty::<bytes::Bytes>::new());
//! let sweep = Sweep::new(vendor).concurrency(1).without_waiting().read_bodies(1 << 20);
//! let mut outcomes = sweep.stream(1..=3_u32, request);
//! let mut later = Vec::new();
//! while let Some(outcome) = outcomes.next().await {
//!     match outcome {
//!         Outcome::Done(done) => assert_eq!((done.item, &done.response.body()[..]), (1, &b"7"[..])),
//!         Outcome::Deferred(late) => later.push((late.item, late.until())),
//!         other => return Err(format!("{other:?}").into()),
//!     }
//! }
//! assert_eq!(later.len(), 2);
//! mock.assert_attempts(2);
//! # Ok(())
//! # }
//! ```
//!
//! **Cancellation.** What was handed over is done for good. A sweep that is dropped drops what is on its way and what it holds
//! back, and gives up its places; [`Sweep::run_into`] keeps what was done, [`Outcomes::stop`] ends it in good order.
//!
//! **Panics** of the closure and of the service cost their item. Those of the items themselves, as from an iterator, go through.
//!
//! **Memory.** Items on their way ([`Sweep::concurrency`], 8) and items held back ([`Sweep::hold`], 16,384), without requests and
//! answers; with so many held no further one is taken until one is sent. A place in a queue and a timer for each family that is
//! waited for. Without a gate below, and where one URL alone is to be left in peace, an item waits by itself, with a timer of its
//! own.

mod bodies;
mod ending;
mod flight;
mod gates;
mod holds;
mod item;
mod judge;
mod outcome;
mod outcomes;
mod places;
mod progress;
mod report;
mod request;
mod settings;
mod state;
mod watch;
mod why;

pub use bodies::{BodiesRead, BodyRead, TooLong};
pub use outcome::{Deferred, Done, Failed, Outcome};
pub use outcomes::Outcomes;
pub use progress::Progress;
pub use report::Report;
pub use request::{IntoRequest, NoRequest, Panicked};
pub use settings::Sweep;
