//! What a logical request does next: one function per thing that can happen to it.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use forbear_core::deadlines::{DeadlinesId, UrlKey};
use forbear_core::dialect::Dialect;
use forbear_core::gate::{Gate, RefusalCause};
use forbear_core::pacing::PacingCause;
use forbear_core::retry::{After, jittered};
use forbear_core::signal::Signal as Said;
use forbear_core::time::Monotonic;
use http::{Request, Response};
use http_body::Body;
use tokio::time::Instant;
use tower_service::Service;

use super::future::State;
use super::saved::{Saved, caller};
use super::target::Target;
use crate::body::{BoxError, Drain, Replay};
use crate::budget::{self, attempt::Attempt, scope};
use crate::error::{Cooling, PacingRefused, Spent};
use crate::extensions::{NoSignal, Shadowed, Signal};
use crate::waiting::{Wait, Waited};
use crate::{Error, clock};

/// How much of a discarded answer is read so that its connection can be used again, and for how long.
const DRAINED: usize = 64 * 1024;
const DRAIN_FOR: Duration = Duration::from_millis(250);
/// A URL is left alone for at most so long where no family says otherwise, whatever its vendor asks for.
const LONGEST_RECORDED: Duration = Duration::from_secs(24 * 60 * 60);

/// What happens next.
pub(super) enum Next<F, RB> {
    Return(Result<Response<RB>, Error>),
    Go(State<F, RB>),
}

impl<F, RB> Next<F, RB> {
    fn waits(wait: Result<Box<Wait>, Error>) -> Self {
        match wait {
            Ok(wait) => Self::Go(State::Wait { wait }),
            Err(error) => Self::Return(Err(error)),
        }
    }
}

/// What a limited answer is waited for.
pub(super) struct Parked {
    /// Its family's gate, or the waiting room.
    gate: Option<Arc<Gate>>,
    until: Monotonic,
    /// What this request was told itself, whatever its family does.
    own: Monotonic,
}

/// Where deadlines are remembered, and for which URL.
pub(super) struct Memory<'a> {
    /// `None` where the saved request, or the gate below, knows its URL.
    pub(super) key: Option<UrlKey>,
    pub(super) deadlines: DeadlinesId,
    /// Whether this logical request recorded one before.
    pub(super) recorded: &'a mut bool,
}

/// One logical request, as its future moves it on.
pub(super) struct Logical<'a, S, B> {
    pub(super) saved: &'a mut Option<Box<Saved<S, B>>>,
    pub(super) memory: Memory<'a>,
}

