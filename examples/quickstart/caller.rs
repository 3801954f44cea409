//! Who calls the vendors, and says what came of it.

use std::io::Write;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use forbear::{Error, Signal, Stacked, body::Replay};
use http::Request;
use http_body_util::Empty;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use tokio::time::{Instant, timeout};
use tower::ServiceExt;

use super::BoxError;
use super::timeline::Timeline;

/// The three layers around a client. A body that may have to be sent again reaches the client as a `Replay`.
type Vendor = Stacked<Client<HttpConnector, Replay<Empty<Bytes>>>>;

/// A call that takes longer than this is said to wait.
const PATIENCE: Duration = Duration::from_millis(50);

/// How a call ended.
#[derive(Debug)]
pub struct Ended {
    /// The time the caller waited for it.
    pub took: Duration,
    /// The vendor's status; `None` where the request was refused here, and not sent.
    pub status: Option<u16>,
    /// How long the family cools, where the call ended for that.
    pub retry_in: Option<Duration>,
}

/// Calls through one stack. Every call uses a clone of it: clones share the families.
pub(super) struct Caller<'a, W> {
    vendor: &'a Vendor,
    timeline: &'a Timeline<'a, W>,
}

impl<'a, W: Write> Caller<'a, W> {
    pub(super) const fn new(vendor: &'a Vendor, timeline: &'a Timeline<'a, W>) -> Self {
        Self { vendor, timeline }
    }

    /// Sends one logical request with one request extension; `()` where it needs none.
    pub(super) async fn ask(
        &self,
        who: &str,
        url: String,
        extension: impl Clone + Send + Sync + 'static,
    ) -> Result<Ended, BoxError> {
        let request = Request::get(url).extension(extension).body(Empty::new())?;
        let path = request.uri().path().to_owned();
        let start = Instant::now();
        let mut answer = pin!(self.vendor.clone().oneshot(request));
        let answer = match timeout(PATIENCE, answer.as_mut()).await {
            Ok(answer) => answer,
            Err(_) => {
                self.timeline.say(who, format_args!("{path} waits"))?;
                answer.await
            }
        };
        let took = start.elapsed();
        let (ended, said) = match answer {
            Ok(response) => {
                let retry_in = response.extensions().get::<Signal>().and_then(Signal::retry_in);
                let hint = retry_in.map(|left| format!(", and the family cools for {left:.0?}"));
                let status = response.status().as_u16();
                (
                    Ended { took, status: Some(status), retry_in },
                    format!("{status}{}", hint.unwrap_or_default()),
                )
            }
            Err(Error::Cooling(cooling)) => {
                (Ended { took, status: None, retry_in: cooling.retry_in() }, format!("not sent: {cooling}"))
            }
            Err(other) => return Err(other.into()),
        };
        self.timeline.say(who, format_args!("{path} {said}, after {took:.1?}"))?;
        Ok(ended)
    }
}
