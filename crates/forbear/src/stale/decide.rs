//! What becomes of a request: the table of the guide's page, row by row.

use std::sync::Arc;
use std::time::Duration;

use forbear_core::stale::{Because, Served};
use forbear_core::time::Monotonic;
use http::header::{IF_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, RANGE, UPGRADE};
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body::Body;
#[cfg(not(feature = "refresh"))]
use tower_service::Service;

use super::ask::Ask;
use super::body::StaleBody;
#[cfg(feature = "refresh")]
use super::demand::Wanted;
use super::directives::has;
use super::entry::{Entry, Use};
use super::flight::{Joined, Landed, Whose as Flown};
use super::future::StaleFuture;
use super::headers::{Told, tell};
use super::inner::Inner;
use super::key::Key;
use super::oneshot::Oneshot;
use super::outdates::Outdates;
use super::policy::{Whose, WhoseRef};
use super::serve;
use super::service::StaleService;
use crate::clock;

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

impl<S> StaleService<S> {
    pub(super) fn answer<B>(&mut self, request: Request<B>) -> StaleFuture<S, B, S::Body>
    where
        S: Inner<B>,
        B: Body + Send + 'static,
    {
        if !is_looked_up(&request) {
            return self.pass(request);
        }
        let (head, body) = request.into_parts();
        let key = self.shared.keys.of(&head);
        self.look_up(head, body, key, None)
    }

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
            return self.decide(head, body, key, entry, wanted.as_ref(), None);
        }
        let whose = WhoseRef::of(self.families.as_mut(), &self.shared, &head).owned();
        let (mut service, entered) = (self.clone(), clock::now());
        StaleFuture::asks(async move {
            let entry = service.shared.read(key, &head, &whose).await;
            service.decide(head, body, key, entry, wanted.as_ref(), Some(entered)).await
        })
    }

    /// What becomes of a request for which this is stored; `wanted` where it is answered from what is stored alone. It came at `entered`, or now.
    fn decide<B>(
        &mut self,
        head: Parts,
        body: B,
        key: Key,
        entry: Option<Arc<Entry>>,
        wanted: Option<&Wanted>,
        entered: Option<Monotonic>,
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
            let whose = whose.owned();
            return self.ask((head, body), key, whose, (None, false), entered);
        };
        let now = shared.wall();
        let used = entry.usable(&head, now);
        let by = match used {
            Use::Fresh(left) => {
                whose.counts.served(Served::Fresh);
                return StaleFuture::ready(serve::fresh(now, &entry, &head, left));
            }
            Use::Stale(by) | Use::Accepted(by) => Some(by),
            Use::Confirm => None,
        };
        let directives = entry.directives();
        let by = by.filter(|_| !directives.must_revalidate);
        let stale = |because| {
            whose.counts.served(Served::Stale { age: Duration::ZERO, because });
            StaleFuture::ready(serve::stale(now, &entry, &head, because))
        };
        let accepted = matches!(used, Use::Accepted(_));
        let usable = accepted || by.is_some_and(|by| whose.policy.serves(by, directives.if_error));
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
        if accepted {
            return stale(Because::MaxStale);
        }
        let is_get = head.method == Method::GET;
        if is_get && by.is_some_and(|by| whose.policy.serves_at_once(by, directives.while_revalidate)) {
            let served = stale(Because::Revalidating);
            let whose = whose.owned();
            self.revalidate(head, body, key, whose, entry);
            return served;
        }
        if usable && entry.failed_lately() {
            return stale(Because::FailedLately);
        }
        let whose = whose.owned();
        self.ask((head, body), key, whose, (Some(entry), usable), entered)
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
        if !is_of_the_whole(&request) {
            return self.pass(request);
        }
        let looks_up = !asks_more(request.headers());
        let (head, body) = request.into_parts();
        let wanted = demands.wanted(&head);
        // Who wants a part, or nothing stored, is no reason to ask the vendor: he is given the whole that is there.
        if wanted.is_none() && !looks_up {
            return self.pass(Request::from_parts(head, body));
        }
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
        let (shared, inner, entered) = (Arc::clone(&self.shared), self.inner.clone(), clock::now());
        StaleFuture::asks(async move {
            // What is there need not be sent once more where it is confirmed.
            let entry = match entry {
                None if shared.store.may_have(key) => shared.read(key, &head, &whose).await,
                entry => entry,
            };
            let ask = Ask {
                shared,
                whose,
                key,
                head,
                entered,
                entry,
                usable: false,
                fills: true,
                background: false,
            };
            ask.run(inner, body).await
        })
    }

    /// To the vendor and back; what it changes there is looked up no more.
    fn pass<B>(&self, request: Request<B>) -> StaleFuture<S, B, S::Body>
    where
        S: Inner<B>,
        B: Body,
    {
        let is_read = is_read(request.method());
        if is_read && has(request.headers(), "only-if-cached") {
            return StaleFuture::ready(not_cached());
        }
        let outdates = Outdates::of_request(&request, &self.shared);
        StaleFuture::pass(Oneshot::new(self.inner.clone(), request), outdates, !is_read)
    }

    fn ask<B>(
        &self,
        (head, body): (Parts, B),
        key: Key,
        whose: Whose,
        (entry, usable): (Option<Arc<Entry>>, bool),
        entered: Option<Monotonic>,
    ) -> StaleFuture<S, B, S::Body>
    where
        S: Inner<B>,
        B: Send + 'static,
    {
        let (shared, entered) = (Arc::clone(&self.shared), entered.unwrap_or_else(clock::now));
        let (fills, background) = (false, false);
        let is_get = head.method == Method::GET;
        let ask = Ask { shared, whose, key, head, entered, entry, usable, fills, background };
        // What answers a HEAD is no answer to a GET.
        if is_get {
            StaleFuture::asks(ask.run(self.inner.clone(), body))
        } else {
            StaleFuture::asks(ask.aside(self.inner.clone(), body))
        }
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
        let variant = entry.variant_of(&self.shared.keys, &head.headers);
        let (shared, entered) = (Arc::clone(&self.shared), clock::now());
        let (entry, usable, fills, background) = (Some(entry), true, false, true);
        let ask = Ask { shared, whose, key, head, entered, entry, usable, fills, background };
        if let Joined::Leads(duty, interest) =
            self.shared.flights.join(key, variant, ask.manner(), Flown::Any)
        {
            let now = self.shared.find(key, &ask.head.uri, &ask.head.headers);
            // Somebody did since it was looked for.
            if let Some(now) = now.filter(|now| ask.entry.as_ref().is_none_or(|old| !Arc::ptr_eq(old, now))) {
                return duty.land(Landed::Stored(now));
            }
            interest.keep(self.shared.background());
            // Nobody waits for it.
            drop(ask.launch(self.inner.clone(), body, duty));
        }
    }
}

