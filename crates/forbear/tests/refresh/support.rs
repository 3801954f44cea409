//! A refresh over a mock vendor, and a store that counts, fails and takes its time.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use bytes::Bytes;
use forbear::refresh::work::{
    Bounds, DemandReason, Demanded, Extended, Finished, Invalidated, Key, Retried, Row, SourceName, Stamp,
    Tally, Terms, Undemanded,
};
use forbear::refresh::{HttpSource, RefreshBuilder};
use forbear::{Families, Family, MemoryWorkStore, Refresh, Source, Vendor};
use forbear_core::store::{Claims, Finish, Held, Kept, Rows, StoreError, StoreFault, StoreFuture, WorkStore};
use forbear_mock::{MockService, MockVendor};
use http::Request;
use http_body_util::Full;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const MINUTE: Duration = Duration::from_secs(60);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

pub(crate) type Body = Full<Bytes>;

/// Families without hosts in common; each source names its own.
pub(crate) fn families(names: &[&str]) -> Families {
    let builder = names.iter().fold(Families::builder(), |builder, name| {
        builder.family(Family::new(*name).host(format!("{name}.test")))
    });
    builder.build().unwrap()
}

pub(crate) fn vendor(families: &Families, mock: &MockVendor) -> Vendor<MockService> {
    forbear::stack(families).service(mock.service())
}

/// What was stored, and when.
#[derive(Debug, Clone)]
pub(crate) struct Shelf(Arc<Mutex<Vec<(String, Instant)>>>, Instant);

impl Shelf {
    pub(crate) fn new() -> Self {
        Self(Arc::default(), Instant::now())
    }

    pub(crate) fn put(&self, key: &Key) {
        self.0.lock().unwrap().push((key.to_string(), Instant::now()));
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    pub(crate) fn of(&self, key: &str) -> usize {
        self.0.lock().unwrap().iter().filter(|(stored, _)| stored == key).count()
    }

    /// How often each key was stored.
    pub(crate) fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for (key, _) in self.0.lock().unwrap().iter() {
            *counts.entry(key.clone()).or_default() += 1;
        }
        counts
    }

    /// Since it was made.
    pub(crate) fn times(&self) -> Vec<(String, Duration)> {
        self.0.lock().unwrap().iter().map(|(key, at)| (key.clone(), *at - self.1)).collect()
    }
}

/// The request for a key: its path is the key.
pub(crate) fn request(key: &Key) -> Result<Request<Body>, http::Error> {
    Request::get(format!("http://vendor.test/{key}")).body(Body::default())
}

/// A source that fetches its keys, and puts them on a shelf.
pub(crate) fn shelved(source: Source, shelf: &Shelf) -> HttpSource<Body> {
    let shelf = shelf.clone();
    source.fetch(request).store(move |key, _| {
        shelf.put(&key);
        async { Ok::<_, std::io::Error>(()) }
    })
}

/// A source `quotes` of the family `quotes`, every hour.
pub(crate) fn quotes() -> Source {
    Source::new("quotes").family("quotes").every(HOUR).jitter(0.0)
}

/// One source `quotes` with a vendor of its own, kept in memory.
pub(crate) struct World {
    pub(crate) mock: MockVendor,
    pub(crate) families: Families,
    pub(crate) shelf: Shelf,
    pub(crate) store: Arc<TestStore>,
}

impl World {
    pub(crate) fn new(mock: MockVendor) -> Self {
        Self { mock, families: families(&["quotes"]), shelf: Shelf::new(), store: TestStore::new() }
    }

    pub(crate) fn builder(&self) -> RefreshBuilder<Vendor<MockService>> {
        Refresh::builder(vendor(&self.families, &self.mock), Arc::clone(&self.store))
    }

    pub(crate) fn refresh(&self, source: Source) -> Refresh {
        self.builder().source(shelved(source, &self.shelf)).build().unwrap()
    }

    /// The wall clock, about: a test takes no time of it.
    #[expect(clippy::disallowed_methods, reason = "what is stored is by the wall clock")]
    pub(crate) fn now(&self) -> Stamp {
        Stamp::of(std::time::SystemTime::now())
    }

