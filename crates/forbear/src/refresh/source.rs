use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use forbear_core::work::{Key, LastError};
use http::{Request, Response};

use crate::Verdict;
use crate::body::BoxError;

/// Something that is refreshed key by key: what it is called, whose limit it counts against, how often, and how gently.
///
/// A source is complete with how a key is fetched and where the result goes: [`Source::fetch`] or [`Source::run`], and
/// then `store`. See the [module](super).
#[derive(Debug, Clone)]
#[must_use = "a source does nothing until it is given to a `RefreshBuilder`"]
pub struct Source {
    pub(super) name: String,
    pub(super) family: Option<String>,
    pub(super) every: Duration,
    pub(super) gap: Duration,
    pub(super) drain: u32,
    pub(super) priority: u32,
    pub(super) jitter: f64,
    pub(super) timeout: Duration,
    pub(super) max_attempts: u32,
    pub(super) backoff: (Duration, Duration),
    pub(super) stall: Duration,
    pub(super) body_limit: usize,
}

/// A [`Source`] that knows its requests, and not yet where their answers go.
#[must_use = "a source is complete with `store`"]
pub struct Fetching<B> {
    source: Source,
    fetch: Fetch<B>,
}

/// A complete [`Source`] that is fetched over HTTP.
#[must_use = "a source does nothing until it is given to a `RefreshBuilder`"]
pub struct HttpSource<B> {
    pub(super) source: Source,
    pub(super) fetch: Fetch<B>,
    pub(super) store: Store<Response<Bytes>>,
}

/// A [`Source`] that knows what it runs, and not yet where the output goes.
#[must_use = "a source is complete with `store`"]
pub struct Running<T> {
    source: Source,
    run: Run<T>,
    classify: Classify<T>,
}

/// A complete [`Source`] that is not HTTP.
#[must_use = "a source does nothing until it is given to a `RefreshBuilder`"]
pub struct GateSource<T> {
    pub(super) source: Source,
    pub(super) run: Run<T>,
    pub(super) classify: Classify<T>,
    pub(super) store: Store<T>,
}

pub(super) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;
pub(super) type Fetch<B> = Arc<dyn Fn(&Key) -> Result<Request<B>, LastError> + Send + Sync>;
pub(super) type Run<T> = Arc<dyn Fn(Key) -> BoxFuture<T> + Send + Sync>;
pub(super) type Classify<T> = Arc<dyn Fn(&T) -> Verdict + Send + Sync>;
pub(super) type Store<T> = Arc<dyn Fn(Key, T) -> BoxFuture<Result<(), LastError>> + Send + Sync>;

