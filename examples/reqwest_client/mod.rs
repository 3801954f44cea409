//! reqwest with the stack around it, and the stack as a middleware of reqwest-middleware. Both share their families, so what
//! the one is told the other keeps to.

use std::time::Duration;

use forbear::{Error, Families, Family, ForbearMiddleware, Signal};
use forbear_mock::{MockVendor, reply};
use reqwest_middleware::ClientBuilder;

use crate::BoxError;

/// Plays it in less than a second, and tells what was seen.
///
/// # Errors
/// Where something else is seen than the example is about.
pub async fn run() -> Result<Vec<String>, BoxError> {
    let vendor = MockVendor::start()
        .await
        .script(reply(200).json_text(r#"{"price":17}"#))
        .route("/busy", [reply(429).header("retry-after-ms", "300"), reply(200).body("served")])
        .route("/closed", [reply(429).retry_after(60)]);
    let families = Families::builder().family(Family::new("quotes").host(vendor.authority())).build()?;
    let budget = Duration::from_secs(10);
    let client = reqwest::Client::builder().no_proxy().build()?;
    let mut seen = Vec::new();

    // The stack around the client.
    let quotes = forbear::stack(&families).budget(budget).reqwest(client.clone());
    let answer = quotes.execute(client.get(vendor.url("/acme")).build()?).await?;
    seen.push(format!("quote: {}", answer.text().await?));
    let answer = quotes.execute(client.post(vendor.url("/busy")).body("7 of acme").build()?).await?;
    seen.push(format!("busy: {} after {} attempts", answer.text().await?, vendor.attempts_on("/busy").len()));

    // The stack as a middleware: one line.
    let client = ClientBuilder::new(client).with(ForbearMiddleware::new(&families).budget(budget)).build();
    let answer = client.get(vendor.url("/closed")).send().await?;
    let signal = answer.extensions().get::<Signal>().ok_or("a limited answer says what it means")?;
    seen.push(format!("closed: {}, {signal}", answer.status()));

    // 60 s do not fit: nothing is sent, on any route, by either.
    let error = client.get(vendor.url("/acme")).send().await.err().ok_or("the family cools")?;
    match Error::find(&error) {
        Some(Error::Cooling(cooling)) => seen.push(format!("middleware: {} is cooling", cooling.family())),
        _ => return Err(error.into()),
    }
    match quotes.execute(reqwest::Request::new(reqwest::Method::GET, vendor.url("/acme").parse()?)).await {
        Err(Error::Cooling(cooling)) => seen.push(format!("stack: {} is cooling", cooling.family())),
        other => return Err(format!("{other:?}").into()),
    }
    Ok(seen)
}
