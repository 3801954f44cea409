use std::sync::Arc;
use std::task::{Context, Poll};

use forbear_core::families::Snapshot;
use forbear_core::store::{PurgeResponses, StoreError};
use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use super::body::StaleBody;
use super::future::StaleFuture;
use super::shared::Shared;
use crate::Error;
use crate::body::BoxError;

/// Serves what is stored. See the [module](super). A clone shares what is stored.
///
/// A struct that holds one writes it out, as `StaleService<Vendor<Client<HttpConnector, Replay<Full<Bytes>>>>>` with hyper-util's client, or has it in a
/// [`BoxVendor`](crate::BoxVendor).
#[derive(Debug, Clone)]
pub struct StaleService<S> {
    pub(super) inner: S,
    pub(super) shared: Arc<Shared>,
    pub(super) families: Option<Snapshot>,
}

impl<S> StaleService<S> {
    pub(super) const fn new(inner: S, shared: Arc<Shared>, families: Option<Snapshot>) -> Self {
        Self { inner, shared, families }
    }

    /// Sends one logical request.
    ///
    /// # Errors
    /// As the layers below, where nothing is stored that could be served in place of an answer.
    pub async fn send<B, RB>(&self, request: Request<B>) -> Result<Response<StaleBody<RB>>, Error>
    where
        S: Service<Request<B>, Response = Response<RB>> + Clone + Send + 'static,
        S::Future: Send,
        S::Error: Into<BoxError>,
        B: Body + Send + 'static,
        RB: Body + Send + 'static,
        RB::Data: Send,
        RB::Error: Into<BoxError>,
    {
        self.clone().call(request).await
    }

    /// How many bytes are stored in memory, about.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        self.shared.store.size().0
    }

    /// Returns once all answers that were stored until now are in the [store](super::StaleLayer::store) too; at once where there is none. Without this
    /// what was stored last may be lost to it when the process ends, and is asked for anew. Answers that came faster than the store keeps them, beyond the
    /// 8 MiB that wait for it, are in memory alone and are not waited for; one event tells of that.
    ///
    /// # Errors
    /// Where it could not be written; it is tried now, and else less and less often.
    pub async fn stored(&self) -> Result<(), StoreError> {
        self.shared.store.written().await
    }

    /// Forgets what is stored of a host, a family, or everything: in memory now, and in the [store](super::StaleLayer::store) once it returns. How many answers
    /// there were, in the store where there is one. What is on its way from the vendor meanwhile is stored all the same.
    ///
    /// ```
    /// # async fn run<S>(vendor: forbear::StaleService<S>) -> Result<(), forbear::StoreError> {
    /// use forbear::stale::PurgeResponses;
    ///
    /// let gone = vendor.purge(PurgeResponses::Host("query1.example.com".into())).await?;
    /// # let _ = gone;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Where some may be in the store still: it fails, or takes longer than 60 s.
    ///
    /// **Cancellation.** It goes on in the background.
    pub async fn purge(&self, what: PurgeResponses) -> Result<u64, StoreError> {
        self.shared.store.purge(what).await
    }
}

impl<S, B, RB> Service<Request<B>> for StaleService<S>
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

    /// Always ready: what is served from memory needs nobody below. An attempt makes a clone ready when it is due.
    #[inline]
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        self.answer(request)
    }
}
