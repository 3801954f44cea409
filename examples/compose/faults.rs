//! The policy of `tower::retry`: faults only. Limits and refusals are `RetryAfterLayer`'s.

use std::time::Duration;

use forbear::{Error, body::Replay};
use http::{Request, Response, StatusCode};
use tokio::time::{Sleep, sleep};
use tower::retry::Policy;

/// Between a fault and the next attempt.
const PAUSE: Duration = Duration::from_millis(50);

/// Sends an idempotent request again after a plain 500 or an error of the client, such as a reset or an attempt timeout.
#[derive(Clone, Debug)]
pub struct Faults {
    left: u32,
}

impl Faults {
    /// At most `most` times for each attempt that `RetryAfterLayer` makes.
    #[must_use]
    pub const fn new(most: u32) -> Self {
        Self { left: most }
    }
}

impl<B, RB> Policy<Request<Replay<B>>, Response<RB>, Error> for Faults {
    type Future = Sleep;

    fn retry(
        &mut self,
        next: &mut Request<Replay<B>>,
        result: &mut Result<Response<RB>, Error>,
    ) -> Option<Sleep> {
        let fault = match result {
            Ok(response) => response.status() == StatusCode::INTERNAL_SERVER_ERROR,
            Err(error) => matches!(error, Error::Client(_)),
        };
        if !fault || !next.method().is_idempotent() || !next.body().replayable() {
            return None;
        }
        self.left = self.left.checked_sub(1)?;
        Some(sleep(PAUSE))
    }

    fn clone_request(&mut self, request: &Request<Replay<B>>) -> Option<Request<Replay<B>>> {
        let mut next = Request::new(request.body().try_clone()?);
        *next.method_mut() = request.method().clone();
        *next.uri_mut() = request.uri().clone();
        *next.version_mut() = request.version();
        *next.headers_mut() = request.headers().clone();
        *next.extensions_mut() = request.extensions().clone();
        Some(next)
    }
}
