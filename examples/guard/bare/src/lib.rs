//! Calls around the stack: what the guard is against. `cargo clippy` with `-D clippy::disallowed_methods` fails on each.

use bytes::Bytes;
use http::{Request, Uri};
use http_body_util::Empty;
use hyper::client::conn::http1;
use hyper_util::client::legacy::{Builder, Client, Error, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioIo};

/// A client of one's own, and everything that can be sent with it.
///
/// # Errors
/// Where the vendor cannot be reached.
pub async fn bare_client(url: Uri) -> Result<(), Error> {
    let client: Client<HttpConnector, Empty<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    client.get(url.clone()).await?;
    let mut request = Request::new(Empty::new());
    *request.uri_mut() = url;
    client.request(request).await?;
    Ok(())
}

/// The same by another door.
#[must_use]
pub fn other_door() -> Client<HttpConnector, Empty<Bytes>> {
    Builder::new(TokioExecutor::new()).build_http()
}

/// A connection of one's own.
///
/// # Errors
/// Where the handshake fails.
pub async fn bare_connection<T>(stream: TokioIo<T>, other: TokioIo<T>) -> hyper::Result<()>
where
    TokioIo<T>: hyper::rt::Read + hyper::rt::Write + Unpin,
{
    let _ = http1::handshake::<_, Empty<Bytes>>(stream).await?;
    let _ = http1::Builder::new().handshake::<_, Empty<Bytes>>(other).await?;
    Ok(())
}
