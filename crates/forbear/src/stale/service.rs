use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use forbear_core::families::Snapshot;
use forbear_core::stale::{Because, Served};
use forbear_core::store::{PurgeResponses, StoreError};
use http::header::{
    CONTENT_LOCATION, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, LOCATION,
    RANGE, UPGRADE,
};
use http::request::Parts;
use http::{HeaderMap, HeaderName, Method, Request, Response, StatusCode, Uri};
use http_body::Body;
use tower_service::Service;

use super::ask::Ask;
use super::body::StaleBody;
#[cfg(feature = "refresh")]
use super::demand::Wanted;
use super::directives::has;
use super::entry::{Entry, Use};
use super::flight::Joined;
use super::future::StaleFuture;
use super::inner::Inner;
use super::key::Key;
use super::oneshot::Oneshot;
use super::policy::{Whose, WhoseRef};
use super::serve;
use super::shared::Shared;
use crate::Error;
use crate::body::BoxError;

/// Serves what is stored. See the [module](super). A clone shares what is stored.
///
/// A struct that holds one writes it out, as `StaleService<Vendor<Client<HttpConnector, Replay<Full<Bytes>>>>>` with hyper-util's client, or has it in a
/// [`BoxVendor`](crate::BoxVendor).
#[derive(Debug, Clone)]
pub struct StaleService<S> {
    inner: S,
    shared: Arc<Shared>,
    families: Option<Snapshot>,
}

/// Without a refresh nothing is demanded.
#[cfg(not(feature = "refresh"))]
enum Wanted {}

#[cfg(not(feature = "refresh"))]
impl Wanted {
    fn demand(&self, _: Key, _: Duration) {
        match *self {}
    }

    fn instead<S: Service<Request<B>>, B, RB>(
        &self,
        _: WhoseRef<'_>,
        _: &Parts,
        _: Key,
    ) -> StaleFuture<S, B, RB> {
        match *self {}
    }
}

/// What an answer makes old, of whom.
pub(super) struct Outdates {
    pub(super) shared: Arc<Shared>,
    uri: Uri,
    headers: HeaderMap,
    key: Key,
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
    /// what was stored last may be lost to it when the process ends, and is asked for anew.
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
        if !is_looked_up(&request) {
            return self.pass(request);
        }
        let (head, body) = request.into_parts();
        let key = self.shared.keys.of(&head);
        self.look_up(head, body, key, None)
    }
}

impl<S> StaleService<S> {
    /// Looks into memory, and where nothing is there into the store behind it.
    fn look_up<B>(
        &mut self,
        head: Parts,
        body: B,
        key: Key,
        wanted: Option<Wanted>,
    ) -> StaleFuture<S, B, S::Body>
    where
        S: Inner<B>,
        B: Body + Send + 'static,
    {
        let entry = self.shared.find(key, &head.uri, &head.headers);
        if entry.is_some() || !self.shared.store.may_have(key) {
            return self.decide(head, body, key, entry, wanted.as_ref());
        }
        let whose = WhoseRef::of(self.families.as_mut(), &self.shared, &head).owned();
        let mut service = self.clone();
        StaleFuture::asks(async move {
            let entry = service.shared.read(key, &head, &whose).await;
            service.decide(head, body, key, entry, wanted.as_ref()).await
        })
    }