    pub(crate) async fn row(&self, key: &str) -> Option<Row> {
        let (source, key) = (SourceName::new("quotes").unwrap(), Key::new(key).unwrap());
        self.store.row(&source, &key).await.unwrap()
    }
}

/// A refresh that runs until it is told to stop.
pub(crate) struct Runs {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

pub(crate) fn run(refresh: &Refresh) -> Runs {
    let (refresh, (stop, stopped)) = (refresh.clone(), oneshot::channel());
    let task = tokio::spawn(async move { refresh.run(async { drop(stopped.await) }).await });
    Runs { stop, task }
}

impl Runs {
    pub(crate) async fn stop(self) {
        let _ = self.stop.send(());
        self.task.await.unwrap();
    }

    /// As if its process went: it is dropped where it stands.
    pub(crate) async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

/// Sleeps until `holds`, at most an hour.
#[track_caller]
pub(crate) fn until(holds: impl Fn() -> bool) -> impl Future<Output = ()> {
    let caller = std::panic::Location::caller();
    async move {
        let start = Instant::now();
        while !holds() {
            assert!(start.elapsed() < HOUR, "not within an hour, at {caller}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

pub(crate) fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{n:05}")).collect()
}

/// What a store does that does not do all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    Well,
    /// Nothing is done.
    Gone,
    /// Calls never come back.
    Hangs,
    /// It can be read, and not written.
    Full,
    Panics,
    /// Of two calls one is not done.
    Flaky,
}

/// A store that counts its calls, has moods, and can take its time.
pub(crate) struct TestStore {
    inner: Box<dyn WorkStore>,
    /// Whether it answers from a thread of its own: the paused clock stands while it is waited for.
    blocks: bool,
    calls: AtomicUsize,
    claims: AtomicUsize,
    mood: Mutex<Mood>,
    yields: AtomicUsize,
}

impl TestStore {
    pub(crate) fn new() -> Arc<Self> {
        Self::over(MemoryWorkStore::new(), false)
    }

    pub(crate) fn over(inner: impl WorkStore, blocks: bool) -> Arc<Self> {
        Arc::new(Self {
            inner: Box::new(inner),
            blocks,
            calls: AtomicUsize::new(0),
            claims: AtomicUsize::new(0),
            mood: Mutex::new(Mood::Well),
            yields: AtomicUsize::new(0),
        })
    }

    /// Calls so far.
    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    /// Claims so far.
    pub(crate) fn claims(&self) -> usize {
        self.claims.load(Ordering::SeqCst)
    }

    pub(crate) fn is(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    pub(crate) fn is_gone(&self, gone: bool) {
        self.is(if gone { Mood::Gone } else { Mood::Well });
    }

    /// Calls never come back.
    pub(crate) fn hangs(&self, hangs: bool) {
        self.is(if hangs { Mood::Hangs } else { Mood::Well });
    }

    /// Each call is pending so often before it does something, and so often after.
    pub(crate) fn yields(&self, times: usize) {
        self.yields.store(times, Ordering::SeqCst);
    }

    fn writes<'a, T: Send + 'a>(
        &'a self,
        doing: impl FnOnce() -> StoreFuture<'a, T> + Send + 'a,
    ) -> StoreFuture<'a, T> {
        if *self.mood.lock().unwrap() == Mood::Full {
            self.calls.fetch_add(1, Ordering::SeqCst);
            return Box::pin(async { Err(StoreError::new(StoreFault::Full, "do as a test says")) });
        }
        self.meet(doing)
    }

    fn meet<'a, T: Send + 'a>(
        &'a self,
        doing: impl FnOnce() -> StoreFuture<'a, T> + Send + 'a,
    ) -> StoreFuture<'a, T> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            let yields = self.yields.load(Ordering::SeqCst);
            for _ in 0..yields {
                tokio::task::yield_now().await;
            }
            let mood = *self.mood.lock().unwrap();
            if mood == Mood::Hangs {
                std::future::pending::<()>().await;
            }
            if mood == Mood::Panics {
                std::panic::resume_unwind(Box::new("a store"));
            }
            if mood == Mood::Gone || (mood == Mood::Flaky && call.is_multiple_of(2)) {
                return Err(StoreError::new(StoreFault::Unavailable, "do as a test says"));
            }
            let did = self.done(doing()).await;
            for _ in 0..yields {
                tokio::task::yield_now().await;
            }
            did
        })
    }