impl<S, B> Logical<'_, S, B> {
    /// An attempt ended.
    #[inline]
    pub(super) fn answered<F, RB: Body>(
        &mut self,
        answer: Result<Response<RB>, Error>,
        attempt: &mut Attempt,
    ) -> Next<F, RB> {
        match answer {
            Ok(response) => match said(&response) {
                Some(limited) => self.limited(response, limited),
                None => Next::Return(Ok(response)),
            },
            Err(Error::Cooling(cooling)) => {
                attempt.refused();
                self.refused(cooling)
            }
            Err(Error::Pacing(refused)) => {
                attempt.refused();
                Next::Return(Err(self.not_paced(refused)))
            }
            Err(error) => Next::Return(Err(error)),
        }
    }

    /// The vendor said that it has had enough.
    fn limited<F, RB: Body>(&mut self, response: Response<RB>, limited: Limited) -> Next<F, RB> {
        let now = clock::now();
        let Limited { said, retry_at, gate } = limited;
        scope::saw(&said);
        if let Some(delay) = said.delay {
            // What its family may not record, a URL of it may not either.
            let most = gate.as_ref().map_or(LONGEST_RECORDED, |gate| gate.max_advertised());
            let sent = self.saved.as_ref().map(|saved| saved.target());
            let target = Target::answered(&response, sent, self.memory.key.is_some());
            let family = gate.as_ref().map(|gate| gate.name());
            self.memory.record(target, now.after(delay.duration.min(most)), family, now);
        }
        let Some(saved) = self.saved else { return Next::Return(Ok(response)) };
        saved.patience.saw(&said);
        let safe = saved.is_safe_to_repeat();
        let budget = caller(&saved.head).budget;
        let after = saved.patience.history.after(&said, safe, &budget, retry_at, now);
        let After::Retry { until, own } = after else {
            return Next::Return(Ok(response));
        };
        let gate = gate.or_else(|| saved.waiting_room());
        if gate.as_ref().is_some_and(|gate| gate.shuts_down())
            || !saved.tape.replayable()
            || !scope::has_attempts()
            || gate.as_ref().is_some_and(|gate| gate.pacer().is_some_and(|pacer| !pacer.has_retries()))
            || saved.is_sent_again_above()
        {
            return Next::Return(Ok(response));
        }
        saved.patience.let_go = true;
        let parked = Parked { gate, until, own };
        let body = response.into_body();
        if body.is_end_stream() {
            drop(body);
            return self.park(&parked);
        }
        let by = clock::to_instant(until).min(Instant::now() + DRAIN_FOR);
        Next::Go(State::Drain { drain: Box::pin(Drain::new(body, DRAINED, by)), then: Some(parked) })
    }

    /// Waits until the family, and the request's own hint, allow another attempt.
    pub(super) fn park<F, RB>(&mut self, parked: &Parked) -> Next<F, RB> {
        let Some(Saved { head, patience, .. }) = self.saved.as_deref_mut() else {
            return Next::Return(Err(budget::out_of_attempts()));
        };
        let (caller, now) = (caller(head), clock::now());
        let Some(gate) = &parked.gate else {
            let limit = patience.limit(&caller, now).deadline();
            return Next::Go(State::Wait {
                wait: Box::new(Wait::until(jittered(parked.until, fastrand::f64(), limit, now))),
            });
        };
        Next::waits(patience.park(gate, parked.own, &caller, now))
    }

    /// The gate refused: nothing was sent.
    fn refused<F, RB>(&mut self, cooling: Cooling) -> Next<F, RB> {
        match self.saved.as_deref_mut() {
            Some(Saved { head, patience, .. }) => Next::waits(patience.refused(cooling, &caller(head))),
            None => Next::Return(Err(Error::Cooling(cooling))),
        }
    }

    /// Pacing refused: nothing was sent, and it waited there for as long as it may.
    fn not_paced(&self, refused: PacingRefused) -> Error {
        let Some(saved) = self.saved.as_ref().filter(|saved| saved.patience.let_go) else {
            return Error::Pacing(refused);
        };
        // There was an answer, and it is gone.
        let what = match refused.cause() {
            PacingCause::RetryQuota => Spent::RetryQuota,
            PacingCause::ShuttingDown => Spent::ShuttingDown,
            _ => Spent::NextWait,
        };
        saved.patience.exhausted(what, clock::now())
    }

    /// An earlier logical request recorded a deadline for this URL.
    pub(super) fn recorded<F, RB>(&mut self, until: Monotonic) -> Next<F, RB> {
        let Some(saved) = self.saved else { return Next::Return(Err(budget::out_of_attempts())) };
        let now = clock::now();
        let limit = saved.patience.limit(&caller(&saved.head), now);
        if !limit.fits(until) {
            let family = self.memory.family(saved.target());
            saved.count_refusal(family.as_deref(), RefusalCause::Cooling);
            let refusal = saved.refused_until(until, family);
            return Next::Return(Err(saved.patience.give_up(refusal, &caller(&saved.head), now)));
        }
        let Some(room) = saved.waiting_room() else {
            return Next::Go(State::Wait {
                wait: Box::new(Wait::recorded(jittered(until, fastrand::f64(), limit.deadline(), now))),
            });
        };
        let family = self.memory.family(saved.target());
        let refusal = saved.refused_until(until, family.clone());
        let Saved { head, patience, .. } = &mut **saved;
        let wait = patience.recorded(&room, until, refusal, &caller(head), now);
        if let Err(Error::Cooling(refused)) = &wait {
            saved.count_refusal(family.as_deref(), refused.cause());
        }
        Next::waits(wait)
    }

    /// A wait ended.
    pub(super) fn waited<F, RB>(&mut self, waited: Waited) -> Next<F, RB> {
        let Some(saved) = self.saved else { return Next::Return(Err(budget::out_of_attempts())) };
        match waited {
            Waited::Over(grant) => {
                saved.patience.has_waited(grant);
                Next::Go(State::Ready)
            }
            // Others may have been told a later one meanwhile; this request was not sent yet, so that stands for it.
            Waited::Recorded => match self.memory.standing(saved.target(), clock::now()) {
                Some(until) => Next::Go(State::Recorded { until }),
                None => {
                    saved.patience.has_waited(None);
                    Next::Go(State::Ready)
                }
            },
            Waited::Refused(gate, refusal) => {
                if saved.waiting_room().is_some_and(|room| Arc::ptr_eq(&room, &gate)) {
                    let family = self.memory.family(saved.target());
                    saved.count_refusal(family.as_deref(), refusal.cause);
                }
                Next::Return(Err(saved.patience.ended(&gate, &refusal, &caller(&saved.head))))
            }
        }
    }

    /// Makes the kept service ready.
    pub(super) fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>>
    where
        S: Service<Request<Replay<B>>>,
        S::Error: Into<BoxError>,
    {
        match self.saved {
            Some(saved) => saved.service.poll_ready(cx).map_err(Error::from_inner),
            None => Poll::Ready(Ok(())),
        }
    }

    /// Sends again.
    pub(super) fn send<RB>(&mut self, ready: Result<(), Error>) -> Next<S::Future, RB>
    where
        S: Service<Request<Replay<B>>>,
    {
        let Some(saved) = self.saved else { return Next::Return(Err(budget::out_of_attempts())) };
        let now = clock::now();
        if let Err(error) = ready {
            return Next::Return(Err(error));
        }
        if !caller(&saved.head).budget.fits(now) {
            return Next::Return(Err(saved.patience.exhausted(Spent::Time, now)));
        }
        match saved.again(now) {
            Some(request) => Next::Go(State::sent(saved.service.call(request))),
            None => Next::Return(Err(saved.patience.exhausted(Spent::NextWait, now))),
        }
    }
}

