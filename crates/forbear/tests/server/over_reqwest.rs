//! axum before reqwest, a vendor on a socket: what a handler makes of its vendor's answers.

use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::get;
use forbear::axum::{InboundBudgetLayer, Refusal, RefusalResponseLayer};
use forbear::{Error, Families, Family, Reqwest, Vendor};
use forbear_mock::{MockVendor, reply};
use http::Request;
use tower::{ServiceBuilder, ServiceExt};

use crate::told;

#[derive(Clone)]
struct Quotes {
    vendor: Vendor<Reqwest>,
    client: reqwest::Client,
    base: String,
}

async fn quote(State(quotes): State<Quotes>, Path(symbol): Path<String>) -> Result<String, Refusal> {
    let request =
        quotes.client.get(format!("{}/{symbol}", quotes.base)).build().map_err(Error::from_inner)?;
    let answer = Refusal::check(quotes.vendor.execute(request).await?)?;
    let answer = answer.error_for_status().map_err(Error::from_inner)?;
    Ok(answer.text().await.map_err(Error::from_inner)?)
}

#[tokio::test]
async fn a_handler_that_reads_the_answer_tells_its_vendors_limit() {
    let mock = MockVendor::start()
        .await
        .script(reply(200).body("7.25"))
        .route("/none", reply(404))
        .route("/busy", reply(429).retry_after(120).body("vendor's words"));
    let families = Families::builder().family(Family::new("quotes").host(mock.authority())).build().unwrap();
    let client = reqwest::Client::new();
    let vendor = forbear::stack(&families).budget(Duration::from_secs(30)).reqwest(client.clone());
    let layers = ServiceBuilder::new()
        .layer(InboundBudgetLayer::new(Duration::from_secs(20)))
        .layer(RefusalResponseLayer::new());
    let app = Router::new()
        .route("/{symbol}", get(quote))
        .with_state(Quotes { vendor, client, base: mock.uri() })
        .layer(layers);
    let ask = |path: &str| app.clone().oneshot(Request::get(path).body(axum::body::Body::empty()).unwrap());

    assert_eq!(ask("/acme").await.unwrap().status(), 200);
    let none = told(ask("/none").await.unwrap()).await;
    assert_eq!((none.status, none.retry_after), (502, None));
    assert_eq!(none.problem["detail"], "the vendor could not be asked, or its answer is of no use");
    for (path, by) in [("/busy", "vendor"), ("/acme", "local")] {
        let told = told(ask(path).await.unwrap()).await;
        assert_eq!((told.status, told.by.as_deref()), (503, Some(by)), "{path}");
        let seconds: u64 = told.retry_after.unwrap().parse().unwrap();
        assert!((100..=120).contains(&seconds), "{path}: {seconds}");
        assert_eq!(told.problem["family"], "quotes");
    }
    mock.assert_attempts(3);
}
