//! `BudgetLayer` through its public API, under a paused clock.

mod attempts;
mod deadline;
mod errors;
mod law;
mod scope;
mod shapes;

#[path = "../common/mod.rs"]
mod common;

use bytes::Bytes;
use forbear::{Budget, Error, Spent};
use http::{Request, Response};
use http_body_util::Full;
use tower::Service;

/// Whether `answer` is an exhausted budget, and of which part.
fn spent<T>(answer: Result<T, Error>) -> Option<Spent> {
    match answer {
        Err(Error::BudgetExhausted(exhausted)) => Some(exhausted.what()),
        _ => None,
    }
}

/// What an inner service saw: the budget in scope at its call, at its first poll, and in the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    call: Option<Budget>,
    poll: Option<Budget>,
    carried: Option<Budget>,
}

/// Answers with what it [`Seen`].
fn looking<B>()
-> impl Service<Request<B>, Response = Response<Full<Bytes>>, Error = std::convert::Infallible, Future: Send>
+ Clone
+ Send {
    tower::service_fn(|request: Request<B>| {
        let call = Budget::current();
        let carried = request.extensions().get::<Budget>().copied();
        async move {
            let mut response = Response::new(Full::default());
            response.extensions_mut().insert(Seen { call, poll: Budget::current(), carried });
            Ok(response)
        }
    })
}

fn seen<E: std::fmt::Debug>(answer: Result<Response<Full<Bytes>>, E>) -> Seen {
    *answer.unwrap().extensions().get::<Seen>().unwrap()
}