    /// What becomes of a request for which this is stored; `wanted` where it is answered from what is stored alone.
    fn decide<B>(
        &mut self,
        head: Parts,
        body: B,
        key: Key,
        entry: Option<Arc<Entry>>,
        wanted: Option<&Wanted>,
    ) -> StaleFuture<S, B, S::Body>
    where
        S: Inner<B>,
        B: Body + Send + 'static,
    {
        let shared = &self.shared;
        let whose = WhoseRef::of(self.families.as_mut(), shared, &head);
        let only_if_cached = has(&head.headers, "only-if-cached");
        let Some(entry) = entry else {
            if only_if_cached {
                whose.counts.refused();
                return StaleFuture::ready(not_cached());
            }
            if let Some(wanted) = wanted {
                return wanted.instead(whose, &head, key);
            }
            if head.method == Method::HEAD || is_conditional(&head.headers) {
                return self.pass(Request::from_parts(head, body));
            }
            let whose = whose.owned();
            return self.ask(head, body, key, whose, None, false);
        };
        let now = shared.wall();
        let by = match entry.usable(&head, now) {
            Use::Fresh(left) => {
                whose.counts.served(Served::Fresh);
                return StaleFuture::ready(serve::fresh(now, &entry, &head, left));
            }
            Use::Stale(by) => Some(by),
            Use::Confirm => None,
        };
        let directives = entry.directives();
        let by = by.filter(|_| !directives.must_revalidate);
        let usable = by.is_some_and(|by| whose.policy.serves(by, directives.if_error));
        let stale = |because| {
            whose.counts.served(Served::Stale { age: Duration::ZERO, because });
            StaleFuture::ready(serve::stale(now, &entry, &head, because))
        };
        if only_if_cached {
            if usable {
                return stale(Because::OnlyIfCached);
            }
            whose.counts.refused();
            return StaleFuture::ready(not_cached());
        }
        if let Some(wanted) = wanted {
            if !usable {
                return wanted.instead(whose, &head, key);
            }
            wanted.demand(key, whose.policy.rests());
            return stale(Because::Demanded);
        }
        if head.method == Method::HEAD {
            return self.pass(Request::from_parts(head, body));
        }
        if by.is_some_and(|by| whose.policy.serves_at_once(by, directives.while_revalidate)) {
            let served = stale(Because::Revalidating);
            let whose = whose.owned();
            self.revalidate(head, body, key, whose, entry);
            return served;
        }
        if usable && entry.failed_lately() {
            return stale(Because::FailedLately);
        }
        let whose = whose.owned();
        self.ask(head, body, key, whose, Some(entry), usable)
    }

    /// Answers from what is stored alone, where one of these wants that.
    #[cfg(feature = "refresh")]
    pub(super) fn answer_here<B>(
        &mut self,
        request: Request<B>,
        demands: &Arc<super::demand::Demands>,
    ) -> StaleFuture<S, B, S::Body>
    where
        S: Inner<B>,
        B: Body + Send + 'static,
    {
        if !is_looked_up(&request) {
            return self.pass(request);
        }
        let (head, body) = request.into_parts();
        let wanted = demands.wanted(&head);
        let key = self.shared.keys.of(&head);
        self.look_up(head, body, key, wanted)
    }

    /// Fetches it anew, whatever is stored, and stores what comes.
    pub(super) fn fill<B>(&mut self, request: Request<B>) -> StaleFuture<S, B, S::Body>
    where
        S: Inner<B>,
        B: Body + Send + 'static,
    {
        if request.method() != Method::GET || !is_looked_up(&request) {
            return self.pass(request);
        }
        let (head, body) = request.into_parts();
        let whose = WhoseRef::of(self.families.as_mut(), &self.shared, &head).owned();
        let key = self.shared.keys.of(&head);
        let entry = self.shared.find(key, &head.uri, &head.headers);
        let (shared, inner) = (Arc::clone(&self.shared), self.inner.clone());
        StaleFuture::asks(async move {
            // What is there need not be sent once more where it is confirmed.
            let entry = match entry {
                None if shared.store.may_have(key) => shared.read(key, &head, &whose).await,
                entry => entry,
            };
            let ask = Ask { shared, whose, key, head, entry, usable: false, fills: true };
            ask.run(inner, body).await
        })
    }