impl Memory<'_> {
    /// The deadline that is recorded for a URL, if it lies in the future.
    fn standing(&self, target: Target<'_>, now: Monotonic) -> Option<Monotonic> {
        let deadlines = self.deadlines.find()?;
        deadlines.get(target.key(&deadlines), now)
    }

    /// The family that a URL was charged to, if that is known.
    fn family(&self, target: Target<'_>) -> Option<Arc<str>> {
        let deadlines = self.deadlines.find()?;
        deadlines.family(target.key(&deadlines))
    }

    fn record(
        &mut self,
        target: Option<Target<'_>>,
        until: Monotonic,
        family: Option<&Arc<str>>,
        now: Monotonic,
    ) {
        let Some(deadlines) = self.deadlines.find() else { return };
        // A key that was made before the call stands where no gate kept the URL, nor the response names another.
        let Some(key) = target.map(|target| target.key(&deadlines)).or(self.key) else { return };
        // Where a budget is in scope, copies of one logical request (as hedging makes them) are known as such.
        let before = std::mem::replace(self.recorded, true);
        let again = scope::records().unwrap_or_default() || before;
        deadlines.record(key, until, again, now);
        if let Some(family) = family {
            deadlines.charge(key, family, until, now);
        }
    }
}

/// What a limited answer says.
pub(crate) struct Limited {
    pub(crate) said: Arc<Said>,
    pub(crate) retry_at: Option<Monotonic>,
    pub(crate) gate: Option<Arc<Gate>>,
}

/// Reads what the gate found, or, where there is none, the head by the standard dialect.
#[inline]
pub(crate) fn said<RB>(response: &Response<RB>) -> Option<Limited> {
    let extensions = response.extensions();
    if let Some(signal) = extensions.get::<Signal>() {
        if extensions.get::<Shadowed>().is_some() {
            return None;
        }
        let Signal { said, retry_at, gate } = signal.clone();
        return Some(Limited { said, retry_at, gate });
    }
    let standard = Dialect::standard();
    let settled = || extensions.get::<NoSignal>().is_some() || extensions.get::<Shadowed>().is_some();
    if !standard.may_limit(response.status()) || settled() {
        return None;
    }
    let reading = standard.read_head(response.status(), response.headers(), clock::wall());
    let said = Arc::new(reading.into_signal()?);
    Some(Limited { said, retry_at: None, gate: None })
}
