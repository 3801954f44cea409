//! What is measured: one row of the table each, a `GET` without headers from building it to reading its answer.

use std::rc::Rc;
use std::time::Duration;

use forbear::{Families, Family, ForbearMiddleware};
use forbear_benches::Call;
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use reqwest_retry::RetryTransientMiddleware;
use reqwest_retry::policies::ExponentialBackoff;
use tokio::runtime::Runtime;

/// Calls before one is counted: more than the adapters look at for retries of others.
pub(crate) const WARM: usize = 300;

pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) call: Call,
}

fn row(name: &'static str, runtime: &Rc<Runtime>, mut call: impl AsyncFnMut() + 'static) -> Row {
    let runtime = runtime.clone();
    Row { name, call: Box::new(move || runtime.block_on(call())) }
}

/// All rows; what the others add is added to the first.
pub(crate) fn all(address: &str) -> Vec<Row> {
    let runtime = Rc::new(tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap());
    let url: reqwest::Url = format!("http://{address}/chart").parse().unwrap();
    let uri: http::Uri = url.as_str().parse().unwrap();
    let budget = Duration::from_secs(30);
    let families = Families::builder().family(Family::new("quotes").host(address)).build().unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let with = |builder: ClientBuilder| builder.build();
    let middleware = |client: ClientWithMiddleware, url: reqwest::Url| {
        async move || {
            let answer = client.execute(reqwest::Request::new(http::Method::GET, url.clone())).await.unwrap();
            assert_eq!(answer.bytes().await.unwrap(), "17");
        }
    };
    let retry =
        RetryTransientMiddleware::new_with_policy(ExponentialBackoff::builder().build_with_max_retries(3));
    let vendor = forbear::stack(&families).budget(budget).reqwest(client.clone());
    let (plain, executing, sending) = (client.clone(), vendor.clone(), vendor);
    let (first, second) = (url.clone(), url.clone());
    vec![
        row("reqwest", &runtime, async move || {
            let answer =
                plain.execute(reqwest::Request::new(http::Method::GET, first.clone())).await.unwrap();
            assert_eq!(answer.bytes().await.unwrap(), "17");
        }),
        row(
            "reqwest-middleware, without any",
            &runtime,
            middleware(with(ClientBuilder::new(client.clone())), url.clone()),
        ),
        row(
            "reqwest-retry",
            &runtime,
            middleware(with(ClientBuilder::new(client.clone()).with(retry)), url.clone()),
        ),
        row("`ForbearMiddleware`", &runtime, {
            let ours = ForbearMiddleware::new(&families).budget(budget);
            middleware(with(ClientBuilder::new(client).with(ours)), url)
        }),
        row("`vendor.execute(reqwest_request)`", &runtime, async move || {
            let answer =
                executing.execute(reqwest::Request::new(http::Method::GET, second.clone())).await.unwrap();
            assert_eq!(answer.bytes().await.unwrap(), "17");
        }),
        row("`vendor.send(http_request)`", &runtime, async move || {
            let request = http::Request::get(uri.clone()).body(reqwest::Body::default()).unwrap();
            let answer = sending.send(request).await.unwrap();
            let body = http_body_util::BodyExt::collect(answer.into_body()).await.unwrap();
            assert_eq!(body.to_bytes(), "17");
        }),
    ]
}
