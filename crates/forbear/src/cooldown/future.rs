use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use forbear_core::dialect::Dialect;
use forbear_core::families::FamiliesId;
use forbear_core::gate::{Ask, Gate, Priority};
use forbear_core::time::Monotonic;
use forbear_core::url::RedactedUrl;
use http::{Extensions, Request, Response, Uri};
use http_body::Body;
use pin_project_lite::pin_project;
use tower_service::Service;

use super::admitted::Admitted;
use super::answer::{Judged, Look, is_good, is_plain, judge, learn, settle_plain};
use crate::body::{BoxError, Peek, Peeked};
use crate::budget;
use crate::error::Cooling;
use crate::extensions::{Asked, Shadowed, Turn};
use crate::order::TWO_STACKS;
use crate::whose::Counted;
use crate::{Error, clock};

pin_project! {
    /// The future of a [`FamilyCooldownService`](super::FamilyCooldownService). Dropping it drops the attempt, which
    /// is then no news of its vendor.
    pub struct CooldownFuture<S, B, F, RB>
    where
        RB: Body,
    {
        #[pin]
        state: State<S, B, F, RB>,
        admitted: Admitted,
        origin: Origin,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<S, B, F, RB>
    where
        RB: Body,
    {
        Sent { #[pin] attempt: F },
        // The gate was not open at the call.
        Ask { asking: Option<Box<Asking<S, B>>> },
        // The body of a limited answer is looked at.
        Look { peek: Peek<RB>, look: Option<Box<Look>> },
        Failed { error: Option<Error> },
        // What it held is let go with the answer, not with this future.
        Done,
    }
}

/// What a poll of a state leads to.
enum Next<S, B, F, RB>
where
    RB: Body,
{
    Go(State<S, B, F, RB>),
    Return(Result<Response<Peeked<RB>>, Error>),
}

/// A request whose gate was not open, and the readied service to send it with.
pub(super) struct Asking<S, B> {
    pub(super) service: S,
    pub(super) request: Request<B>,
    pub(super) gate: Arc<Gate>,
    /// The gate of its partition, where that has one.
    pub(super) partition: Option<Arc<Gate>>,
}

/// What an answer is judged by.
#[derive(Debug)]
pub(super) struct Origin {
    pub(super) uri: Uri,
    pub(super) families: FamiliesId,
    pub(super) dialect: Dialect,
    /// Whose limit it counts against.
    pub(super) counted: Counted,
    /// Whether its route was refused of late, so that it matters that it is accepted.
    pub(super) suspect: bool,
    /// Whether its answers are looked at.
    pub(super) observed: bool,
    /// Whether nothing is refused or delayed.
    pub(super) shadow: bool,
}

impl Origin {
    #[inline]
    pub(super) fn new(uri: Uri, families: FamiliesId, dialect: Dialect) -> Self {
        Self {
            uri,
            families,
            dialect,
            counted: Counted::default(),
            suspect: false,
            observed: true,
            shadow: false,
        }
    }

    #[inline]
    pub(super) fn in_shadow(self, shadow: bool) -> Self {
        Self { shadow, ..self }
    }

    /// Tells the layer above about a limited answer: the URL to record, or that nothing is waited for.
    pub(super) fn mark(&self, extensions: &mut Extensions) {
        if self.shadow {
            extensions.insert(Shadowed);
        } else {
            extensions.insert(Asked { uri: self.uri.clone(), partition: self.counted.partition });
        }
    }

    pub(super) fn unobserved(self) -> Self {
        Self { observed: false, ..self }
    }
}

impl<S, B, F, RB: Body> CooldownFuture<S, B, F, RB> {
    #[inline]
    pub(super) fn sent(attempt: F, admitted: Admitted, origin: Origin) -> Self {
        Self { state: State::Sent { attempt }, admitted, origin }
    }

    pub(super) fn ask(asking: Asking<S, B>, origin: Origin) -> Self {
        let state = State::Ask { asking: Some(Box::new(asking)) };
        Self { state, admitted: Admitted::new(None, Monotonic::ORIGIN), origin }
    }

    pub(super) fn failed(error: Error, origin: Origin) -> Self {
        let state = State::Failed { error: Some(error) };
        Self { state, admitted: Admitted::new(None, Monotonic::ORIGIN), origin }
    }
}

impl<S, B, F, RB: Body> std::fmt::Debug for CooldownFuture<S, B, F, RB> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CooldownFuture").field("admitted", &self.admitted).finish_non_exhaustive()
    }
}

