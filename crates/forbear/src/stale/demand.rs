//! Requests that are answered from what is stored alone; what is missing is demanded of a refresh.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use forbear_core::stale::{Because, Served};
use forbear_core::store::{StoreError, StoreFault};
use forbear_core::time::Monotonic;
use forbear_core::work::{Demanded, Phase};
use http::request::Parts;
use http::{Request, Response};
use http_body::Body;
use moka::sync::Cache;
use tokio::sync::Semaphore;
use tower_service::Service;

use super::body::StaleBody;
use super::future::StaleFuture;
use super::key::Key;
use super::policy::WhoseRef;
use super::serve;
use super::service::StaleService;
use crate::body::BoxError;
use crate::error::NotStored;
use crate::refresh::NotTaken;
use crate::{Error, Refresh, clock};

/// Why a key is demanded where a request missed it.
const REASON: &str = "asked";
/// Of so many keys it is known that they were demanded just now, and so many are being demanded at a time.
const LATELY: usize = 10_000;
/// A queue that takes longer is as one that does not take it.
const WITHIN: Duration = Duration::from_secs(30);

type KeyOf = dyn Fn(&Parts) -> Option<String> + Send + Sync;

/// Answers from what is stored alone, and asks no vendor while somebody waits. See [`StaleService::demanding`].
#[derive(Debug, Clone)]
pub struct DemandService<S> {
    inner: StaleService<S>,
    demands: Arc<Demands>,
}

#[derive(Clone)]
pub(super) struct Demands {
    refresh: Refresh,
    sources: Vec<(NotStored, Arc<KeyOf>)>,
    lately: Cache<Key, Monotonic>,
    /// For those that are being demanded.
    room: Arc<Semaphore>,
    /// Whether the last demand was not taken.
    troubled: Arc<AtomicBool>,
}

/// What a request wants: a key of a source.
pub(super) struct Wanted {
    demands: Arc<Demands>,
    source: usize,
    key: String,
}

impl<S> StaleService<S> {
    /// The request path, local: a request for which `key` names a key of this source is answered from what is stored, fresh or
    /// [old](super::StalePolicy::max_stale), else with the [fallback](super::StalePolicy::fallback), else with [`Error::NotStored`]. It
    /// never becomes an attempt: what is missing or old is demanded of the [`Refresh`], in the background, for the reason
    /// `asked`, and stays demanded until somebody [undemands](Refresh::undemand_for) it. All other requests are answered
    /// as before.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// use forbear::{Families, Family, MemoryWorkStore, Refresh, Source, StaleLayer};
    /// use http::Request;
    /// # type Body = http_body_util::Empty<bytes::Bytes>;
    /// # async fn client(_: Request<forbear::Replay<Body>>) -> Result<http::Response<Body>, std::io::Error> { Ok(http::Response::default()) }
    /// # async fn run() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let families = Families::builder().family(Family::new("quotes").host("quotes.example")).build()?;
    /// let vendor = forbear::stack(&families).stale(StaleLayer::memory(64 << 20)).service(tower::service_fn(client));
    /// let quotes = Source::new("quotes")
    ///     .family("quotes")
    ///     .fetch(|key| Request::get(format!("https://quotes.example/v1/{key}")).body(Body::new()))
    ///     .store(|_, _| async { Ok::<_, std::io::Error>(()) });
    /// let refresh = Refresh::over(&families, vendor.filling(), MemoryWorkStore::new()).source(quotes).build()?;
    ///
    /// let local = vendor.demanding(&refresh, "quotes", |request| {
    ///     request.uri.path().strip_prefix("/v1/").map(str::to_owned)
    /// })?;
    /// # let _ = local;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The same key is demanded at most once in each [`retry_gap`](super::StalePolicy::retry_gap). `key` sees what callers send: bound what it takes, since
    /// each of its keys is refreshed from then on.
    ///
    /// # Errors
    /// [`NotTaken::UnknownSource`] where the refresh has no source of this name.
    pub fn demanding(
        &self,
        refresh: &Refresh,
        source: &str,
        key: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static,
    ) -> Result<DemandService<S>, NotTaken>
    where
        S: Clone,
    {
        let demands = Demands {
            refresh: refresh.clone(),
            sources: Vec::new(),
            lately: Cache::new(LATELY as u64),
            room: Arc::new(Semaphore::new(LATELY)),
            troubled: Arc::default(),
        };
        DemandService { inner: self.clone(), demands: Arc::new(demands) }.and(source, key)
    }
}

impl<S> DemandService<S> {
    /// One more source, for requests of which those before name no key.
    ///
    /// # Errors
    /// As [`StaleService::demanding`].
    pub fn and(
        self,
        source: &str,
        key: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static,
    ) -> Result<Self, NotTaken> {
        let Some(family) = self.demands.refresh.family_of(source) else {
            return Err(NotTaken::UnknownSource(source.into()));
        };
        let mut demands = Demands::clone(&self.demands);
        demands.sources.push((NotStored::new(family, source), Arc::new(key)));
        Ok(Self { demands: Arc::new(demands), ..self })
    }
}