    /// To the vendor and back; what it changes there is looked up no more.
    fn pass<B, RB>(&self, request: Request<B>) -> StaleFuture<S, B, RB>
    where
        S: Service<Request<B>> + Clone,
    {
        let (head, body) = request.into_parts();
        let outdates = (!head.method.is_safe()).then(|| Outdates {
            key: self.shared.keys.of(&head),
            shared: Arc::clone(&self.shared),
            uri: head.uri.clone(),
            headers: head.headers.clone(),
        });
        let by_method = head.method != Method::GET && head.method != Method::HEAD;
        let attempt = Oneshot::new(self.inner.clone(), Request::from_parts(head, body));
        StaleFuture::pass(attempt, outdates, by_method)
    }

    fn ask<B>(
        &self,
        head: Parts,
        body: B,
        key: Key,
        whose: Whose,
        entry: Option<Arc<Entry>>,
        usable: bool,
    ) -> StaleFuture<S, B, S::Body>
    where
        S: Inner<B>,
        B: Send + 'static,
    {
        let ask = Ask { shared: Arc::clone(&self.shared), whose, key, head, entry, usable, fills: false };
        StaleFuture::asks(ask.run(self.inner.clone(), body))
    }

    /// Fetches it in the background, if nobody does yet.
    fn revalidate<B>(&self, head: Parts, body: B, key: Key, whose: Whose, entry: Arc<Entry>)
    where
        S: Inner<B>,
        B: Send + 'static,
    {
        // Without a runtime nothing goes on in the background.
        if entry.failed_lately() || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        if let Joined::Leads(duty, interest) = self.shared.flights.join(key, 0) {
            interest.keep(self.shared.background());
            let shared = Arc::clone(&self.shared);
            let ask = Ask { shared, whose, key, head, entry: Some(entry), usable: true, fills: false };
            // Nobody waits for it.
            drop(ask.launch(self.inner.clone(), body, duty, true));
        }
    }
}

impl Outdates {
    /// A change that succeeded makes old what is stored for its URL, and for those that the answer names of the same host; RFC 9111 section
    /// 4.4.
    pub(super) fn outdate<RB>(&self, response: &Response<RB>) {
        if response.status().is_client_error() || response.status().is_server_error() {
            return;
        }
        self.forget(self.key);
        for name in [LOCATION, CONTENT_LOCATION] {
            if let Some(uri) = self.beside(response.headers(), &name) {
                self.forget(self.shared.keys.at(&uri, &self.headers, self.key));
            }
        }
    }

    fn forget(&self, key: Key) {
        // What is on its way from before is not stored after this.
        self.shared.flights.outdate(key);
        self.shared.store.remove(key);
    }

    /// The URL in this field, where it is of the same host.
    fn beside(&self, headers: &HeaderMap, name: &HeaderName) -> Option<Uri> {
        let uri: Uri = headers.get(name)?.to_str().ok()?.parse().ok()?;
        match uri.authority() {
            Some(authority) => (Some(authority) == self.uri.authority()).then_some(uri),
            None => {
                let mut parts = self.uri.clone().into_parts();
                parts.path_and_query = uri.into_parts().path_and_query;
                Uri::from_parts(parts).ok()
            }
        }
    }
}

/// Whether what is stored may answer such a request: GET and HEAD of a whole resource.
fn is_looked_up<B: Body>(request: &Request<B>) -> bool {
    let (method, headers) = (request.method(), request.headers());
    (method == Method::GET || method == Method::HEAD)
        && request.body().is_end_stream()
        && ![RANGE, IF_RANGE, IF_MATCH, IF_UNMODIFIED_SINCE, UPGRADE]
            .iter()
            .any(|name| headers.contains_key(name))
        && !has(headers, "no-store")
}

fn is_conditional(headers: &HeaderMap) -> bool {
    headers.contains_key(IF_NONE_MATCH) || headers.contains_key(IF_MODIFIED_SINCE)
}

/// Nothing is stored, and the caller wants nothing else; RFC 9111 section 5.2.1.7.
fn not_cached<RB>() -> Response<StaleBody<RB>> {
    let mut response = Response::new(StaleBody::none());
    *response.status_mut() = StatusCode::GATEWAY_TIMEOUT;
    response.extensions_mut().insert(Served::Fallback { because: Because::OnlyIfCached });
    response
}
