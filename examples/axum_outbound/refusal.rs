//! What callers of the server are told where the vendor is not called, or says no: 503 and when to come back.

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use forbear::error::Spent;
use forbear::{BoxError, Error, Signal};
use http::StatusCode;
use http::header::RETRY_AFTER;

/// A call to the vendor that ended without an answer for the caller.
pub(super) struct Refused {
    status: StatusCode,
    retry_in: Option<Duration>,
    why: String,
}

impl Refused {
    pub(super) fn caller(why: &str) -> Self {
        Self { status: StatusCode::BAD_REQUEST, retry_in: None, why: why.to_owned() }
    }

    pub(super) fn client(error: impl Into<BoxError>) -> Self {
        Error::from_inner(error).into()
    }
}

/// The vendor's own 429 or 503, where its wait did not fit the budget.
pub(super) fn limited<B>(answer: &http::Response<B>) -> Option<Refused> {
    let signal = answer.extensions().get::<Signal>()?;
    let why = format!("limited ({signal})");
    Some(Refused { status: StatusCode::SERVICE_UNAVAILABLE, retry_in: signal.retry_in(), why })
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        let (status, retry_in) = match &error {
            Error::Cooling(cooling) => (StatusCode::SERVICE_UNAVAILABLE, cooling.retry_in()),
            Error::BudgetExhausted(spent) if spent.what() == Spent::ShuttingDown => {
                (StatusCode::SERVICE_UNAVAILABLE, None)
            }
            Error::BudgetExhausted(_) => (StatusCode::GATEWAY_TIMEOUT, None),
            Error::UnknownFamily(_) => (StatusCode::INTERNAL_SERVER_ERROR, None),
            _ => (StatusCode::BAD_GATEWAY, None),
        };
        Self { status, retry_in, why: error.to_string() }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let mut response = (self.status, self.why).into_response();
        if let Some(left) = self.retry_in {
            // Rounded up: who comes back then is not too early.
            let seconds = left.as_secs() + u64::from(left.subsec_nanos() > 0);
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        response
    }
}
