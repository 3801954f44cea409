//! No host and no path makes a series of its own.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use forbear::{Families, Family, FamilyCooldownLayer};
use http::{HeaderValue, Request, Response, StatusCode, Uri};
use http_body_util::Empty;
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::scrape::Exporter;

type Body = Empty<Bytes>;

const PATHS: u32 = 1_000_000;
const HOSTS: u32 = 100_000;

/// Limits hosts by name, and one path in a thousand.
async fn answer(request: Request<Body>) -> Result<Response<Body>, Infallible> {
    let mut response = Response::new(Body::new());
    let host = request.uri().host().unwrap_or_default();
    if host.starts_with('h') || request.uri().path().ends_with("000") {
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
        response.headers_mut().insert("retry-after", HeaderValue::from_static("1"));
    }
    Ok(response)
}

#[tokio::test(start_paused = true)]
async fn a_million_paths_and_a_hundred_thousand_hosts_make_no_series() {
    let families = Families::builder().family(Family::new("quotes").host("quotes.test")).build().unwrap();
    let (exporter, metrics) = (Exporter::new(), families.metrics());
    let before = exporter.scrape(&metrics).series.len();
    let mut gate = FamilyCooldownLayer::new(families.clone()).layer(service_fn(answer));
    for path in 0..PATHS {
        let mut request = Request::new(Body::new());
        *request.uri_mut() = Uri::try_from(format!("http://quotes.test/{path}")).unwrap();
        let _ = gate.ready().await.unwrap().call(request).await;
    }
    for host in 0..HOSTS {
        let mut request = Request::new(Body::new());
        *request.uri_mut() = Uri::try_from(format!("http://h{host}.test/{host}")).unwrap();
        let _ = gate.ready().await.unwrap().call(request).await;
        if host % 1_000 == 0 {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
    let scrape = exporter.scrape(&metrics);
    let count =
        |name, more: &[(&str, &str)]| scrape.value(name, &[&[("family", "automatic")], more].concat());
    println!(
        "{} series before, {} after; {} strikes of automatic families, {} overflows",
        before,
        scrape.series.len(),
        count("forbear_strikes_total", &[("class", "throttled")]),
        scrape.value("forbear_overflows_total", &[])
    );
    assert_eq!(scrape.series.len(), before);
    assert!(count("forbear_strikes_total", &[("class", "throttled")]) > 10_000.0, "hosts did signal");
    assert!(scrape.value("forbear_strikes_total", &[("family", "quotes"), ("class", "throttled")]) > 0.0);
    assert!(!scrape.text.contains(".test"), "{}", scrape.text);
}
