use std::path::Path;
use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

use forbear_core::store::{StoreError, StoreFault};
use rusqlite::Connection;

use crate::open::place;
use crate::responses::{Reader, Shared};
use crate::writer::Writer;
use crate::{InvalidStore, Settings};

/// One SQLite file, and the thread that writes it. Clones share both.
///
/// The thread ends when the last clone is dropped, after it wrote what it was given; [`close`](Self::close) waits for it.
#[derive(Debug, Clone)]
pub struct SqliteStore {
    writer: Writer,
    reader: Reader,
    responses: Arc<Shared>,
    /// How many losses those were told who keep cool-downs.
    known_losses: Arc<AtomicU64>,
    /// The same of those who keep refresh work.
    known_work_losses: Arc<AtomicU64>,
}

impl SqliteStore {
    /// Opens the file, or makes it, with the default [`Settings`].
    ///
    /// Open it before the first [`Partition`](forbear_core::partition::Partition) is made: they are hashed by the key that is in the file.
    ///
    /// # Errors
    /// As [`Settings::open`], which also says what it blocks for.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, InvalidStore> {
        Settings::default().open(path)
    }

    /// How a store is opened.
    pub fn settings() -> Settings {
        Settings::default()
    }

    pub(crate) fn opened(path: &Path, settings: Settings) -> Result<Self, InvalidStore> {
        let path = place(path)?;
        let (most, busy) = (settings.room_for_responses(), settings.busy);
        let (writer, secret, was_at) = Writer::begin(&path, settings)?;
        let responses = Shared::new(secret, most, was_at);
        let reader = Reader::new(&writer, &responses, &path, busy);
        let (known_losses, known_work_losses) = (Arc::default(), Arc::default());
        Ok(Self { writer, reader, responses, known_losses, known_work_losses })
    }

    /// What an operator should know of the file: that one was set aside, and where it is now. Health shows it.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        self.writer.told().note.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets the file go. Returns once the thread has ended, which it does after the last other clone is dropped; the file is whole by
    /// itself then, without the two beside it.
    pub async fn close(self) {
        let Self { writer, reader, .. } = self;
        drop(reader);
        writer.close().await;
    }

    pub(crate) fn writer(&self) -> &Writer {
        &self.writer
    }

    pub(crate) fn reader(&self) -> &Reader {
        &self.reader
    }

    pub(crate) fn responses(&self) -> &Arc<Shared> {
        &self.responses
    }

    /// Asks the thread for something about cool-downs.
    pub(crate) async fn cooldowns<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.ask(&self.known_losses, "keep cool-downs", job).await
    }

    /// The same about refresh work.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.ask(&self.known_work_losses, "keep refresh work", job).await
    }

    /// That the file lost what it held is told once to those who keep the one thing and once to those who keep the other: they may
    /// not have asked when it happened.
    async fn ask<T: Send + 'static>(
        &self,
        known: &AtomicU64,
        doing: &'static str,
        job: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let losses = || self.writer.told().losses.load(Ordering::Acquire);
        let now = losses();
        if known.swap(now, Ordering::AcqRel) != now {
            let lost = StoreError::new(StoreFault::Lost, doing);
            return Err(lost.because("the file was damaged, removed or replaced"));
        }
        let answer = self.writer.ask(job).await;
        if answer.as_ref().is_err_and(|error| error.fault() == StoreFault::Lost) {
            known.store(losses(), Ordering::Release);
        }
        answer
    }
}