impl Source {
    /// A source called `name`, refreshed every 15 minutes. The name is stored with its keys, and shown: 1 to 64 bytes.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            family: None,
            every: Duration::from_secs(15 * 60),
            gap: Duration::ZERO,
            drain: 1,
            priority: 1,
            jitter: 0.1,
            timeout: Duration::from_secs(30),
            max_attempts: 5,
            backoff: (Duration::from_secs(10), Duration::from_secs(15 * 60)),
            stall: Duration::from_secs(24 * 60 * 60),
            body_limit: 16 << 20,
        }
    }

    /// The registered family whose limit it counts against. There is no default: without it a source cannot be built.
    pub fn family(self, name: impl Into<String>) -> Self {
        Self { family: Some(name.into()), ..self }
    }

    /// How long after a key was done it is due again (15 min).
    pub fn every(self, interval: Duration) -> Self {
        Self { every: interval, ..self }
    }

    /// How long after a run of a key it may run again at the earliest, whoever demands or invalidates it (0 s). At most
    /// [`every`](Source::every).
    pub fn gap(self, gap: Duration) -> Self {
        Self { gap, ..self }
    }

    /// How many runs may begin in one [tick](super::RefreshBuilder::tick) (1). Sources of one family share the largest
    /// of theirs.
    pub fn drain(self, runs: u32) -> Self {
        Self { drain: runs, ..self }
    }

    /// How large its share is beside other sources of its family, where all have something due (1): one with 3 begins
    /// three runs where one with 1 begins one. Neither starves.
    pub fn priority(self, share: u32) -> Self {
        Self { priority: share, ..self }
    }

    /// How much longer than [`every`](Source::every) a key may rest, as a part of it, drawn anew each time (0.1): so keys that were
    /// demanded together do not come together for ever.
    pub fn jitter(self, part: f64) -> Self {
        Self { jitter: part, ..self }
    }

    /// How long a fetch may take, its body and its turn in [pacing](crate::pacing) included; and as long again the store
    /// callback (30 s).
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// After how many failures in a row a key has failed (5).
    pub fn max_attempts(self, attempts: u32) -> Self {
        Self { max_attempts: attempts, ..self }
    }

    /// How long after a failure a key is due again: `first`, doubling up to `most`, and up to half as much again at random
    /// (10 s up to 15 min).
    pub fn backoff(self, first: Duration, most: Duration) -> Self {
        Self { backoff: (first, most), ..self }
    }

    /// For how long a key may be refused or limited, run after run, until it has stalled (24 h).
    pub fn stall(self, after: Duration) -> Self {
        Self { stall: after, ..self }
    }

    /// The largest body of an answer, in bytes (16 MiB). A larger one is a failure.
    pub fn body_limit(self, bytes: usize) -> Self {
        Self { body_limit: bytes, ..self }
    }

    /// The request for a key. It is sent with [`NoWait`](crate::NoWait), at background priority, to this source's family,
    /// unless it carries extensions of its own that say otherwise. An error is a failure of that run.
    pub fn fetch<B, E, F>(self, fetch: F) -> Fetching<B>
    where
        F: Fn(&Key) -> Result<Request<B>, E> + Send + Sync + 'static,
        E: Into<BoxError>,
    {
        let fetch = move |key: &Key| fetch(key).map_err(|error| said("no request", &error.into()));
        Fetching { source: self, fetch: Arc::new(fetch) }
    }

    /// What a key runs that is not HTTP: through the [gate](crate::run) of its family, which is told what `classify` says
    /// of the output. A [`Good`](Verdict::Good) output is handed to `store`, a [`Bad`](Verdict::Bad) one is a deferral, any
    /// other a failure.
    pub fn run<T, Fut>(
        self,
        run: impl Fn(Key) -> Fut + Send + Sync + 'static,
        classify: impl Fn(&T) -> Verdict + Send + Sync + 'static,
    ) -> Running<T>
    where
        Fut: Future<Output = T> + Send + 'static,
    {
        let run: Run<T> = Arc::new(move |key| Box::pin(run(key)));
        Running { source: self, run, classify: Arc::new(classify) }
    }
}

impl<B> Fetching<B> {
    /// Where a good answer goes (2xx, 3xx, 404, 409, 422), with its whole body: at least once for every run that is done.
    /// An error is a failure of that run, and its words are kept and shown.
    pub fn store<Fut, E>(
        self,
        store: impl Fn(Key, Response<Bytes>) -> Fut + Send + Sync + 'static,
    ) -> HttpSource<B>
    where
        Fut: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        HttpSource { source: self.source, fetch: self.fetch, store: boxed(store) }
    }
}

impl<T: Send + 'static> Running<T> {
    /// Where a good output goes: at least once for every run that is done. An error is a failure of that run, and its words
    /// are kept and shown.
    pub fn store<Fut, E>(self, store: impl Fn(Key, T) -> Fut + Send + Sync + 'static) -> GateSource<T>
    where
        Fut: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        GateSource { source: self.source, run: self.run, classify: self.classify, store: boxed(store) }
    }
}

fn boxed<T, Fut, E>(store: impl Fn(Key, T) -> Fut + Send + Sync + 'static) -> Store<T>
where
    Fut: Future<Output = Result<(), E>> + Send + 'static,
    E: Into<BoxError>,
{
    Arc::new(move |key, output| {
        let storing = store(key, output);
        Box::pin(async move { storing.await.map_err(|error| said("not stored", &error.into())) })
    })
}

/// What somebody's own code says, without what caused it.
fn said(what: &str, error: &BoxError) -> LastError {
    LastError::new(&format!("{what}: {error}"))
}

/// Names the types that a source is of.
macro_rules! shown {
    ($($name:ident<$of:ident>),*) => {$(
        impl<$of> std::fmt::Debug for $name<$of> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name)).field("source", &self.source).finish_non_exhaustive()
            }
        }
    )*};
}

shown!(Fetching<B>, HttpSource<B>, Running<T>, GateSource<T>);
