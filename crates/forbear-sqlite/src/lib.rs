//! What [forbear](https://docs.rs/forbear) knows, kept in one SQLite file on this machine.
//!
//! **The failure it prevents.** A vendor asks to be left alone for a day, the program is deployed anew in the second hour, and
//! calls it at once, with everybody who waited; or what a crash left of a state file cannot be read, and the program does not
//! start. Here a restart in the middle of a cool-down stays cool, and a file that cannot be read is set aside: the program
//! starts, empty, and says so.
//!
//! ```
//! use forbear_sqlite::SqliteStore;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("forbear.db");
//! let store = SqliteStore::open(&path)?;
//! // Families::builder().family(…).store(store.clone()).build()?
//! # drop(store);
//! # Ok(())
//! # }
//! ```
//!
//! | what is found | what happens |
//! |---|---|
//! | nothing | a file is made, with the mode 0600 |
//! | a file of this or an earlier version | it is opened; an earlier one is brought up to date |
//! | a file that is no database, is cut off, damaged, or of a later version | it is renamed to `….corrupt-…`, with what belongs to it; an ERROR event and [health](SqliteStore::note) say so; an empty one is made |
//! | a database of another program; a directory; a place that cannot be written | [`InvalidStore`]: nothing is touched |
//! | later: it is damaged, removed or replaced | the same as at the start; what is known is written again |
//! | later: it cannot be written (full, locked, read-only) | [`StoreError`](forbear_core::store::StoreError): it is tried again, and what is known goes on |
//!
//! One thread of its own writes; all that is asked for while it writes goes into its next transaction. Its queue is bounded, and who asks
//! for more waits. A second one begins with the first look for a [response](forbear_core::store::ResponseStore), and waits for no write. They take up to 10 MiB of memory for pages, and the file `-wal` may have 16 MiB and more while much is written. Several processes may share one file. What it answers is durable: with the default
//! [`Durability::Full`] also where the machine loses power.
//!
//! What came in as a secret is in the file as a keyed hash alone; the key is in the file too. Names of families, hosts and what
//! health shows of a signal are readable, and so are the keys of refresh work, and the fields and bodies of answers.

mod aside;
mod cooldowns;
mod file;
mod invalid;
mod open;
mod responses;
mod row;
mod schema;
mod settings;
mod store;
mod work;
mod writer;

pub use invalid::InvalidStore;
pub use settings::{Durability, Settings};
pub use store::SqliteStore;
