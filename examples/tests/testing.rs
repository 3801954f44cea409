//! An integration test as a user of forbear writes it: the program under test is `forbear_examples::testing::Prices`.

use std::time::Duration;

use forbear::{Families, Family};
use forbear_examples::testing::{Prices, Unavailable};
use forbear_mock::{MockVendor, reply};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

const FIVE_MINUTES: Duration = Duration::from_secs(300);

/// One family for each test: what one test's vendor said is not another's.
fn families(vendor: &MockVendor) -> Families {
    Families::builder().family(Family::new("prices").host(vendor.authority())).build().unwrap()
}

// With sockets: the real client, so delays are short, times are lower bounds, and the clock runs.
#[tokio::test]
async fn on_a_socket_a_short_limit_is_waited_out() {
    let vendor = MockVendor::start()
        .await
        .script([reply(429).header("retry-after-ms", "400"), reply(200).body("7.25")]);
    let client = Client::builder(TokioExecutor::new()).build_http();
    let prices = Prices::new(&families(&vendor), client, vendor.uri());

    assert_eq!(prices.of("acme").await.unwrap(), 7.25);
    vendor.assert_attempts_on("/acme", 2);
    vendor.assert_gap_at_least(Duration::from_millis(400));
}

// With a paused clock: five minutes pass in no time, and times are exact.
#[tokio::test(start_paused = true)]
async fn five_minutes_are_not_waited_for_and_not_forgotten() {
    let vendor = MockVendor::in_process()
        .script(reply(200).body("7.25"))
        .route("/acme", [reply(429).retry_after(FIVE_MINUTES.as_secs()), reply(200).body("8.50")]);
    let prices = Prices::new(&families(&vendor), vendor.service(), vendor.uri());

    let start = Instant::now();
    for symbol in ["acme", "zeta"] {
        let later = prices.of(symbol).await.unwrap_err();
        assert!(matches!(later, Unavailable::Later(Some(left)) if left == FIVE_MINUTES), "{later}");
    }
    assert_eq!(start.elapsed(), Duration::ZERO);
    vendor.assert_attempts(1);

    sleep(FIVE_MINUTES).await;
    assert_eq!(prices.of("acme").await.unwrap(), 8.5);
    vendor.attempts().assert_quiet_between(Duration::from_millis(1), FIVE_MINUTES);
}

#[tokio::test(start_paused = true)]
async fn fifty_callers_do_not_knock_fifty_times() {
    let vendor = MockVendor::in_process().script([reply(429).retry_after(2), reply(200).body("7.25")]);
    let prices = Prices::new(&families(&vendor), vendor.service(), vendor.uri());
    assert_eq!(prices.of("acme").await.unwrap(), 7.25);

    vendor.set_script([reply(429).retry_after(2), reply(200).body("7.25")]);
    let mut callers = JoinSet::new();
    let first = prices.clone();
    callers.spawn(async move { first.of("acme").await });
    sleep(Duration::from_millis(10)).await;
    for _ in 0..49 {
        let prices = prices.clone();
        callers.spawn(async move { prices.of("acme").await });
    }
    sleep(Duration::from_millis(1900)).await;
    // The first two calls, and the one that was told to wait.
    vendor.assert_attempts(3);
    let ended = callers.join_all().await;
    let served = ended.iter().filter(|price| price.is_ok()).count();
    assert_eq!(vendor.attempts().len(), 3 + served, "each that is served costs one attempt");
    assert!(ended.iter().all(|price| matches!(price, Ok(_) | Err(Unavailable::Later(_)))), "{ended:?}");
}
