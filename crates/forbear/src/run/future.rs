use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use forbear_core::budget::Budget as Limits;
use forbear_core::dialect::Verdict;
use forbear_core::gate::{Ask, Gate, Grant, Refusal};
use forbear_core::pacing::{Entry, Pacer};
use forbear_core::time::Monotonic;
use pin_project_lite::pin_project;

use super::FamilyGate;
use super::begun::Begun;
use crate::budget::{self, BudgetFuture, scope};
use crate::cooldown;
use crate::error::{Cooling, Spent};
use crate::pacing::{Booked, Line, Refused};
use crate::waiting::{Caller, Patience, Wait, Waited};
use crate::whose::Whose;
use crate::{Error, clock};

pin_project! {
    /// The future of [`FamilyGate::run`]. Dropping it gives up its place in the queue, or drops what it runs. Polled
    /// again after it ended, it stays pending.
    #[must_use = "nothing runs until it is awaited"]
    pub struct Run<M, F, C> {
        // The run is one logical request.
        #[pin]
        within: BudgetFuture<Running<M, F, C>>,
    }
}

pin_project! {
    struct Running<M, F, C> {
        #[pin]
        state: State<F>,
        gate: FamilyGate,
        run: Option<M>,
        classify: Option<C>,
        patience: Patience,
        // Its turn in the pacing of its family has come.
        booked: Option<Booked>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F> {
        // The gate is asked.
        Ask,
        Wait { wait: Box<Wait> },
        // Its family is paced.
        Line { line: Box<Line> },
        Sent { #[pin] future: F, begun: Option<Begun> },
        // What it held is let go with the output, not with this future.
        Done,
    }
}

impl<M, F, C> Run<M, F, C> {
    pub(super) fn new(
        gate: FamilyGate,
        (run, classify): (M, C),
        limits: Limits,
        grace: Duration,
        now: Monotonic,
    ) -> Self {
        let (run, classify) = (Some(run), Some(classify));
        let running =
            Running { state: State::Ask, gate, run, classify, patience: Patience::new(), booked: None };
        Self { within: BudgetFuture::new(running, scope::Scope::entered_at(now, limits), grace) }
    }
}

impl<M, F, C> std::fmt::Debug for Run<M, F, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").field("within", &self.within).finish_non_exhaustive()
    }
}

impl<M, F, C> Future for Run<M, F, C>
where
    M: FnOnce() -> F,
    F: Future,
    C: FnOnce(&F::Output) -> Verdict,
{
    type Output = Result<F::Output, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().within.poll(cx)
    }
}

impl<M, F, C> Future for Running<M, F, C>
where
    M: FnOnce() -> F,
    F: Future,
    C: FnOnce(&F::Output) -> Verdict,
{
    type Output = Result<F::Output, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let next = match this.state.as_mut().project() {
                StateProj::Ask => match ask(this.gate, this.patience, this.booked) {
                    Ok(Asked::Go(mut begun)) => {
                        let Some(run) = this.run.take() else { return Poll::Pending };
                        // From here on something may have been sent, even if it panics.
                        begun.sent();
                        Ok(State::Sent { future: run(), begun: Some(begun) })
                    }
                    Ok(Asked::Wait(wait)) => Ok(State::Wait { wait }),
                    Ok(Asked::Line(line)) => Ok(State::Line { line }),
                    Err(error) => Err(error),
                },
                StateProj::Line { line } => match ready!(line.poll(cx)) {
                    Ok(booked) => {
                        *this.booked = Some(booked);
                        Ok(State::Ask)
                    }
                    Err(Refused::Gate(gate, refusal)) => {
                        refused(this.gate, this.patience, &gate, &refusal).map(|wait| State::Wait { wait })
                    }
                    Err(paced) => Err(paced.into_error(None)),
                },
                StateProj::Wait { wait } => match ready!(wait.poll(cx)) {
                    Waited::Over(grant) => {
                        this.patience.has_waited(grant);
                        Ok(State::Ask)
                    }
                    Waited::Recorded => Ok(State::Ask),
                    Waited::Refused(gate, refusal) => {
                        Err(this.patience.ended(&gate, &refusal, &this.gate.asks()))
                    }
                },
                StateProj::Sent { future, begun } => {
                    // Held by nothing else meanwhile, so that a panic lets go of it, whoever catches that.
                    let held = begun.take();
                    let Poll::Ready(output) = future.poll(cx) else {
                        *begun = held;
                        return Poll::Pending;
                    };
                    this.state.set(State::Done);
                    if let (Some(held), Some(classify)) = (held, this.classify.take()) {
                        held.settle(classify(&output), this.gate);
                    }
                    return Poll::Ready(Ok(output));
                }
                StateProj::Done => return Poll::Pending,
            };
            match next {
                Ok(state) => this.state.set(state),
                Err(error) => {
                    this.state.set(State::Done);
                    return Poll::Ready(Err(error));
                }
            }
        }
    }
}

