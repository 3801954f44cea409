use std::path::Path;
use std::time::Duration;

use crate::{InvalidStore, SqliteStore};

/// What an answer promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Durability {
    /// It survives the process, and the machine's loss of power: each transaction is on the disk before its answer.
    #[default]
    Full,
    /// It survives the process. A loss of power may take the last transactions; the file stays whole. Faster where the disk is slow.
    Process,
}

/// How a store is opened. See [`SqliteStore::settings`].
#[derive(Debug, Clone)]
#[must_use = "call `open` to get the store"]
pub struct Settings {
    pub(crate) durability: Durability,
    pub(crate) busy: Duration,
    pub(crate) max_size: Option<u64>,
    pub(crate) max_responses: u64,
}

/// Pages are as long as SQLite makes them.
pub(crate) const PAGE: u64 = 4096;
/// The tables alone need this.
const LEAST: u64 = 64 * PAGE;
/// Room for responses, in bytes.
const RESPONSES: u64 = 256 * 1024 * 1024;

impl Default for Settings {
    fn default() -> Self {
        Self {
            durability: Durability::default(),
            busy: Duration::from_secs(5),
            max_size: None,
            max_responses: RESPONSES,
        }
    }
}

impl Settings {
    /// What an answer promises ([`Durability::Full`]).
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// How long it waits for another process that writes (5 s). Then what was asked for fails, and may be tried again.
    pub fn busy(mut self, busy: Duration) -> Self {
        self.busy = busy;
        self
    }

    /// How many bytes the file may have at most, its `-wal` not counted (no limit). At least 256 KiB. Beyond it nothing new is written, as on a
    /// disk that is full.
    pub fn max_size(mut self, bytes: u64) -> Self {
        self.max_size = Some(bytes);
        self
    }

    /// How many bytes of responses are kept at most (256 MiB), and never more than half of [`max_size`](Self::max_size): cool-downs go before
    /// them. What was used least lately leaves. Counted as [`StoredResponse::bytes`](forbear_core::store::StoredResponse::bytes); the file takes up
    /// to twice as much for small ones, and does not shrink.
    pub fn max_responses(mut self, bytes: u64) -> Self {
        self.max_responses = bytes;
        self
    }

    pub(crate) fn room_for_responses(&self) -> u64 {
        self.max_size.map_or(self.max_responses, |all| self.max_responses.min(all / 2))
    }

    /// Opens the file, or makes it. It blocks the calling thread for some milliseconds, about a second for each 500 MB, which it
    /// checks; or for as long as another process opens it, at most [`busy`](Self::busy).
    ///
    /// # Errors
    /// [`InvalidStore`] names the path and says why no store can be there: it is a directory, its directory is missing or cannot be
    /// written, it is the database of another program, or another process holds it for too long. A file that is damaged is no
    /// error, see the [page](crate).
    pub fn open(self, path: impl AsRef<Path>) -> Result<SqliteStore, InvalidStore> {
        let path = path.as_ref();
        if let Some(bytes) = self.max_size.filter(|bytes| *bytes < LEAST) {
            return Err(InvalidStore::new(
                path,
                format!("max_size {bytes} is too small; give at least {LEAST} bytes"),
            ));
        }
        SqliteStore::opened(path, self)
    }
}
