//! A tonic client whose channel has the stack around it.
//!
//! [`Vendor`] is a real server, [`Quotes`] a client as `tonic-build` would make it. [`run`] calls the one with the other: the
//! server says `RESOURCE_EXHAUSTED` without a message and pushes back, and the calls after that keep to it.

mod quotes;
mod server;

use std::fmt;
use std::time::Duration;

use forbear::tonic::GrpcVendor;
use forbear::{Error, Families, Family, NoWait, presets};
use futures_util::{StreamExt, stream};
use tokio::time::Instant;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request};

pub use quotes::{Ask, Quote, Quotes};
pub use server::Vendor;

use crate::BoxError;

/// The stack around a channel to `vendor`, which is one family and speaks gRPC.
///
/// # Errors
/// Where its URL is none.
pub fn channel(vendor: &Vendor, budget: Duration) -> Result<(Families, GrpcVendor<Channel>), BoxError> {
    let authority = vendor.origin().trim_start_matches("http://");
    let quotes = Family::new("quotes").host(authority).dialect(presets::grpc().dialect());
    let families = Families::builder().family(quotes).build()?;
    let channel = Endpoint::from_shared(vendor.origin().to_owned())?.connect_lazy();
    let channel = forbear::stack(&families).budget(budget).tonic(channel);
    Ok((families, channel))
}

/// What came of a call.
#[derive(Debug)]
pub struct Called {
    /// What was called.
    pub what: &'static str,
    /// Its status.
    pub code: Code,
    /// The time that forbear refused to wait, where it refused.
    pub refused_for: Option<Duration>,
    /// How long it took.
    pub took: Duration,
    /// How many calls the server has seen by then.
    pub calls: usize,
}

impl fmt::Display for Called {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, code, took, calls, .. } = self;
        write!(f, "{what:<30} {code:?} after {took:>6.1?}, {calls} calls so far")
    }
}

/// Plays it in about a second.
///
/// # Errors
/// Where there is no socket.
pub async fn run() -> Result<Vec<Called>, BoxError> {
    let vendor = Vendor::start(700).await?;
    let (_families, channel) = channel(&vendor, Duration::from_secs(30))?;
    let mut quotes = Quotes::with_origin(channel, vendor.origin().parse()?);
    let mut called = Vec::new();

    called.push(call("a quote", &mut quotes, Request::new(Ask::of("acme")), &vendor).await);
    // A call is not sent again: nobody says that it was not carried out.
    called
        .push(call("a quote that meets a limit", &mut quotes, Request::new(Ask::of("busy")), &vendor).await);
    let mut hasty = Request::new(Ask::of("acme"));
    hasty.extensions_mut().insert(NoWait);
    called.push(call("one that does not wait", &mut quotes, hasty, &vendor).await);
    let mut short = Request::new(Ask::of("acme"));
    short.set_timeout(Duration::from_millis(100));
    called.push(call("one without time to wait", &mut quotes, short, &vendor).await);
    called.push(call("one that waits", &mut quotes, Request::new(Ask::of("acme")), &vendor).await);

    let start = Instant::now();
    let asked = stream::iter((0..100).map(|n| Ask::of(&format!("symbol {n}"))));
    let watched = quotes.watch(asked).await?.into_inner().filter_map(async |quote| quote.ok()).count().await;
    called.push(Called {
        what: "a hundred in a stream",
        code: if watched == 100 { Code::Ok } else { Code::DataLoss },
        refused_for: None,
        took: start.elapsed(),
        calls: vendor.calls(),
    });
    Ok(called)
}

async fn call(
    what: &'static str,
    quotes: &mut Quotes<GrpcVendor<Channel>>,
    ask: Request<Ask>,
    vendor: &Vendor,
) -> Called {
    let start = Instant::now();
    let answer = quotes.get(ask).await;
    let took = start.elapsed();
    let status = answer.err();
    let refused_for = status.as_ref().and_then(|status| match Error::find(status) {
        Some(Error::Cooling(cooling)) => cooling.retry_in(),
        _ => None,
    });
    Called {
        what,
        code: status.map_or(Code::Ok, |status| status.code()),
        refused_for,
        took,
        calls: vendor.calls(),
    }
}
