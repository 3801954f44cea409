//! The thread that reads responses, with a connection of its own: it waits for no write, and no write for it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use forbear_core::store::{FoundResponses, ResponseKey, StoreError, StoreFault};
use forbear_core::work::Stamp;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::{mpsc, oneshot};

use super::find::{Looked, Then, find};
use super::{Shared, sql};
use crate::file::Identity;
use crate::open::is_damage;
use crate::writer::{Writer, closed, failed};

/// So many wait for the thread; who comes then waits for a place.
const QUEUE: usize = 1_024;
/// Pages of 2 MiB: what is read is in memory above already.
const CACHE: i64 = -2_048;

/// Asks the thread. It begins with the first who asks, and ends when the last clone of the store is gone.
#[derive(Debug, Clone)]
pub(crate) struct Reader {
    asks: Arc<Mutex<Option<mpsc::Sender<Ask>>>>,
    writer: Writer,
    shared: Arc<Shared>,
    path: Arc<Path>,
    busy: Duration,
}

/// Who asks for what.
struct Ask {
    key: ResponseKey,
    at: Stamp,
    tell: oneshot::Sender<Result<FoundResponses, StoreError>>,
}

impl Reader {
    pub(crate) fn new(writer: &Writer, shared: &Arc<Shared>, path: &Path, busy: Duration) -> Self {
        Self {
            asks: Arc::default(),
            writer: writer.clone(),
            shared: Arc::clone(shared),
            path: path.into(),
            busy,
        }
    }

    pub(super) async fn find(&self, key: ResponseKey, at: Stamp) -> Result<FoundResponses, StoreError> {
        let (tell, told) = oneshot::channel();
        let asks = self.begun()?;
        asks.send(Ask { key, at, tell }).await.map_err(|_| closed())?;
        drop(asks);
        told.await.unwrap_or_else(|_| Err(closed()))
    }

    fn begun(&self) -> Result<mpsc::Sender<Ask>, StoreError> {
        let mut asks = self.asks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(asks) = asks.as_ref().filter(|asks| !asks.is_closed()) {
            return Ok(asks.clone());
        }
        let (begun, queue) = mpsc::channel(QUEUE);
        let thread = Thread {
            file: None,
            writer: self.writer.clone(),
            shared: Arc::clone(&self.shared),
            path: self.path.to_path_buf(),
            busy: self.busy,
        };
        std::thread::Builder::new()
            .name("forbear-sqlite-read".into())
            .spawn(move || thread.run(queue))
            .map_err(|error| StoreError::new(StoreFault::Unavailable, "read the file").because(error))?;
        *asks = Some(begun.clone());
        Ok(begun)
    }
}

struct Thread {
    /// It goes before the writer, who leaves the file whole.
    file: Option<(Connection, Option<Identity>)>,
    writer: Writer,
    shared: Arc<Shared>,
    path: PathBuf,
    busy: Duration,
}

impl Thread {
    fn run(mut self, mut queue: mpsc::Receiver<Ask>) {
        while let Some(Ask { key, at, tell }) = queue.blocking_recv() {
            if tell.is_closed() {
                continue;
            }
            match self.look(key, at) {
                Ok(Looked { found, then }) => {
                    // First: what is asked for once this is told comes after it.
                    self.write(then);
                    let _ = tell.send(Ok(found));
                }
                Err(error) => {
                    self.file = None;
                    if is_damage(&error) {
                        // Who writes sees to that.
                        self.writer.check();
                    }
                    let _ = tell.send(Err(failed(error)));
                }
            }
        }
    }

    fn look(&mut self, key: ResponseKey, at: Stamp) -> rusqlite::Result<Looked> {
        if self.file.as_ref().is_some_and(|(_, identity)| *identity != Identity::of(&self.path)) {
            self.file = None;
        }
        let file = match self.file.take() {
            Some(file) => file,
            None => self.opened()?,
        };
        let (connection, _) = self.file.insert(file);
        let transaction = connection.transaction()?;
        let looked = find(&transaction, &self.shared, key, at)?;
        transaction.commit()?;
        Ok(looked)
    }

    fn opened(&self) -> rusqlite::Result<(Connection, Option<Identity>)> {
        let identity = Identity::of(&self.path);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.busy_timeout(self.busy)?;
        connection.pragma_update(None, "query_only", true)?;
        connection.pragma_update(None, "trusted_schema", false)?;
        connection.pragma_update(None, "cell_size_check", true)?;
        connection.pragma_update(None, "cache_size", CACHE)?;
        connection.set_prepared_statement_cache_capacity(8);
        let _ = sql::was_at(&connection)?;
        Ok((connection, identity))
    }

    fn write(&self, then: Then) {
        if !then.is_nothing() {
            self.writer.tell(move |connection| then.write(connection));
        }
    }
}
