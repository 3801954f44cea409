//! The thread that has the file: what is asked for while it writes goes into its next transaction.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use forbear_core::store::{ResponseSecret, StoreError, StoreFault};
use forbear_core::work::Stamp;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

use crate::file::Identity;
use crate::open::{Opened, is_damage, open};
use crate::{InvalidStore, Settings};

/// So many wait for the thread; who comes then waits for a place.
const QUEUE: usize = 1_024;
/// So many go into one transaction.
const AT_ONCE: usize = 256;

/// What the thread does with the file for somebody.
trait Job: Send {
    /// Does it. Once.
    fn run(&mut self, connection: &Connection) -> rusqlite::Result<()>;
    /// Tells that what was done is durable, or why nothing is.
    fn tell(self: Box<Self>, durable: Result<(), StoreError>);
}

/// A job, what came of it, and who waits.
struct Asked<F, T> {
    job: Option<F>,
    done: Option<T>,
    tell: oneshot::Sender<Result<T, StoreError>>,
}

impl<T: Send, F: FnOnce(&Connection) -> rusqlite::Result<T> + Send> Job for Asked<F, T> {
    fn run(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        if let Some(job) = self.job.take() {
            self.done = Some(job(connection)?);
        }
        Ok(())
    }

    fn tell(self: Box<Self>, durable: Result<(), StoreError>) {
        // Who does not wait any more is not told.
        let Self { tell, done, .. } = *self;
        let _ = tell.send(durable.and_then(|()| done.ok_or_else(closed)));
    }
}

/// Asks the thread. The thread ends when the last clone is gone, after it did what was asked.
#[derive(Clone)]
pub(crate) struct Writer {
    jobs: mpsc::Sender<Box<dyn Job>>,
    told: Arc<Told>,
}

/// What the thread tells of itself.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// How often what the file held was lost.
    pub(crate) losses: AtomicU64,
    /// Something for an operator.
    pub(crate) note: Mutex<Option<String>>,
    /// The thread has ended.
    ended: Mutex<Option<oneshot::Receiver<()>>>,
}

impl Writer {
    /// Opens the file, and begins the thread. With it comes what of the file those know who keep responses.
    pub(crate) fn begin(
        path: &Path,
        settings: Settings,
    ) -> Result<(Self, ResponseSecret, Option<Stamp>), InvalidStore> {
        let opened = open(path, &settings, ResponseSecret::random())?;
        let secret = opened.secret;
        // One that cannot be read now is read with the first response.
        let was_at = crate::responses::was_at(&opened.connection).ok().flatten();
        let (jobs, queue) = mpsc::channel(QUEUE);
        let (end, ended) = oneshot::channel();
        let told = Arc::new(Told { ended: Mutex::new(Some(ended)), ..Told::default() });
        told.opened(&opened);
        let thread = Thread {
            path: path.to_owned(),
            settings,
            secret,
            told: Arc::clone(&told),
            file: Some(opened.into()),
        };
        std::thread::Builder::new()
            .name("forbear-sqlite".into())
            .spawn(move || {
                thread.run(queue);
                let _ = end.send(());
            })
            .map_err(|error| {
                InvalidStore::because(path, "no thread can be begun to write it; free some", error)
            })?;
        Ok((Self { jobs, told }, secret, was_at))
    }

    pub(crate) fn told(&self) -> &Told {
        &self.told
    }

    /// Has the thread do `job` in a transaction, and returns once that is durable.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (tell, told) = oneshot::channel();
        let job = Box::new(Asked { job: Some(job), done: None, tell });
        self.jobs.send(job).await.map_err(|_| closed())?;
        told.await.unwrap_or_else(|_| Err(closed()))
    }

    /// Has the thread do `job` some time, where it has room for that.
    pub(crate) fn tell(&self, job: impl FnOnce(&Connection) -> rusqlite::Result<()> + Send + 'static) {
        let (tell, _) = oneshot::channel();
        let _ = self.jobs.try_send(Box::new(Asked { job: Some(job), done: None, tell }));
    }

    /// Somebody read what nobody can have written: has the thread look at the whole of the file.
    pub(crate) fn check(&self) {
        self.tell(|connection| {
            let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
            let damage = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
            if found == "ok" { Ok(()) } else { Err(rusqlite::Error::SqliteFailure(damage, Some(found))) }
        });
    }

    /// Lets the thread go, and returns once it has ended.
    pub(crate) async fn close(self) {
        let ended = self.told.ended.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(self.jobs);
        if let Some(ended) = ended {
            let _ = ended.await;
        }
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("told", &self.told).finish_non_exhaustive()
    }
}

