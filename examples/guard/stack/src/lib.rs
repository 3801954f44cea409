//! A program that the guard lets pass.

#[expect(
    clippy::disallowed_methods,
    reason = "the one module that makes clients: each goes straight into a stack"
)]
pub mod vendors;

use bytes::Bytes;
use forbear::Error;
use http::{Request, StatusCode};
use http_body_util::Empty;

/// Everything else calls vendors by what that module hands out.
///
/// # Errors
/// Where the vendor is not called, or cannot be reached.
pub async fn chart(quotes: &vendors::Quotes) -> Result<StatusCode, Error> {
    let mut request = Request::new(Empty::<Bytes>::new());
    *request.uri_mut() = http::Uri::from_static("https://query1.example.com/chart");
    Ok(quotes.send(request).await?.status())
}
