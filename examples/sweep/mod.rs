//! A sweep over three vendors. One refuses in the middle and asks for a second, which is waited out; one asks for five minutes,
//! which do not fit and are reported; the third knows nothing of it, and is done first.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use forbear::sweep::Outcome;
use forbear::{Families, Family, Sweep};
use forbear_mock::{MockVendor, Reply, reply};
use http::Request;
use http_body_util::Empty;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tokio::time::Instant;

use crate::BoxError;

/// What the whole sweep may take.
const BUDGET: Duration = Duration::from_secs(10);

/// What came of one item, and when.
#[derive(Debug)]
pub struct Row {
    /// When it was known.
    pub at: Duration,
    /// The item.
    pub item: String,
    /// What came of it.
    pub what: String,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>5.2}s  {:<12} {}", self.at.as_secs_f64(), self.item, self.what)
    }
}

/// What was played.
#[derive(Debug)]
pub struct Played {
    /// What came of each item, as it was known.
    pub rows: Vec<Row>,
    /// How many came to what.
    pub summary: String,
    /// Where the vendors stand after it.
    pub health: String,
    /// How often each vendor was asked: quotes, filings, news.
    pub attempts: [usize; 3],
}

/// A vendor that answers so many and then limits one, with this delay.
async fn limits(after: usize, limited: Reply) -> MockVendor {
    let good = || reply(200).json_text(r#"{"ok":true}"#);
    MockVendor::start().await.script([good().times(after), limited, good()])
}

/// Plays it, in about a second and a half.
///
/// # Errors
/// Where no request can be made, or the families cannot work together.
pub async fn run() -> Result<Played, BoxError> {
    let quotes = limits(7, reply(429).retry_after(1)).await;
    let filings = limits(2, reply(429).retry_after(300).json_text(r#"{"reason":"inflight_limit"}"#)).await;
    let news = MockVendor::start().await.script(reply(200));
    let vendors = [("quotes", &quotes, 12), ("filings", &filings, 6), ("news", &news, 6)];
    let families = vendors.iter().fold(Families::builder(), |families, (name, mock, _)| {
        families.family(Family::new(*name).host(mock.authority()))
    });
    let families = families.build()?;

    let client = Client::builder(TokioExecutor::new()).build_http();
    // The budget of a send. Waiting is the sweep's.
    let vendor = forbear::stack(&families).budget(Duration::from_secs(5)).service(client);
    let sweep = Sweep::new(vendor).concurrency(2).budget(BUDGET).read_bodies(64 * 1024);

    let origin =
        |name: &str| vendors.iter().find(|(known, ..)| *known == name).map(|(_, mock, _)| mock.uri());
    let request = |item: &String| -> Result<Request<Empty<Bytes>>, BoxError> {
        let (vendor, id) = item.split_once('/').ok_or("an item is a vendor and a number")?;
        let origin = origin(vendor).ok_or("no such vendor")?;
        Ok(Request::get(format!("{origin}/{id}")).body(Empty::new())?)
    };
    let items =
        vendors.iter().flat_map(|(name, _, count)| (1..=*count).map(move |id| format!("{name}/{id}")));
    let items: Vec<_> = items.chain(["nonsense".to_owned()]).collect();

    let (start, mut rows) = (Instant::now(), Vec::new());
    let mut outcomes = sweep.stream(items, request);
    while let Some(outcome) = outcomes.next().await {
        // Each is known for good: this is where a program stores it.
        let what = match &outcome {
            Outcome::Done(done) => {
                format!("{}, {} bytes", done.response.status(), done.response.body().len())
            }
            Outcome::Deferred(late) => format!("later: {late}"),
            Outcome::Failed(failed) => format!("failed: {}", because(&failed.error)),
            _ => continue,
        };
        rows.push(Row { at: start.elapsed(), item: outcome.item().clone(), what });
    }
    let told = outcomes.progress();
    let summary = format!("{} done, {} deferred, {} failed", told.done, told.deferred, told.failed);
    let attempts = [&quotes, &filings, &news].map(|mock| mock.attempts().len());
    Ok(Played { rows, summary, health: families.health().to_string(), attempts })
}

/// An error with what it was caused by.
fn because(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}
