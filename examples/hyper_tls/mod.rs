//! hyper-util with rustls below the stack: HTTP/1 and HTTP/2, and what a throttled answer costs in connections.
//!
//! [`platform`] is the client that a program has, [`Server`] plays the vendor. A discarded 429 with a small body is read to its
//! end, so that its connection serves the next attempt; a large one is dropped, which HTTP/1 pays for with a connection.

mod client;
mod server;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use forbear::{Families, Family};
use futures_util::{StreamExt, stream};
use http::{HeaderValue, Request, Response, StatusCode, Version};
use http_body::Frame;
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use tokio::time::sleep;

pub use client::{HttpsVendor, platform, trusting};
pub use server::{Body, Server};

use crate::BoxError;

/// What a vendor was asked, and what it cost.
#[derive(Debug, PartialEq, Eq)]
pub struct Cost {
    /// What was spoken.
    pub version: Version,
    /// Bytes of the discarded 429.
    pub discarded: usize,
    /// Connections that the 429 and the answer after it took.
    pub connections: usize,
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { version, discarded, connections } = self;
        write!(f, "{version:?}: served, a 429 of {discarded} bytes discarded, connections: {connections}")
    }
}

/// Plays it in about a second.
///
/// # Errors
/// Where there is no socket, or a call is not served.
pub async fn run() -> Result<Vec<Cost>, BoxError> {
    let mut costs = Vec::new();
    for protocol in ["http/1.1", "h2"] {
        for discarded in [40_000, 16 << 20] {
            costs.push(cost(protocol, discarded).await?);
        }
    }
    Ok(costs)
}

/// One call that meets a 429 of so many bytes.
async fn cost(protocol: &str, discarded: usize) -> Result<Cost, BoxError> {
    let asked = Arc::new(AtomicUsize::new(0));
    let server = Server::start(&[protocol], move |_| {
        let first = asked.fetch_add(1, Ordering::SeqCst) == 0;
        if first { limited(discarded) } else { Response::new(Full::from("served").boxed_unsync()) }
    })
    .await?;
    let families = Families::builder().family(Family::new("quotes").host(server.authority())).build()?;
    let vendor = trusting::<Empty<Bytes>>(server.certificate(), &families, Duration::from_secs(10))?;
    let answer = vendor.send(Request::get(server.url("/chart")).body(Empty::new())?).await?;
    let version = answer.version();
    if answer.into_body().collect().await?.to_bytes() != "served" {
        return Err("the call is not served".into());
    }
    Ok(Cost { version, discarded, connections: server.connections() })
}

/// Its end comes a moment later, so that nobody has it who does not wait for it.
fn limited(bytes: usize) -> Response<Body> {
    let (start, end) = (bytes / 2, bytes - bytes / 2);
    let pieces = stream::iter([(start, 0), (end, 20)]).then(|(piece, millis)| async move {
        sleep(Duration::from_millis(millis)).await;
        Ok(Frame::data(Bytes::from(vec![b'x'; piece])))
    });
    let mut limited = Response::new(StreamBody::new(pieces).boxed_unsync());
    *limited.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    limited.headers_mut().insert("retry-after-ms", HeaderValue::from_static("1"));
    limited
}
