//! The quickstart: two vendors on loopback, one of which says 429.
//!
//! It shows the layers by hand, and checks what it shows: [`run`] returns a [`Summary`], and
//! [`Summary::broken_promises`] is empty where all went as told.

mod caller;
mod summary;
mod timeline;

use std::io::Write;
use std::time::Duration;

use forbear::{
    Budget, BudgetLayer, Families, Family, FamilyCooldownLayer, NoWait, PacingLayer, RetryAfterLayer, Unknown,
};
use forbear_mock::{MockVendor, reply};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use tokio::time::sleep;
use tower::ServiceBuilder;

use caller::Caller;
pub use caller::Ended;
pub use summary::Summary;
use timeline::Timeline;

pub use crate::BoxError;

/// What every logical request may cost.
const BUDGET: Duration = Duration::from_secs(8);
/// What the vendor asks for with its first 429, and with its second.
const SHORT: Duration = Duration::from_secs(2);
const LONG: Duration = Duration::from_secs(300);

/// Plays the whole story in about five seconds and writes it to `out`.
///
/// # Errors
/// Where `out` cannot be written to, or a call ends in a way that has no place in the story.
pub async fn run<W: Write>(out: &mut W) -> Result<Summary, BoxError> {
    let busy = reply(429).retry_after(SHORT.as_secs()).json_text(r#"{"reason":"inflight_limit"}"#);
    let quotes =
        MockVendor::start().await.script(reply(200)).route("/chart", [reply(200).times(3), busy, reply(200)]);
    let news = MockVendor::start().await.script(reply(200));

    // The routes of one vendor share a limit: they are one family.
    let families = Families::builder()
        .family(Family::new("quotes").host(quotes.authority()))
        .family(Family::new("news").host(news.authority()))
        .unknown(Unknown::Refuse)
        .build()?;
    let vendor = ServiceBuilder::new()
        .layer(BudgetLayer::new(BUDGET))
        .layer(RetryAfterLayer::new())
        .layer(PacingLayer::new(families.clone()))
        .layer(FamilyCooldownLayer::new(families.clone()))
        .service(Client::builder(TokioExecutor::new()).build_http());

    let timeline = Timeline::new(out, &families, [("quotes", &quotes), ("news", &news)]);
    let caller = Caller::new(&vendor, &timeline);

    timeline.title("all is well: three calls to each of two routes")?;
    for _ in 0..3 {
        caller.ask("chart", quotes.url("/chart"), ()).await?;
        caller.ask("table", quotes.url("/options"), ()).await?;
        sleep(Duration::from_millis(100)).await;
    }

    timeline.title(
        "/chart answers 429 with Retry-After: 2, and the whole family goes quiet\n\
        (table and ticker may wait; tile has NoWait, hasty a budget of half a second)",
    )?;
    let options = || quotes.url("/options");
    let (chart, table, ticker, tile, hasty, elsewhere) = tokio::join!(
        caller.ask("chart", quotes.url("/chart"), ()),
        after(100, caller.ask("table", options(), ())),
        after(150, caller.ask("ticker", options(), ())),
        after(200, caller.ask("tile", options(), NoWait)),
        after(250, async {
            caller.ask("hasty", options(), Budget::within(Duration::from_millis(500))).await
        }),
        async {
            let mut calls = Vec::new();
            for _ in 0..4 {
                sleep(Duration::from_millis(600)).await;
                timeline.health("quotes")?;
                calls.push(caller.ask("news", news.url("/headlines"), ()).await?);
            }
            Ok::<_, BoxError>(calls)
        },
    );
    let (waited, refused) = (vec![chart?, table?, ticker?], vec![tile?, hasty?]);

    timeline.title("/chart asks for five minutes, and the budget is eight seconds")?;
    quotes.set_route("/chart", reply(429).retry_after(LONG.as_secs()));
    let too_long = caller.ask("chart", quotes.url("/chart"), ()).await?;
    let later = caller.ask("table", quotes.url("/options"), ()).await?;
    caller.ask("news", news.url("/headlines"), ()).await?;
    timeline.health("quotes")?;

    Ok(Summary {
        attempts: quotes.attempts(),
        waited,
        refused,
        elsewhere: elsewhere?,
        too_long,
        later,
        took: timeline.elapsed(),
    })
}

async fn after<T>(millis: u64, call: impl Future<Output = T>) -> T {
    sleep(Duration::from_millis(millis)).await;
    call.await
}
