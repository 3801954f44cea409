//! Quotes and news are kept fresh in the background. The quotes' vendor says 429 in between: its work rests until it may be
//! called again, the news go on, and no attempt is counted.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use forbear::body::Replay;
use forbear::refresh::{HttpSource, RefreshBuilder};
use forbear::{Families, Family, MemoryWorkStore, Refresh, Source, Vendor};
use forbear_mock::{MockVendor, reply};
use http::Request;
use http_body_util::Empty;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::BoxError;

/// What the program keeps: each key with its latest body. A result that comes twice overwrites itself.
type Kept = Arc<Mutex<BTreeMap<String, Bytes>>>;

/// What there was to see at one moment.
#[derive(Debug)]
pub struct Seen {
    /// Since the refresh began to run.
    pub at: Duration,
    /// How many quotes and news are there.
    pub kept: usize,
    /// The lines of health.
    pub health: String,
}

/// What came of it.
#[derive(Debug)]
pub struct Told {
    /// Moments, in their order.
    pub seen: Vec<Seen>,
    /// Attempts on the vendor of quotes, those that it refused among them.
    pub attempts: usize,
    /// Attempts that the vendor of quotes refused.
    pub refused: usize,
    /// Failed attempts that were counted of any key.
    pub failures: u32,
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "after {:.1?}: {} kept", self.at, self.kept)?;
        self.health.lines().try_for_each(|line| writeln!(f, "    {line}"))
    }
}

/// Plays it, in about four seconds.
///
/// # Errors
/// Where a socket cannot be had, or something cannot be built.
pub async fn run() -> Result<Told, BoxError> {
    let quotes = MockVendor::start().await.script([
        reply(200).body("7.10").times(4),
        reply(429).retry_after(2),
        reply(200).body("7.20"),
    ]);
    let news = MockVendor::start().await.script(reply(200).body("nothing new"));
    let families = Families::builder()
        .family(Family::new("quotes").host(quotes.authority()))
        .family(Family::new("news").host(news.authority()))
        .build()?;
    let kept = Kept::default();
    let refresh = builder(&families)
        .source(source("quote", "quotes", &quotes, &kept))
        .source(source("headline", "news", &news, &kept))
        .build()?;
    refresh.demand_for("watchlist", "quote", ["AAPL", "MSFT", "NVDA", "TSLA", "INTC", "ORCL"]).await?;
    refresh.demand_for("holding", "quote", ["AAPL"]).await?;
    refresh.demand("headline", ["AAPL", "MSFT"]).await?;

    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn({
        let refresh = refresh.clone();
        async move { refresh.run(async { drop(stopped.await) }).await }
    });
    let (start, mut seen) = (Instant::now(), Vec::new());
    for pause in [Duration::from_secs(1), Duration::from_secs(3)] {
        tokio::time::sleep(pause).await;
        let kept = kept.lock().unwrap_or_else(PoisonError::into_inner).len();
        seen.push(Seen { at: start.elapsed(), kept, health: refresh.health().await.to_string() });
    }
    let _ = stop.send(());
    running.await?;

    let mut failures = 0;
    for key in ["AAPL", "MSFT", "NVDA", "TSLA", "INTC", "ORCL"] {
        failures += refresh.row("quote", key).await?.map_or(0, |row| row.attempts);
    }
    let attempts = quotes.attempts();
    Ok(Told { seen, attempts: attempts.len(), refused: attempts.refused().len(), failures })
}

/// One stack for both vendors; what is due is kept in memory, and ends with the program.
fn builder(families: &Families) -> RefreshBuilder<Vendor<Client<HttpConnector, Replay<Empty<Bytes>>>>> {
    let client = Client::builder(TokioExecutor::new()).build_http();
    Refresh::builder(forbear::stack(families).service(client), MemoryWorkStore::new())
}

fn source(name: &str, family: &str, vendor: &MockVendor, kept: &Kept) -> HttpSource<Empty<Bytes>> {
    let (origin, kept, name) = (vendor.uri(), Arc::clone(kept), name.to_owned());
    Source::new(&name)
        .family(family)
        .every(Duration::from_secs(60))
        .fetch(move |key| Request::get(format!("{origin}/{key}")).body(Empty::new()))
        .store(move |key, response| {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.insert(format!("{name}/{key}"), response.into_body());
            async { Ok::<_, BoxError>(()) }
        })
}
