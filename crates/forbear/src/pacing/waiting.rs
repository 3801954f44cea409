use std::sync::Arc;
use std::task::{Context, Poll, ready};

use forbear_core::families::Member;
use forbear_core::gate::{Ask, Priority};
use forbear_core::pacing::{Caller, Entry, Pacer};
use forbear_core::url::RedactedUrl;
use http::Request;
use tower_service::Service;

use super::booked::{Booked, Lesson};
use super::line::{Line, Refused};
use crate::Error;
use crate::body::BoxError;
use crate::budget::{self, scope};
use crate::clock::{self, Alarm};
use crate::extensions::{NoQueue, Turn};
use crate::whose::{Whose, partition};

/// A request that could not go at once.
pub(super) struct Waiting<S, B> {
    service: S,
    /// Whether the service is ready. Not while it waits.
    ready: bool,
    /// `None` once it is sent.
    request: Option<Request<B>>,
    member: Arc<Member>,
    cost: u32,
    /// Whether its logical request was sent before.
    further: bool,
    lesson: Option<Lesson>,
    /// Says that it waits, to who wants to know.
    #[cfg(feature = "stale")]
    standing: Option<crate::parking::Standing>,
    stage: Stage,
}

#[expect(clippy::large_enum_variant, reason = "it is in a box, and in line for nearly all of its life")]
enum Stage {
    /// Not polled yet: only then the budget is in scope for sure.
    Called,
    Line(Line),
    /// Its turn has come; the service is made ready.
    Turn(Option<Booked>, Alarm),
}

/// The attempt, and what it holds.
pub(super) type Sent<F> = (F, Option<Booked>);

impl<S, B> Waiting<S, B> {
    pub(super) fn new(
        service: S,
        request: Request<B>,
        member: Arc<Member>,
        (cost, further): (u32, bool),
        lesson: Option<Lesson>,
    ) -> Self {
        let (request, stage) = (Some(request), Stage::Called);
        Self {
            service,
            ready: true,
            request,
            member,
            cost,
            further,
            lesson,
            #[cfg(feature = "stale")]
            standing: None,
            stage,
        }
    }

    /// Ready when it was sent, or is refused.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Sent<S::Future>, Error>>
    where
        S: Service<Request<B>> + Clone,
        S::Error: Into<BoxError>,
    {
        loop {
            match &mut self.stage {
                Stage::Called => {
                    self.stage = match self.line() {
                        Some(line) => Stage::Line(line),
                        // Its family is paced no longer.
                        None => Stage::Turn(None, Alarm::new()),
                    };
                }
                Stage::Line(line) => match line.poll(cx) {
                    Poll::Pending => {
                        // Nothing scarce is held while it waits.
                        if std::mem::take(&mut self.ready) {
                            self.service = self.service.clone();
                            #[cfg(feature = "stale")]
                            if let Some(request) = &self.request {
                                self.standing = crate::parking::Standing::begin(request.extensions());
                            }
                        }
                        return Poll::Pending;
                    }
                    Poll::Ready(Ok(booked)) => {
                        #[cfg(feature = "stale")]
                        drop(self.standing.take());
                        self.stage = Stage::Turn(Some(booked), Alarm::new());
                    }
                    Poll::Ready(Err(refused)) => return Poll::Ready(Err(self.refused(refused))),
                },
                Stage::Turn(booked, alarm) => {
                    if !self.ready {
                        match self.service.poll_ready(cx) {
                            Poll::Pending => {
                                if let Some(booked) = booked {
                                    booked.hold(clock::now());
                                }
                                return Poll::Pending;
                            }
                            Poll::Ready(Err(error)) => return Poll::Ready(Err(Error::from_inner(error))),
                            Poll::Ready(Ok(())) => self.ready = true,
                        }
                    }
                    // Others went where that took long: then it waits until their gap has passed.
                    while let Some(Err(at)) = booked.as_mut().map(|booked| booked.release(clock::now())) {
                        ready!(alarm.poll(at, cx));
                    }
                    let booked = booked.take();
                    let Some(request) = self.request.take() else { return Poll::Pending };
                    let booked = booked.map(|booked| booked.learning(self.lesson.take()));
                    return Poll::Ready(Ok((self.service.call(request), booked)));
                }
            }
        }
    }

    fn line(&self) -> Option<Line> {
        let (request, member) = (self.request.as_ref()?, &self.member);
        let (pacer, now) = (member.gate.pacer()?, clock::now());
        let extensions = request.extensions();
        let turn = extensions.get::<Turn>();
        let ask = Ask {
            entered: turn.map_or_else(|| scope::entered().unwrap_or(now), |turn| turn.entered),
            deadline: budget::effective(extensions).deadline(),
            waited: turn.is_some(),
            priority: extensions.get::<Priority>().copied().unwrap_or_default(),
            grant: turn.and_then(|turn| turn.grant),
        };
        let entry = Entry {
            caller: extensions.get::<Caller>().copied(),
            queues: extensions.get::<NoQueue>().is_none(),
            further: self.further,
            ..Entry::new().cost(self.cost)
        };
        let gates = (Arc::clone(&member.gate), Whose::of_request(request, member, now).part);
        let part = part(pacer, request, member);
        Some(Line::new(gates, (Arc::clone(pacer), part), ask, entry, now))
    }

    fn refused(&self, refused: Refused) -> Error {
        refused.into_error(self.request.as_ref().map(|request| RedactedUrl::of(request.uri())))
    }
}

/// The pacer of the partition that a request counts in, where partitions have limits for themselves.
fn part<B>(pacer: &Pacer, request: &Request<B>, member: &Member) -> Option<Arc<Pacer>> {
    if pacer.is_by_part() { pacer.part(partition(request, member)?, clock::now()) } else { None }
}
