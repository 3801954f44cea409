//! A small program that calls a vendor, and how it is tested: its tests are `examples/tests/testing.rs`.
//!
//! The program is generic in its client. So its tests give it a real one on a real socket, or a vendor inside the process
//! under a paused clock.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use forbear::{Error, Families, Signal, Vendor, body::Replay};
use http::{Request, Response};
use http_body::Body;
use http_body_util::{BodyExt, Empty};
use tower::Service;

use crate::BoxError;

/// Asks a vendor for prices.
#[derive(Clone, Debug)]
pub struct Prices<C> {
    vendor: Vendor<C>,
    base: String,
}

/// There is no price now.
#[derive(Debug)]
pub enum Unavailable {
    /// The vendor has had enough; it may be asked again after this, where that is known.
    Later(Option<Duration>),
    /// Something else went wrong.
    Failed(BoxError),
}

impl<C> Prices<C> {
    /// Asks the vendor at `base` with `client`, three seconds for each price.
    #[must_use]
    pub fn new(families: &Families, client: C, base: impl Into<String>) -> Self {
        let vendor = forbear::stack(families).budget(Duration::from_secs(3)).service(client);
        Self { vendor, base: base.into() }
    }

    /// The price of one `symbol`.
    ///
    /// # Errors
    /// [`Unavailable::Later`] where the vendor is not to be called now, for longer than the budget.
    pub async fn of<RB>(&self, symbol: &str) -> Result<f64, Unavailable>
    where
        C: Service<Request<Replay<Empty<Bytes>>>, Response = Response<RB>> + Clone,
        C::Error: Into<BoxError>,
        RB: Body,
        RB::Error: Into<BoxError>,
    {
        let url = format!("{}/{symbol}", self.base.trim_end_matches('/'));
        let request = Request::get(url).body(Empty::new()).map_err(Unavailable::failed)?;
        let answer = match self.vendor.send(request).await {
            Ok(answer) => answer,
            Err(Error::Cooling(cooling)) => return Err(Unavailable::Later(cooling.retry_in())),
            Err(Error::Pacing(paced)) => return Err(Unavailable::Later(paced.retry_in())),
            Err(other) => return Err(Unavailable::failed(other)),
        };
        if let Some(signal) = answer.extensions().get::<Signal>() {
            return Err(Unavailable::Later(signal.retry_in()));
        }
        if !answer.status().is_success() {
            return Err(Unavailable::failed(format!("the vendor said {}", answer.status())));
        }
        let body = answer.into_body().collect().await.map_err(Unavailable::failed)?;
        let text = String::from_utf8(body.to_bytes().to_vec()).map_err(Unavailable::failed)?;
        text.trim().parse().map_err(Unavailable::failed)
    }
}

impl Unavailable {
    fn failed(error: impl Into<BoxError>) -> Self {
        Self::Failed(error.into())
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Later(Some(left)) => write!(f, "not now, ask again in {left:.1?}"),
            Self::Later(None) => f.write_str("not now, ask again later"),
            Self::Failed(_) => f.write_str("the vendor gave no price, see the source"),
        }
    }
}

impl std::error::Error for Unavailable {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Failed(error) => Some(error.as_ref()),
            Self::Later(_) => None,
        }
    }
}