/// What came of asking the gate.
pub(super) enum Asked {
    Go(Begun),
    Wait(Box<Wait>),
    Line(Box<Line>),
}

fn ask(gate: &FamilyGate, patience: &mut Patience, booked: &mut Option<Booked>) -> Result<Asked, Error> {
    let now = clock::now();
    let caller = gate.asks();
    // Used here, or given back.
    let grant = patience.grant.take();
    // The same holds for its turn.
    let turn = booked.take();
    if !caller.budget.fits(now) {
        return Err(patience.exhausted(Spent::Time, now));
    }
    let families = &gate.families.0;
    let member = match gate.member(now) {
        Ok(member) => member,
        Err(unknown) => {
            families.snapshot().count_unknown();
            return if families.shadows() { Begun::unobserved(now).counted() } else { Err(unknown.into()) };
        }
    };
    let ask = Ask {
        entered: patience.entered(now),
        deadline: caller.budget.deadline(),
        waited: patience.waited,
        priority: caller.priority,
        grant: grant.as_ref().map(Grant::id),
    };
    let Whose { counted, part, suspect } = Whose::of(&member, gate.named(), || gate.partition, || None, now);
    let turn = match member.gate.pacer().filter(|_| turn.is_none() && !families.shadows()) {
        None => turn,
        Some(pacer) => match gate.enter(pacer, &member.gate, now) {
            Some(booked) => Some(booked),
            None => {
                let part_pacer = gate.partition.and_then(|partition| pacer.part(partition, now));
                let (gates, pacers) = ((Arc::clone(&member.gate), part), (Arc::clone(pacer), part_pacer));
                patience.grant = grant;
                return Ok(Asked::Line(Box::new(Line::new(gates, pacers, ask, gate.entry(), now))));
            }
        },
    };
    let asked = cooldown::admit(&member.gate, part.as_ref(), &ask, now);
    drop(grant);
    match asked {
        Ok(admitted) => Begun { admitted, counted, suspect, booked: turn }.counted(),
        // It would have been refused, so what it says changes nothing either.
        Err(_) if families.shadows() => Begun::unobserved(now).counted(),
        Err((refusing, refusal)) => refused(gate, patience, refusing, &refusal).map(Asked::Wait),
    }
}

/// A gate refused: waits that out where it may.
fn refused(
    gate: &FamilyGate,
    patience: &mut Patience,
    refusing: &Arc<Gate>,
    refusal: &Refusal,
) -> Result<Box<Wait>, Error> {
    if !scope::has_attempts() {
        return Err(budget::out_of_attempts());
    }
    let cooling = Cooling::gate(refusing, refusal, None);
    if gate.no_wait {
        return Err(Error::Cooling(cooling));
    }
    patience.refused(cooling, &gate.asks())
}

impl FamilyGate {
    /// Who asks, with the budget that is in scope.
    fn asks(&self) -> Caller<'static> {
        Caller { budget: scope::budget(), priority: self.priority, uri: None }
    }

    /// What the pacing of its family needs to know.
    fn entry(&self) -> Entry {
        Entry { caller: self.caller, queues: !self.no_queue, ..Entry::new().cost(self.cost) }
    }

    /// Its turn, where that has come already.
    fn enter(&self, pacer: &Arc<Pacer>, gate: &Gate, now: Monotonic) -> Option<Booked> {
        let plain = !pacer.is_by_part() && gate.is_open();
        plain.then(|| pacer.go(self.cost, now)).flatten().map(Booked::new)
    }
}
