use std::task::{Context, Poll};

use forbear_core::dialect::Dialect;
use forbear_core::families::{FamiliesId, FamilyName, Found, Snapshot};
use forbear_core::gate::Gate;
use forbear_core::time::Monotonic;
use forbear_core::url::RedactedUrl;
use http::uri::Scheme;
use http::{Request, Response, Uri};
use http_body::Body;
use tower_service::Service;

use super::admitted::Admitted;
use super::future::{Asking, CooldownFuture, Origin};
use crate::body::{BoxError, Peeked};
use crate::budget::scope;
use crate::error::UnknownFamily;
use crate::whose::Whose;
use crate::{Error, beneath, clock, host};

/// Asks the gate of a request's family before every attempt. See the [module](super).
#[derive(Debug, Clone)]
pub struct FamilyCooldownService<S> {
    inner: S,
    families: Snapshot,
}

impl<S> FamilyCooldownService<S> {
    pub(super) const fn new(inner: S, families: Snapshot) -> Self {
        Self { inner, families }
    }
}

impl<S, B, RB> Service<Request<B>> for FamilyCooldownService<S>
where
    S: Service<Request<B>, Response = Response<RB>> + Clone,
    S::Error: Into<BoxError>,
    RB: Body,
{
    type Response = Response<Peeked<RB>>;
    type Error = Error;
    type Future = CooldownFuture<S, B, S::Future, RB>;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        beneath::gate(self.families.id());
        self.inner.poll_ready(cx).map_err(Error::from_inner)
    }

    #[inline]
    fn call(&mut self, request: Request<B>) -> Self::Future {
        let now = scope::entering().unwrap_or_else(clock::now);
        let name = request.extensions().get::<FamilyName>();
        let host = host::of(request.uri(), request.headers());
        self.families.refresh();
        let found = self.families.find(request.uri(), host, name);
        let families = self.families.id();
        let shadow = self.families.shadows();
        let member = match &found {
            Found::Member(member) => *member,
            Found::Automatic(member) => member,
            other => {
                let origin = match other {
                    Found::Healthy => Origin::new(whole(request.uri(), host), families, Dialect::standard()),
                    Found::PassThrough => unobserved(&request, families),
                    _ if shadow => {
                        self.families.count_unknown();
                        unobserved(&request, families)
                    }
                    _ => {
                        self.families.count_unknown();
                        let error = match name {
                            Some(name) => UnknownFamily::of_name(name.as_str()),
                            None => UnknownFamily::of_url(RedactedUrl::of(request.uri())),
                        };
                        let origin = unobserved(&request, families);
                        // Nothing is sent, so nothing is held that the inner service reserved.
                        self.inner = self.inner.clone();
                        return CooldownFuture::failed(Error::UnknownFamily(error), origin);
                    }
                };
                let admitted = Admitted::new(None, now);
                return CooldownFuture::sent(self.inner.call(request), admitted, origin.in_shadow(shadow));
            }
        };
        let Whose { counted, part, suspect } = Whose::of_request(&request, member, now);
        let origin = Origin {
            uri: request.uri().clone(),
            families,
            dialect: member.dialect.clone(),
            counted,
            suspect,
            observed: true,
            shadow,
        };
        let admitted = match &part {
            None => member.gate.admit_open(now).map(|ticket| Admitted::new(Some(ticket), now)),
            Some(part) => both_open(&member.gate, part, now),
        };
        match admitted {
            // Made before the call, so that a panic of the client is settled like any other.
            Some(admitted) => CooldownFuture::sent(self.inner.call(request), admitted, origin),
            None => {
                // Not open: decided when first polled, since the budget is in scope then. The readied service goes
                // along, a clone stays.
                let gate = member.gate.clone();
                let clone = self.inner.clone();
                let service = std::mem::replace(&mut self.inner, clone);
                CooldownFuture::ask(Asking { service, request, gate, partition: part }, origin)
            }
        }
    }
}

/// The happy path of an attempt whose partition has a gate of its own.
#[cold]
fn both_open(gate: &Gate, partition: &Gate, now: Monotonic) -> Option<Admitted> {
    if !gate.is_open() {
        return None;
    }
    let part = partition.admit_open(now)?;
    // Dropped where the family closed this very moment.
    let admitted = Admitted::new(gate.admit_open(now), now).and(Some(part));
    admitted.was_admitted().then_some(admitted)
}

/// What is sent and changes nothing.
fn unobserved<B>(request: &Request<B>, families: FamiliesId) -> Origin {
    Origin::new(request.uri().clone(), families, Dialect::standard()).unobserved()
}

/// The URL of a request, with its `Host` field in it where it has no host itself: a family may be made for it later.
fn whole(uri: &Uri, host: Option<&str>) -> Uri {
    let whole = |host: &str| {
        let mut parts = uri.clone().into_parts();
        parts.authority = Some(host.parse().ok()?);
        parts.scheme = Some(Scheme::HTTPS);
        Uri::from_parts(parts).ok()
    };
    host.and_then(whole).unwrap_or_else(|| uri.clone())
}
