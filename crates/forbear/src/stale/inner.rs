//! What lies below, with all that is asked of it.

use std::future::Future;

use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use crate::body::BoxError;

/// A service that answers requests with bodies of `B`. Every one that fits is one.
pub(super) trait Inner<B>:
    Service<
        Request<B>,
        Response = Response<Self::Body>,
        Error: Into<BoxError>,
        Future: Future<Output = Result<Response<Self::Body>, <Self as Service<Request<B>>>::Error>> + Send,
    > + Clone
    + Send
    + 'static
{
    /// The body of its answers.
    type Body: Body<Data: Send, Error: Into<BoxError>> + Send + 'static;
}

impl<S, B, RB> Inner<B> for S
where
    S: Service<Request<B>, Response = Response<RB>, Error: Into<BoxError>, Future: Send>
        + Clone
        + Send
        + 'static,
    RB: Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
{
    type Body = RB;
}