impl<S, B, RB> Service<Request<B>> for DemandService<S>
where
    S: Service<Request<B>, Response = Response<RB>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<BoxError>,
    B: Body + Send + 'static,
    RB: Body + Send + 'static,
    RB::Data: Send,
    RB::Error: Into<BoxError>,
{
    type Response = Response<StaleBody<RB>>;
    type Error = Error;
    type Future = StaleFuture<S, B, RB>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        self.inner.answer_here(request, &self.demands)
    }
}

impl Demands {
    /// The key that a request asks for, where it names one.
    pub(super) fn wanted(self: &Arc<Self>, head: &Parts) -> Option<Wanted> {
        self.sources.iter().enumerate().find_map(|(source, (_, key_of))| {
            Some(Wanted { demands: Arc::clone(self), source, key: key_of(head)? })
        })
    }

    async fn demand(&self, source: &str, key: &str) -> Result<(), NotTaken> {
        let late = |_| NotTaken::Store(StoreError::new(StoreFault::TimedOut, "take what is demanded"));
        tokio::time::timeout(WITHIN, self.demand_now(source, key)).await.map_err(late)?
    }

    async fn demand_now(&self, source: &str, key: &str) -> Result<(), NotTaken> {
        // Where it runs, it runs for this: demanded, it would run once more.
        let row = self.refresh.row(source, key).await?;
        if row.is_some_and(|row| matches!(row.phase, Phase::Running(_))) {
            return Ok(());
        }
        let did = self.refresh.demand_for(REASON, source, [key]).await?;
        // One that waits for its time is wanted now.
        if did.iter().any(|did| matches!(did, Demanded::Waiting(_))) {
            let _ = self.refresh.invalidate(source, [key]).await?;
        }
        Ok(())
    }
}

impl Wanted {
    /// Demands it in the background, where nobody did within the last `gap`.
    pub(super) fn demand(&self, key: Key, gap: Duration) {
        // Without a runtime nothing goes on in the background.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let now = clock::now();
        let lately = self.demands.lately.entry(key);
        if !lately.or_insert_with_if(|| now, |last| now >= last.after(gap)).is_fresh() {
            return;
        }
        let Some((of, _)) = self.demands.sources.get(self.source) else { return };
        // While one is being demanded it is not demanded once more.
        self.demands.lately.insert(key, Monotonic::NEVER);
        let demanded = Demanding { lately: self.demands.lately.clone(), key, at: now };
        let Ok(room) = Arc::clone(&self.demands.room).try_acquire_owned() else { return };
        let (of, key, demands) = (of.clone(), self.key.clone(), Arc::clone(&self.demands));
        runtime.spawn(async move {
            let _held = (room, demanded);
            let source = of.demanded_of();
            let taken = demands.demand(source, &key).await;
            let before = demands.troubled.swap(taken.is_err(), Ordering::Relaxed);
            if let Err(error) = &taken
                && !before
            {
                tracing::warn!(
                    source,
                    cause = cause(error),
                    "what is missing cannot be demanded; what is stored is served on"
                );
            }
        });
    }

    /// Demands what is not there, and answers with what there is instead.
    pub(super) fn instead<S: Service<Request<B>>, B, RB>(
        &self,
        whose: WhoseRef<'_>,
        head: &Parts,
        key: Key,
    ) -> StaleFuture<S, B, RB> {
        self.demand(key, whose.policy.rests());
        if let Some(fallback) = serve::fallback(whose.policy, head, Because::Demanded) {
            whose.counts.served(Served::Fallback { because: Because::Demanded });
            return StaleFuture::ready(fallback);
        }
        whose.counts.refused();
        StaleFuture::refused(match self.demands.sources.get(self.source) {
            Some((of, _)) => Error::NotStored(of.clone()),
            None => Error::from_inner("nothing is stored"),
        })
    }
}

/// A key that is being demanded.
struct Demanding {
    lately: Cache<Key, Monotonic>,
    key: Key,
    at: Monotonic,
}

impl Drop for Demanding {
    fn drop(&mut self) {
        self.lately.insert(self.key, self.at);
    }
}

/// Why, without the key: that is what callers send.
fn cause(error: &NotTaken) -> &'static str {
    match error {
        NotTaken::UnknownSource(_) => "unknown-source",
        NotTaken::Name(_) => "key",
        NotTaken::NoRoom(_) => "no-room",
        NotTaken::Store(_) => "store",
    }
}

impl fmt::Debug for Demands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sources: Vec<_> = self.sources.iter().map(|(of, _)| of.demanded_of()).collect();
        f.debug_struct("Demands").field("sources", &sources).finish_non_exhaustive()
    }
}
