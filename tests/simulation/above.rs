//! Stands right above the gate, and sees every attempt and every refusal of a logical request.

use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use forbear::{Error, FamilyCooldownService, Peeked, RefusalCause, Signal};
use forbear_mock::MockBody;
use http::{Request, Response};
use tower::Service;
use tower::limit::ConcurrencyLimit;

use super::wire::{Sent, Wire};
use super::world::World;

/// A logical request, carried by its attempts as an extension.
#[derive(Debug, Clone)]
pub(crate) struct Logical(pub(crate) std::sync::Arc<std::sync::Mutex<Sends>>);

/// What it may still do.
#[derive(Debug, Default)]
pub(crate) struct Sends {
    /// It was told to wait until then.
    pub(crate) not_before: Duration,
    /// Attempts that were let through.
    pub(crate) attempts: u32,
    /// When its budget began.
    pub(crate) called: Option<Duration>,
}

/// The client takes so many attempts at a time, so a right to send may be held for a while, and end unused.
type Gate = FamilyCooldownService<ConcurrencyLimit<Wire>>;

#[derive(Clone)]
pub(crate) struct Above {
    pub(crate) gate: Gate,
    pub(crate) world: Rc<World>,
}

impl Service<Request<Sent>> for Above {
    type Response = Response<Peeked<MockBody>>;
    type Error = Error;
    type Future = Attempt;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Service::<Request<Sent>>::poll_ready(&mut self.gate, cx)
    }

    fn call(&mut self, request: Request<Sent>) -> Attempt {
        let world = Rc::clone(&self.world);
        let number = world.attempts.get() + 1;
        world.attempts.set(number);
        let logical = request.extensions().get::<Logical>().unwrap().clone();
        let host = request.uri().host().unwrap().to_owned();
        let not_before = logical.0.lock().unwrap().not_before;
        // A recheck is sent in spite of what the vendor said: that is what it is for.
        let rechecks = world.of(&host).settings.recheck.is_some();
        assert!(
            rechecks || world.now() >= not_before,
            "sent again at {:?}, before {not_before:?}",
            world.now()
        );
        world.current.set(number);
        let attempt = Box::pin(self.gate.call(request));
        Attempt { attempt, number, host, logical, world, over: Cell::new(false) }
    }
}

pub(crate) struct Attempt {
    attempt: Pin<Box<<Gate as Service<Request<Sent>>>::Future>>,
    number: usize,
    host: String,
    logical: Logical,
    world: Rc<World>,
    over: Cell<bool>,
}

impl Future for Attempt {
    type Output = Result<Response<Peeked<MockBody>>, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.world.current.set(self.number);
        self.world.flights.borrow_mut().looked_at(self.number, &self.world);
        let answer = ready!(self.attempt.as_mut().poll(cx));
        self.settle();
        let now = self.world.now();
        let watched = self.world.of(&self.host);
        let mut sends = self.logical.0.lock().unwrap();
        match &answer {
            Ok(response) => {
                sends.attempts += 1;
                if let Some(signal) = response.extensions().get::<Signal>() {
                    let delay = signal.delay.map(|delay| delay.duration);
                    let asked = delay.unwrap_or_default();
                    self.world.look();
                    // A dead route has a deadline of its own.
                    if signal.partition().is_none() {
                        watched.told(delay, signal.retry_in());
                    }
                    sends.not_before = now.saturating_add(asked.max(Duration::from_millis(250)));
                } else {
                    self.world.look();
                }
                self.world.note(("told", self.number, response.status().as_u16()));
            }
            Err(Error::Cooling(cooling)) => {
                self.world.look();
                self.world.note(("refused", self.number, cooling.retry_in()));
                if cooling.cause() == RefusalCause::Cooling && cooling.partition().is_none() {
                    let until = cooling.retry_in().map(|left| now + left);
                    assert_eq!(until, Some(watched.seen.borrow().deadline), "{cooling:?}");
                }
            }
            // Its attempts were used up: it was let through, but not sent.
            Err(Error::BudgetExhausted(_)) => self.world.look(),
            Err(error) => {
                sends.attempts += 1;
                self.world.look();
                self.world.note(("failed", self.number));
                assert!(matches!(error, Error::Client(_)), "{error:?}");
            }
        }
        drop(sends);
        self.world.flights.borrow_mut().ended(self.number, watched.turns());
        Poll::Ready(answer)
    }
}

impl Attempt {
    fn settle(&self) {
        if !self.over.replace(true) {
            self.world.of(&self.host).settled(self.number);
        }
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.settle();
        self.world.flights.borrow_mut().forget(self.number);
    }
}