impl<S, B, RB> Future for CooldownFuture<S, B, S::Future, RB>
where
    S: Service<Request<B>, Response = Response<RB>>,
    S::Error: Into<BoxError>,
    RB: Body,
{
    type Output = Result<Response<Peeked<RB>>, Error>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let next = match this.state.as_mut().project() {
                StateProj::Sent { .. } if !this.admitted.polled && !budget::attempt::pass() => {
                    Next::Return(Err(budget::out_of_attempts()))
                }
                StateProj::Sent { attempt } => {
                    this.admitted.polled = true;
                    match ready!(attempt.poll(cx)) {
                        Ok(response) if is_plain(&response, this.admitted, this.origin) => {
                            learn(response.headers(), this.admitted, this.origin);
                            settle_plain(is_good(response.status()), this.admitted, this.origin);
                            Next::Return(Ok(response.map(Peeked::plain)))
                        }
                        Ok(response) => match judge(response, this.admitted, this.origin) {
                            Judged::Return(response) => Next::Return(Ok(response)),
                            Judged::Look(peek, look) => Next::Go(State::Look { peek, look: Some(look) }),
                        },
                        Err(error) => {
                            this.admitted.settle(false);
                            let error = Error::from_inner(error);
                            if error.is_refusal() {
                                TWO_STACKS.report();
                            }
                            Next::Return(Err(error))
                        }
                    }
                }
                StateProj::Ask { asking } => match asking.take().map(|asking| admit(*asking, this.origin)) {
                    Some(Ok((attempt, admitted))) => {
                        *this.admitted = admitted;
                        Next::Go(State::Sent { attempt })
                    }
                    Some(Err(refused)) => Next::Return(Err(refused)),
                    None => return Poll::Pending,
                },
                StateProj::Look { peek, look } => {
                    let (body, seen) = ready!(Pin::new(peek).poll(cx));
                    match look.take() {
                        Some(look) => Next::Return(Ok(look.finish(body, &seen, this.admitted, this.origin))),
                        None => return Poll::Pending,
                    }
                }
                StateProj::Failed { error } => match error.take() {
                    Some(error) => Next::Return(Err(error)),
                    None => return Poll::Pending,
                },
                StateProj::Done => return Poll::Pending,
            };
            match next {
                Next::Go(state) => this.state.set(state),
                Next::Return(answer) => {
                    this.state.set(State::Done);
                    return Poll::Ready(answer);
                }
            }
        }
    }
}

/// Asks the gate under its lock, and sends where it says so.
fn admit<S, B>(asking: Asking<S, B>, origin: &mut Origin) -> Result<(S::Future, Admitted), Error>
where
    S: Service<Request<B>>,
{
    let Asking { mut service, mut request, gate, partition } = asking;
    let now = clock::now();
    let turn = request.extensions_mut().remove::<Turn>();
    let ask = Ask {
        entered: turn.map_or_else(|| budget::scope::entered().unwrap_or(now), |turn| turn.entered),
        deadline: budget::effective(request.extensions()).deadline(),
        waited: turn.is_some(),
        priority: request.extensions().get::<Priority>().copied().unwrap_or_default(),
        grant: turn.and_then(|turn| turn.grant),
    };
    match super::admit(&gate, partition.as_ref(), &ask, now) {
        // A panic of the client is settled like any other.
        Ok(admitted) => Ok((service.call(request), admitted)),
        // It would have been refused, so its answer changes nothing either.
        Err(_) if origin.shadow => {
            origin.observed = false;
            Ok((service.call(request), Admitted::new(None, now)))
        }
        Err((gate, refusal)) => {
            Err(Error::Cooling(Cooling::gate(gate, &refusal, Some(RedactedUrl::of(request.uri())))))
        }
    }
}