    async fn done<T>(&self, doing: StoreFuture<'_, T>) -> Result<T, StoreError> {
        if self.blocks { blocked(doing) } else { doing.await }
    }
}

struct Unparks(std::thread::Thread);

impl Wake for Unparks {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// What comes of something on another thread. The clock of a paused runtime stands meanwhile, as it would not where the task only
/// waited.
pub(crate) fn blocked<T>(doing: impl Future<Output = T>) -> T {
    let mut doing = pin!(tokio::task::coop::unconstrained(doing));
    let waker = Waker::from(Arc::new(Unparks(std::thread::current())));
    loop {
        if let Poll::Ready(done) = doing.as_mut().poll(&mut Context::from_waker(&waker)) {
            return done;
        }
        std::thread::park();
    }
}

impl fmt::Debug for TestStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TestStore")
    }
}

impl WorkStore for TestStore {
    fn demand<'a>(
        &'a self,
        source: &'a SourceName,
        keys: &'a [Key],
        reason: &'a DemandReason,
        now: Stamp,
    ) -> StoreFuture<'a, Vec<Demanded>> {
        self.writes(move || self.inner.demand(source, keys, reason, now))
    }

    fn undemand<'a>(
        &'a self,
        source: &'a SourceName,
        keys: &'a [Key],
        reason: &'a DemandReason,
    ) -> StoreFuture<'a, Vec<Undemanded>> {
        self.writes(move || self.inner.undemand(source, keys, reason))
    }

    fn invalidate<'a>(
        &'a self,
        source: &'a SourceName,
        keys: &'a [Key],
        now: Stamp,
    ) -> StoreFuture<'a, Vec<Invalidated>> {
        self.writes(move || self.inner.invalidate(source, keys, now))
    }

    fn retry<'a>(
        &'a self,
        source: &'a SourceName,
        keys: &'a [Key],
        now: Stamp,
    ) -> StoreFuture<'a, Vec<Retried>> {
        self.writes(move || self.inner.retry(source, keys, now))
    }

    fn claim<'a>(
        &'a self,
        source: &'a SourceName,
        limit: usize,
        terms: &'a Terms,
    ) -> StoreFuture<'a, Claims> {
        self.claims.fetch_add(1, Ordering::SeqCst);
        self.writes(move || self.inner.claim(source, limit, terms))
    }

    fn extend<'a>(
        &'a self,
        source: &'a SourceName,
        claims: &'a [Held],
        until: Stamp,
    ) -> StoreFuture<'a, Vec<Extended>> {
        self.writes(move || self.inner.extend(source, claims, until))
    }

    fn finish<'a>(
        &'a self,
        source: &'a SourceName,
        runs: &'a [Finish],
        now: Stamp,
    ) -> StoreFuture<'a, Vec<Finished>> {
        self.writes(move || self.inner.finish(source, runs, now))
    }

    fn mend<'a>(&'a self, source: &'a SourceName, bounds: &'a Bounds) -> StoreFuture<'a, u64> {
        self.meet(move || self.inner.mend(source, bounds))
    }

    fn next<'a>(&'a self, sources: &'a [SourceName]) -> StoreFuture<'a, Vec<Option<Stamp>>> {
        self.meet(move || self.inner.next(sources))
    }

    fn tally<'a>(&'a self, sources: &'a [SourceName], now: Stamp) -> StoreFuture<'a, Vec<Tally>> {
        self.meet(move || self.inner.tally(sources, now))
    }

    fn row<'a>(&'a self, source: &'a SourceName, key: &'a Key) -> StoreFuture<'a, Option<Row>> {
        Box::pin(self.done(self.inner.row(source, key)))
    }

    fn rows<'a>(&'a self, source: &'a SourceName, page: &'a Rows) -> StoreFuture<'a, Vec<Kept>> {
        Box::pin(self.done(self.inner.rows(source, page)))
    }
}
