//! axum before reqwest, a vendor on a socket: what a handler makes of its vendor's answers.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
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

fn families(mock: &MockVendor) -> Families {
    Families::builder().family(Family::new("quotes").host(mock.authority())).build().unwrap()
}

fn serve(handlers: Router) -> Router {
    handlers.layer(
        ServiceBuilder::new()
            .layer(InboundBudgetLayer::new(Duration::from_secs(20)))
            .layer(RefusalResponseLayer::new()),
    )
}

async fn ask(app: &Router, path: &str) -> http::Response<Body> {
    app.clone().oneshot(Request::get(path).body(Body::empty()).unwrap()).await.unwrap()
}

/// The vendor limits at `/busy`, and then is not called.
async fn tells_its_vendors_limit(app: &Router) {
    for (path, by) in [("/busy", "vendor"), ("/acme", "local")] {
        let told = told(ask(app, path).await).await;
        assert_eq!((told.status, told.by.as_deref()), (503, Some(by)), "{path}");
        let seconds: u64 = told.retry_after.unwrap().parse().unwrap();
        assert!((100..=120).contains(&seconds), "{path}: {seconds}");
        assert_eq!(told.problem["family"], "quotes");
    }
}

#[tokio::test]
async fn a_handler_that_reads_the_answer_tells_its_vendors_limit() {
    let mock = MockVendor::start()
        .await
        .script(reply(200).body("7.25"))
        .route("/none", reply(404))
        .route("/busy", reply(429).retry_after(120).body("vendor's words"));
    let client = reqwest::Client::new();
    let vendor = forbear::stack(&families(&mock)).budget(Duration::from_secs(30)).reqwest(client.clone());
    let quotes = Quotes { vendor, client, base: mock.uri() };
    let app = serve(Router::new().route("/{symbol}", get(quote)).with_state(quotes));

    assert_eq!(ask(&app, "/acme").await.status(), 200);
    let none = told(ask(&app, "/none").await).await;
    assert_eq!((none.status, none.retry_after), (502, None));
    assert_eq!(none.problem["detail"], "the vendor could not be asked, or its answer is of no use");
    tells_its_vendors_limit(&app).await;
    mock.assert_attempts(3);
}

/// The middleware's error hands on what caused forbear's, and passes over that itself.
#[cfg(feature = "reqwest-middleware")]
#[tokio::test]
async fn a_refusal_is_found_in_the_error_of_a_middleware() {
    let mock = MockVendor::start().await.script(reply(429).retry_after(120));
    let client = reqwest_middleware::ClientBuilder::new(reqwest::Client::new())
        .with(forbear::ForbearMiddleware::new(&families(&mock)).budget(Duration::from_secs(30)))
        .build();
    let base = mock.uri();
    let quote = |Path(symbol): Path<String>| async move {
        let sent = client.get(format!("{base}/{symbol}")).send().await;
        let answer = Refusal::check(sent.map_err(Error::from_inner)?)?;
        answer.text().await.map_err(Error::from_inner).map_err(Refusal::from)
    };
    tells_its_vendors_limit(&serve(Router::new().route("/{symbol}", get(quote)))).await;
    mock.assert_attempts(1);
}