impl Told {
    fn opened(&self, opened: &Opened) {
        let mut note = self.note.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((aside, why)) = &opened.aside {
            let name = aside.file_name().unwrap_or_default().to_string_lossy();
            *note = Some(format!("began empty: the file could not be read ({why}), and is kept as {name}"));
        }
        if !opened.key.adopt() && note.is_none() {
            *note = Some(
                "parts of families are not kept: a partition was named, or another store opened, before this one".into(),
            );
        }
    }
}

struct Thread {
    path: PathBuf,
    settings: Settings,
    /// What keys of responses are hashed with; a new file gets it.
    secret: ResponseSecret,
    told: Arc<Told>,
    /// `None` where it has to be opened again.
    file: Option<Held>,
}

struct Held {
    connection: Connection,
    identity: Option<Identity>,
}

impl From<Opened> for Held {
    fn from(opened: Opened) -> Self {
        Self { connection: opened.connection, identity: opened.identity }
    }
}

impl Thread {
    fn run(mut self, mut queue: mpsc::Receiver<Box<dyn Job>>) {
        while let Some(first) = queue.blocking_recv() {
            let mut batch = vec![first];
            while batch.len() < AT_ONCE
                && let Ok(next) = queue.try_recv()
            {
                batch.push(next);
            }
            self.batch(batch);
        }
    }

    /// Does all of it in one transaction.
    fn batch(&mut self, batch: Vec<Box<dyn Job>>) {
        let gone = match self.opened() {
            Ok(gone) => gone,
            Err(error) => return tell_all(batch, &error),
        };
        if let Some(why) = gone {
            return tell_all(batch, &lost(why));
        }
        let Some(file) = &mut self.file else { return };
        let mut batch: Vec<_> = batch.into_iter().map(|job| (job, None)).collect();
        let error = match transact(&mut file.connection, &mut batch) {
            Ok(()) => None,
            Err(error) if is_damage(&error) => {
                tracing::error!(path = %self.path.display(), why = %error, "store is damaged");
                self.file = None;
                let why = self.opened().ok().flatten();
                Some(lost(why.unwrap_or_else(|| error.to_string())))
            }
            Err(error) => Some(failed(error)),
        };
        for (job, own) in batch {
            job.tell(match (&error, own) {
                (Some(error), _) => Err(error.clone()),
                (None, Some(own)) => Err(failed(own)),
                (None, None) => Ok(()),
            });
        }
    }

    /// Sees to it that the file is open, and is the one that is there. Says why where what it held is lost.
    fn opened(&mut self) -> Result<Option<String>, StoreError> {
        if let Some(file) = &self.file {
            if file.identity == Identity::of(&self.path) {
                return Ok(None);
            }
            tracing::error!(path = %self.path.display(), "store was removed or replaced; what is known is written anew");
            self.file = None;
        }
        let opened = open(&self.path, &self.settings, self.secret)
            .map_err(|invalid| StoreError::new(StoreFault::Unavailable, KEEPING).because(invalid))?;
        self.told.opened(&opened);
        let why = match &opened.aside {
            Some((_, why)) => why.clone(),
            None => "the file was removed or replaced".to_owned(),
        };
        self.file = Some(opened.into());
        let _ = self.told.losses.fetch_add(1, Ordering::AcqRel);
        Ok(Some(why))
    }
}

/// Does every job by itself, so that one that fails takes no other with it, and makes all of them durable.
fn transact(
    connection: &mut Connection,
    batch: &mut [(Box<dyn Job>, Option<rusqlite::Error>)],
) -> rusqlite::Result<()> {
    let mut transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (job, failed) in batch {
        let savepoint = transaction.savepoint()?;
        match job.run(&savepoint) {
            Ok(()) => savepoint.commit()?,
            // A disk that is full, or breaks, may have ended the whole of it.
            Err(error) if is_damage(&error) || savepoint.is_autocommit() => return Err(error),
            Err(error) => {
                *failed = Some(error);
                savepoint.finish()?;
            }
        }
    }
    transaction.commit()
}

fn tell_all(batch: Vec<Box<dyn Job>>, error: &StoreError) {
    for job in batch {
        job.tell(Err(error.clone()));
    }
}

/// What it was asked for, in an error.
const KEEPING: &str = "use the file";

pub(crate) fn closed() -> StoreError {
    StoreError::new(StoreFault::Closed, KEEPING)
}

fn lost(why: String) -> StoreError {
    StoreError::new(StoreFault::Lost, KEEPING).because(why)
}

pub(crate) fn failed(error: rusqlite::Error) -> StoreError {
    let fault = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreFault::Full,
        _ => StoreFault::Unavailable,
    };
    StoreError::new(fault, KEEPING).because(error)
}
