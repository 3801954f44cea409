//! The client below the gate: sends to the vendor of the request's host, and says so to the world.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use forbear::body::Replay;
use forbear_mock::{MockBody, MockService, ReplyFuture};
use http::{HeaderMap, Request, Response};
use http_body_util::Full;
use tower::Service;

use super::world::World;

pub(crate) type Sent = Replay<Full<Bytes>>;

#[derive(Clone)]
pub(crate) struct Wire(pub(crate) Rc<World>);

impl Service<Request<Sent>> for Wire {
    type Response = Response<MockBody>;
    type Error = io::Error;
    type Future = OnTheWire;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Sent>) -> OnTheWire {
        let world = Rc::clone(&self.0);
        let host = request.uri().host().unwrap().to_owned();
        let watched = world.of(&host);
        watched.seen.borrow_mut().arrived += 1;
        world.look();
        let attempt = world.current.get();
        watched.arrived(attempt, world.now());
        world.flights.borrow_mut().sent(attempt, &host, watched.turns());
        world.note(("arrives", attempt, &host, request.uri().path()));
        let mut vendor: MockService = watched.family.vendor.service();
        world.in_flight.set(world.in_flight.get() + 1);
        OnTheWire { answer: vendor.call(request), attempt, host, world }
    }
}

/// One attempt.
pub(crate) struct OnTheWire {
    answer: ReplyFuture,
    attempt: usize,
    host: String,
    world: Rc<World>,
}

impl Future for OnTheWire {
    type Output = io::Result<Response<MockBody>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = ready!(Pin::new(&mut self.answer).poll(cx));
        self.world.look();
        self.world.flights.borrow_mut().answered(self.attempt, self.world.of(&self.host).turns());
        if let Ok(response) = &answer {
            self.world.note(("answers", response.status().as_u16()));
            // What the standard dialect says.
            let signal = match response.status().as_u16() {
                429 | 529 => true,
                503 => response.headers().contains_key("retry-after"),
                _ => false,
            };
            if signal {
                let mut seen = self.world.of(&self.host).seen.borrow_mut();
                seen.signals += 1;
                seen.hint = seen.hint.max(hint(response.headers()));
            }
        }
        Poll::Ready(answer)
    }
}

/// The delay that the vendors of [`plan`](super::plan) write, the simplest way.
fn hint(headers: &HeaderMap) -> Duration {
    let number = |name: &str, unit: f64| {
        let text = headers.get(name)?.to_str().ok()?;
        match text.parse::<f64>() {
            Ok(number) => Some(Duration::try_from_secs_f64(number * unit).unwrap_or(Duration::MAX)),
            Err(_) => text.ends_with("GMT").then_some(super::plan::DATED),
        }
    };
    number("retry-after-ms", 0.001).max(number("retry-after", 1.0)).unwrap_or_default()
}

impl Drop for OnTheWire {
    fn drop(&mut self) {
        self.world.in_flight.set(self.world.in_flight.get() - 1);
    }
}
