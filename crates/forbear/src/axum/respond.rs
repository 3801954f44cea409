use axum_core::response::{IntoResponse, Response};

use crate::Error;
use crate::refusal::Refusal;

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        self.response()
    }
}

/// As of [`Refusal::of`]: `503` with `Retry-After`, `504`, `502` or `500`, with a problem body that tells no secrets. Log the
/// error before, where its route and its source shall be known.
impl IntoResponse for Error {
    fn into_response(self) -> Response {
        Refusal::of(&self).response()
    }
}
