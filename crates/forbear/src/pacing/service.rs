use std::sync::Arc;
use std::task::{Context, Poll};

use forbear_core::families::{FamilyName, Found, Member, Snapshot};
use forbear_core::pacing::{Entered, Entry, Pacer};
use forbear_core::time::Monotonic;
use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use super::body::Paced;
use super::booked::{Booked, Lesson};
use super::future::PacingFuture;
use super::layer::CostOf;
use super::waiting::Waiting;
use crate::body::BoxError;
use crate::budget::scope;
use crate::extensions::{Cost, Turn};
use crate::{Error, Families, clock, host};

/// Spaces the attempts of each family. See the [module](super).
#[derive(Debug, Clone)]
pub struct PacingService<S> {
    inner: S,
    families: Snapshot,
    cost_of: Option<CostOf>,
}

impl<S> PacingService<S> {
    pub(crate) fn families(&self) -> Families {
        Families(self.families.families())
    }

    pub(super) const fn new(inner: S, families: Snapshot, cost_of: Option<CostOf>) -> Self {
        Self { inner, families, cost_of }
    }
}

impl<S, B, RB> Service<Request<B>> for PacingService<S>
where
    S: Service<Request<B>, Response = Response<RB>> + Clone,
    S::Error: Into<BoxError>,
    RB: Body,
{
    type Response = Response<Paced<RB>>;
    type Error = Error;
    type Future = PacingFuture<S, B, S::Future>;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx).map_err(Error::from_inner)
    }

    #[inline]
    fn call(&mut self, request: Request<B>) -> Self::Future {
        self.families.refresh();
        if !self.families.paces() {
            return PacingFuture::unpaced(self.inner.call(request));
        }
        let host = host::of(request.uri(), request.headers());
        let name = request.extensions().get::<FamilyName>();
        let Found::Member(member) = self.families.find(request.uri(), host, name) else {
            return PacingFuture::unpaced(self.inner.call(request));
        };
        let Some(pacer) = member.gate.pacer() else {
            return PacingFuture::unpaced(self.inner.call(request));
        };
        let plain = pacer.is_plain() && self.cost_of.is_none();
        if plain && member.gate.is_open() && !self.families.shadows() {
            let now = scope::entering().unwrap_or_else(clock::now);
            if let Some(booking) = pacer.go(stated(&request).unwrap_or(1), now) {
                // Held before the call, so that a panic of the client ends it too.
                let booked = Booked::new(booking);
                return PacingFuture::booked(self.inner.call(request), booked);
            }
        }
        let member = Arc::clone(member);
        self.call_slowly(request, member)
    }
}

impl<S> PacingService<S> {
    /// What takes more than a look: something is to be learned or read, it has to wait, or nothing is refused.
    #[cold]
    fn call_slowly<B, RB>(
        &mut self,
        request: Request<B>,
        member: Arc<Member>,
    ) -> PacingFuture<S, B, S::Future>
    where
        S: Service<Request<B>, Response = Response<RB>> + Clone,
    {
        let Some(pacer) = member.gate.pacer() else {
            return PacingFuture::unpaced(self.inner.call(request));
        };
        let now = scope::entering().unwrap_or_else(clock::now);
        let (request, cost) = cost(request, self.cost_of);
        let further = pacer.learns() && is_further(&request);
        let lesson = pacer.learns().then(|| Lesson::of(&request, &member));
        if self.families.shadows() {
            let entry = Entry { further, ..Entry::new().cost(cost) };
            let Some(booked) = shadowed(pacer, entry, now) else {
                return PacingFuture::unpaced(self.inner.call(request));
            };
            let booked = booked.learning(lesson);
            return PacingFuture::booked(self.inner.call(request), booked);
        }
        if !further
            && !pacer.is_by_part()
            && member.gate.is_open()
            && let Some(booking) = pacer.go(cost, now)
        {
            let booked = Booked::new(booking).learning(lesson);
            return PacingFuture::booked(self.inner.call(request), booked);
        }
        // Decided when first polled, since the budget is in scope then. The readied service goes along, a clone stays.
        let clone = self.inner.clone();
        let service = std::mem::replace(&mut self.inner, clone);
        PacingFuture::wait(Waiting::new(service, request, member, (cost, further), lesson))
    }
}

/// What is sent whatever the pacer says; it counts who would have waited, or been refused.
#[cold]
fn shadowed(pacer: &Arc<Pacer>, entry: Entry, now: Monotonic) -> Option<Booked> {
    match pacer.enter(&entry, now) {
        Entered::Go(booking) => Some(Booked::new(booking)),
        Entered::Queued(_) | Entered::Refused(_) => None,
    }
}

/// What a request says that it costs.
#[inline]
fn stated<B>(request: &Request<B>) -> Option<u32> {
    request.extensions().get::<Cost>().map(|cost| cost.0)
}

/// What a request costs: as it says itself, else as the layer reads it.
fn cost<B>(request: Request<B>, cost_of: Option<CostOf>) -> (Request<B>, u32) {
    let stated = stated(&request);
    let Some(cost_of) = cost_of.filter(|_| stated.is_none()) else { return (request, stated.unwrap_or(1)) };
    let (head, body) = request.into_parts();
    let cost = cost_of(&head);
    (Request::from_parts(head, body), cost)
}

/// Whether its logical request was sent before.
fn is_further<B>(request: &Request<B>) -> bool {
    let sent = scope::attempts().is_some_and(|attempts| attempts > 0);
    sent || request.extensions().get::<Turn>().is_some_and(|turn| turn.sent)
}
