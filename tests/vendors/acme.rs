//! The invented vendor of the handbook, through a stack.

use std::time::Duration;

use bytes::Bytes;
use forbear::{Class, Dialect, Families, Family, Unknown};
use forbear_mock::{MockVendor, reply};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use tokio::time::Instant;

use crate::block;

fn families() -> Families {
    let dialect = Dialect::from_toml(&block("toml")).unwrap();
    let acme = Family::new("acme").host("api.acme.test").dialect(dialect);
    Families::builder().family(acme).unknown(Unknown::Refuse).build().unwrap()
}

fn get(path: &str) -> Request<Full<Bytes>> {
    Request::get(format!("http://api.acme.test{path}")).body(Full::default()).unwrap()
}

const BUSY: &str = r#"{"error":{"code":"search_busy","message":"Sorry, try again in 2 seconds."}}"#;

#[tokio::test(start_paused = true)]
async fn a_limit_in_a_200_is_waited_for_and_sent_again() {
    let mock = MockVendor::in_process().route(
        "/search",
        [
            reply(200).header("content-type", "application/json").body(BUSY),
            reply(200).header("content-type", "application/json").body(r#"{"found":[]}"#),
        ],
    );
    let families = families();
    let vendor = forbear::stack(&families).budget(Duration::from_secs(30)).service(mock.service());
    let began = Instant::now();
    let search = Request::post("http://api.acme.test/search").body(Full::<Bytes>::from("q")).unwrap();
    let body = vendor.send(search).await.unwrap().into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, r#"{"found":[]}"#);
    assert!(began.elapsed() >= Duration::from_secs(2), "{:?}", began.elapsed());
    mock.attempts().assert_count(2);
    let signal = families.health().families[0].last_signal.clone().unwrap();
    assert_eq!((signal.class, signal.reason.as_str()), (Class::Overloaded, "search_busy"));
}

#[tokio::test(start_paused = true)]
async fn what_is_used_up_is_returned_at_once_and_closes_the_family() {
    let mock = MockVendor::in_process()
        .script(reply(200).body("{}"))
        .route("/things", reply(403).body(r#"{"error":{"code":"plan_used_up"}}"#));
    let families = families();
    let vendor = |budget| forbear::stack(&families).budget(budget).service(mock.service());
    // It has time for any cool-down: what is used up is not waited for all the same.
    let patient = vendor(Duration::from_secs(3 * 60 * 60));
    let began = Instant::now();
    assert_eq!(patient.send(get("/things")).await.unwrap().status(), StatusCode::FORBIDDEN);
    assert_eq!(began.elapsed(), Duration::ZERO);
    let error = vendor(Duration::from_secs(30)).send(get("/other")).await.unwrap_err();
    assert!(
        matches!(&error, forbear::Error::Cooling(cooling) if cooling.reason().as_str() == "plan_used_up"),
        "{error}"
    );
    mock.attempts().assert_count(1);
    let signal = families.health().families[0].last_signal.clone().unwrap();
    assert_eq!(signal.class, Class::Exhausted);
}

#[tokio::test(start_paused = true)]
async fn the_reset_of_what_it_counts_is_its_delay() {
    let wall = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_996_800);
    let limited = reply(429)
        .header("date", "Mon, 30 Nov 2026 00:00:00 GMT")
        .header("x-acme-left", "0")
        .header("x-acme-back", "1795996805");
    let dialect = Dialect::from_toml(&block("toml")).unwrap();
    let mock = MockVendor::in_process().script([limited, reply(200)]);
    let families = families();
    let vendor = forbear::stack(&families).budget(Duration::from_secs(30)).service(mock.service());
    let began = Instant::now();
    assert_eq!(vendor.send(get("/things")).await.unwrap().status(), StatusCode::OK);
    assert!(began.elapsed() >= Duration::from_secs(5), "{:?}", began.elapsed());
    let head =
        http::HeaderMap::from_iter([("x-acme-left", "0"), ("x-acme-back", "1795996805")].map(
            |(name, value)| (http::HeaderName::from_static(name), http::HeaderValue::from_static(value)),
        ));
    let reading = dialect.read_head(StatusCode::TOO_MANY_REQUESTS, &head, wall);
    assert_eq!(reading.into_signal().unwrap().limit.as_deref(), Some("calls"));
}
