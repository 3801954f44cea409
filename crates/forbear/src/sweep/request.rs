//! What the caller's closure makes of an item.

use std::any::Any;
use std::fmt;

use http::Request;

use crate::Error;
use crate::body::BoxError;

/// What a sweep's closure returns: a request, or what may be one, such as what `http::request::Builder::body` returns.
pub trait IntoRequest {
    /// The request's body.
    type Body;

    /// The request.
    ///
    /// # Errors
    /// Where it could not be made: the item [failed](super::Failed), and the others go on.
    fn into_request(self) -> Result<Request<Self::Body>, BoxError>;
}

impl<B> IntoRequest for Request<B> {
    type Body = B;

    fn into_request(self) -> Result<Self, BoxError> {
        Ok(self)
    }
}

impl<B, E: Into<BoxError>> IntoRequest for Result<Request<B>, E> {
    type Body = B;

    fn into_request(self) -> Result<Request<B>, BoxError> {
        self.map_err(Into::into)
    }
}

/// An item's request could not be made; what is wrong is the source.
#[derive(Debug)]
pub struct NoRequest(BoxError);

impl NoRequest {
    pub(super) fn error(why: BoxError) -> Error {
        Error::Client(Box::new(Self(why)))
    }
}

impl fmt::Display for NoRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the item's request could not be made, see the source")
    }
}

impl std::error::Error for NoRequest {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(self.0.as_ref())
    }
}

/// The closure, or the service, panicked over an item.
#[derive(Debug)]
pub struct Panicked(String);

impl Panicked {
    pub(super) fn error(payload: &(dyn Any + Send)) -> Error {
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        Error::Client(Box::new(Self(text.unwrap_or_default())))
    }

    /// What it said; empty where that was no text.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a panic: {}", self.0)
    }
}

impl std::error::Error for Panicked {}
