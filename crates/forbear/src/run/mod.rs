//! What is not HTTP: a command, a vendor's SDK, a WebSocket.
//!
//! **The failure it prevents.** A program calls a vendor over HTTP and through its command line tool, and only one of the
//! two knows that the vendor said to stop: the other goes on until both are banned. Here a run goes through the gate of
//! the same family. A signal that either meets cools both, one of all is the probe, and health shows one line.
//!
//! | the family is | a run |
//! |---|---|
//! | open | begins at once |
//! | cooling, probing, recovering | waits its turn among all callers where that fits the budget, without one at most 60 s; else [`Cooling`](crate::Cooling) |
//! | [paced](crate::pacing) | waits for its turn in the queue of HTTP attempts, else [`PacingRefused`](crate::PacingRefused); it is in flight until its output |
//! | cooling, probing, recovering, with [`FamilyGate::no_wait`] | ends in [`Cooling`](crate::Cooling) at once |
//! | paused | ends in [`Cooling`](crate::Cooling) at once |
//! | [shut down](crate::Families::shutdown) | ends in [`Cooling`](crate::Cooling) where it would wait, or waited |
//! | removed | ends in [`UnknownFamily`](crate::UnknownFamily), also where it waited |
//!
//! | what happens to the run | its family | its caller gets |
//! |---|---|---|
//! | `classify` says [`Good`](Verdict::Good) | is served | its output |
//! | `classify` says [`Bad`](Verdict::Bad) | cools, as after a limited answer over HTTP | its output |
//! | `classify` says [`Neutral`](Verdict::Neutral) | learns nothing | its output |
//! | the deadline comes | learns nothing | [`BudgetExhausted`](crate::BudgetExhausted): it is dropped |
//! | it panics, or `classify` does, or it is dropped | learns nothing; what it held goes to the next caller | |
//!
//! [`FamilyGate::route`] stands for the path of a request, and [`FamilyGate::partition`] for its credential: a signal of one
//! part of the family closes that part alone, for HTTP and for runs, and a route that is refused while the rest of its
//! family is served gets a gate of its own.
//!
//! A run is never run twice: a limited one is waited for by the next. Its closure is called once, after the gate let it
//! through, or not at all. It counts as one attempt for the budgets around it, and inside it [`Budget::current`] tells
//! what is left.
//!
//! ```
//! use std::time::Duration;
//!
//! use forbear::{Class, Error, Families, Family, Verdict, signal::Signal};
//!
//! # async fn run_cli(args: &[&str]) -> Result<String, String> { Err(format!("{args:?}: too many requests, try again in 30s")) }
//! fn classify(result: &Result<String, String>) -> Verdict {
//!     match result {
//!         Ok(_) => Verdict::Good,
//!         Err(said) if said.contains("too many requests") => {
//!             Signal::without_status(Class::Throttled).delay(Duration::from_secs(30)).reason("rate_limit").into()
//!         }
//!         // Not installed, wrong arguments, no network: no news of the vendor.
//!         Err(_) => Verdict::Neutral,
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Error> {
//! # let families = Families::builder().family(Family::new("social").host("api.social.example")).build().unwrap();
//! let args = ["post", "--text", "hello"];
//! let posted = families.gate("social")?.run(|| run_cli(&args), classify).await?;
//! assert!(posted.is_err());
//! assert_eq!(families.health().to_string(), "social  cooling 30s  rate_limit");
//! # Ok(())
//! # }
//! ```
//!
//! With a budget, at background priority, and a name for what was called; an SDK whose answers have a status says so:
//!
//! ```
//! use std::time::Duration;
//!
//! use forbear::{Class, Error, Families, Priority, Verdict, signal::Signal};
//! use http::StatusCode;
//!
//! # struct Failure { status: StatusCode, retry_after: Duration }
//! # async fn fetch_feed() -> Result<u32, Failure> { Ok(7) }
//! # async fn feed(families: &Families) -> Result<(), Error> {
//! let feed = families.gate("social")?.route("feed").budget(Duration::from_secs(20)).priority(Priority::Background);
//! let fetched = feed
//!     .run(fetch_feed, |result| match result {
//!         Ok(_) => Verdict::Good,
//!         Err(failure) if failure.status == StatusCode::TOO_MANY_REQUESTS => {
//!             Signal::new(Class::Throttled, failure.status).delay(failure.retry_after).into()
//!         }
//!         Err(failure) => Verdict::unclassified(failure.status),
//!     })
//!     .await?;
//! # let _ = fetched;
//! # Ok(())
//! # }
//! ```
//!
//! **Place in the order.** A run has budget, waiting and gate in it: put no layer around it, and nothing that repeats it
//! inside. **Cancellation.** Dropping it drops what it runs, or its place in the queue, or the probe that it was granted. A
//! child process outlives its future, unless it was told otherwise: `tokio::process::Command::kill_on_drop`.
//! **Memory.** No allocation but for a wait, or a turn.
//!
//! [`Budget::current`]: crate::Budget::current

mod begun;
mod future;
mod gate;

pub use forbear_core::dialect::Verdict;
pub use future::Run;
pub use gate::FamilyGate;