/// Whether what is stored may answer such a request: GET and HEAD of a whole resource.
fn is_looked_up<B: Body>(request: &Request<B>) -> bool {
    is_of_the_whole(request) && !asks_more(request.headers())
}

fn is_read(method: &Method) -> bool {
    method == Method::GET || method == Method::HEAD
}

/// Whether the whole of what is there is an answer to it.
fn is_of_the_whole<B: Body>(request: &Request<B>) -> bool {
    is_read(request.method())
        && request.body().is_end_stream()
        && ![IF_MATCH, IF_UNMODIFIED_SINCE].iter().any(|name| request.headers().contains_key(name))
}

/// Whether there is more to say to it than what is stored.
fn asks_more(headers: &HeaderMap) -> bool {
    [RANGE, IF_RANGE, UPGRADE].iter().any(|name| headers.contains_key(name)) || has(headers, "no-store")
}

/// Nothing is stored, and the caller wants nothing else; RFC 9111 section 5.2.1.7.
fn not_cached<RB>() -> Response<StaleBody<RB>> {
    let because = Because::OnlyIfCached;
    let mut response = Response::new(StaleBody::none());
    *response.status_mut() = StatusCode::GATEWAY_TIMEOUT;
    tell(response.headers_mut(), Told::Fallback { because });
    response.extensions_mut().insert(Served::Fallback { because });
    response
}
