//! Every request opens live vendor calls, a 429 is an error like any other, and all panels go empty at once.

use std::time::Duration;

use bytes::Bytes;
use forbear::stale::Served;
use forbear::{Class, Error, MemoryWorkStore, Refresh, Signal, Source, StaleLayer};
use forbear_mock::{MockVendor, Reply, reply};
use forbear_tests::client::{WireVendor, client, cooling, get, get_now, stack};
use forbear_tests::families::{families, family, level};
use forbear_tests::logs::Logs;
use forbear_tests::times::{SLACK, assert_at_once, assert_gaps, ms};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tower::ServiceExt;
use tracing::Level;

const SECOND: Duration = Duration::from_secs(1);

/// 429 with a delay in milliseconds.
fn limited(millis: u64) -> Reply {
    reply(429).header("retry-after-ms", millis.to_string())
}

/// Two hosts of one family and a vendor of another.
struct Vendors {
    query1: MockVendor,
    query2: MockVendor,
    other: MockVendor,
}

impl Vendors {
    async fn start() -> Self {
        let [query1, query2, other] =
            [(); 3].map(|()| async { MockVendor::start().await.script(reply(200)) });
        let (query1, query2, other) = tokio::join!(query1, query2, other);
        Self { query1, query2, other }
    }

    fn families(&self) -> forbear::Families {
        families([family("yahoo", [&self.query1, &self.query2]), family("other", [&self.other])])
    }
}

/// Sends `calls` requests at once, each in a task of its own: their statuses.
async fn send_all(vendor: &WireVendor, mock: &MockVendor, calls: usize) -> Vec<StatusCode> {
    let mut tasks = JoinSet::new();
    for call in 0..calls {
        let (vendor, url) = (vendor.clone(), mock.url(&format!("/panel/{call}")));
        tasks.spawn(async move { vendor.send(get(url)).await.unwrap().status() });
    }
    tasks.join_all().await
}

#[tokio::test]
async fn no_wait_is_refused_at_once_on_the_sibling_route_and_the_second_host() {
    let vendors = Vendors::start().await;
    vendors.query1.set_route("/chart", limited(1500));
    let families = vendors.families();
    let vendor = stack(&families, 30 * SECOND);
    let first = vendor.send(get_now(vendors.query1.url("/chart"))).await.unwrap();
    assert_eq!(first.status(), StatusCode::TOO_MANY_REQUESTS);

    let start = Instant::now();
    for url in [vendors.query1.url("/quote"), vendors.query2.url("/chart")] {
        let refused = cooling(vendor.send(get_now(url)).await);
        assert_eq!((refused.family(), refused.route()), ("yahoo", Some("/chart")));
        assert!(refused.retry_in().unwrap() <= ms(1500), "{refused}");
    }
    let other = vendor.send(get_now(vendors.other.url("/chart"))).await.unwrap();
    assert_eq!(other.status(), StatusCode::OK);
    assert_at_once(start);
    vendors.query1.assert_attempts(1);
    vendors.query2.assert_attempts(0);
    vendors.other.assert_attempts(1);
}

#[tokio::test]
async fn a_cool_down_longer_than_the_budget_refuses_at_once() {
    let vendors = Vendors::start().await;
    vendors.query1.set_route("/chart", reply(429).retry_after(240));
    let families = vendors.families();
    let vendor = stack(&families, 30 * SECOND);
    let start = Instant::now();
    let first = vendor.send(get(vendors.query1.url("/chart"))).await.unwrap();
    assert_eq!(first.extensions().get::<Signal>().unwrap().class, Class::Throttled);
    for url in [vendors.query1.url("/quote"), vendors.query2.url("/chart")] {
        let refused = cooling(vendor.send(get(url)).await);
        let left = refused.retry_in().unwrap();
        assert!((240 * SECOND - SLACK..=240 * SECOND).contains(&left), "{left:?}");
    }
    assert_eq!(vendor.send(get(vendors.other.url("/chart"))).await.unwrap().status(), StatusCode::OK);
    assert_at_once(start);
    vendors.query1.assert_attempts(1);
    vendors.query2.assert_attempts(0);
}

#[tokio::test]
async fn sibling_route_and_second_host_are_parked_and_then_sent() {
    let vendors = Vendors::start().await;
    vendors.query1.set_route("/chart", [reply(429).retry_after(1), reply(200)]);
    let families = vendors.families();
    let vendor = stack(&families, 30 * SECOND);
    let first = vendor.send(get_now(vendors.query1.url("/chart"))).await.unwrap();
    assert_eq!(first.status(), StatusCode::TOO_MANY_REQUESTS);
    let parked = async {
        tokio::join!(
            vendor.send(get(vendors.query1.url("/quote"))),
            vendor.send(get(vendors.query2.url("/chart"))),
            vendor.send(get(vendors.query1.url("/chart"))),
        )
    };
    // The other family is called all the while, and never waits.
    let others = async {
        loop {
            let start = Instant::now();
            assert_eq!(vendor.send(get(vendors.other.url("/chart"))).await.unwrap().status(), StatusCode::OK);
            assert_at_once(start);
            tokio::time::sleep(ms(10)).await;
        }
    };
    let (quote, second, chart) = tokio::select! { sent = parked => sent, () = others => unreachable!() };
    for answer in [quote, second, chart] {
        assert_eq!(answer.unwrap().status(), StatusCode::OK);
    }
    let struck = vendors.query1.attempts()[0].at();
    vendors.query1.attempts().assert_quiet_between(ms(1), SECOND);
    vendors.query1.assert_attempts(3);
    vendors.query2.assert_attempts(1);
    let second = vendors.query2.attempts()[0].at() - struck;
    assert!((SECOND..=SECOND + ms(100) + SLACK).contains(&second), "{second:?}");
    let others = vendors.other.attempts();
    let within = others.iter().filter(|attempt| attempt.at() < struck + SECOND).count();
    assert!(within >= 5, "the other family was called {within} times in the cool-down");
}

#[tokio::test]
async fn two_hundred_parked_callers_send_one_probe_and_come_back_at_a_pace() {
    const TOOK: Duration = Duration::from_millis(200);
    // The slow refusal makes the refusal window longer than an answer takes: the probe is accepted by its answer.
    let mock = MockVendor::start().await.script([limited(700).delay(ms(400)), reply(200).delay(TOOK)]);
    let families = families([family("vendor", [&mock])]);
    let vendor = stack(&families, 30 * SECOND);
    let first = vendor.send(get_now(mock.url("/chart"))).await.unwrap();
    assert_eq!(first.status(), StatusCode::TOO_MANY_REQUESTS);
    let start = Instant::now();
    assert_eq!(send_all(&vendor, &mock, 200).await, [StatusCode::OK; 200]);
    assert!(start.elapsed() < 20 * SECOND, "{:?}", start.elapsed());
    mock.assert_attempts(201);

    let attempts = mock.attempts();
    let struck = attempts[0].at() + ms(400);
    let probe = attempts[1].at();
    assert!(probe >= struck + ms(700), "the probe came {:?} after the refusal", probe - struck);
    let accepted = probe + TOOK;
    assert!(attempts[2].at() >= accepted, "two attempts within {:?}", attempts[2].at() - probe);
    // r(t) = (2/T)·2^(t/T): that many may have been sent by t, and 50 ms worth (or one) at once.
    for (sent, attempt) in attempts[2..].iter().enumerate() {
        let t = (attempt.at() - accepted).as_secs_f64() / TOOK.as_secs_f64();
        let pace = 2.0 / TOOK.as_secs_f64();
        let allowed = (pace * 0.05).max(1.0) + 2.0 / std::f64::consts::LN_2 * (t.exp2() - 1.0);
        assert!(
            sent as f64 <= allowed,
            "{} attempts {t:.2} T after the verdict, {allowed:.1} allowed",
            sent + 1
        );
    }
}

#[tokio::test]
async fn while_probes_are_refused_fifty_parked_callers_send_one_attempt_per_cool_down() {
    let mock = MockVendor::start().await.script([limited(400).times(3), reply(200)]);
    let families = families([family("vendor", [&mock])]);
    let vendor = stack(&families, 30 * SECOND);
    let first = vendor.send(get_now(mock.url("/chart"))).await.unwrap();
    assert_eq!(first.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(send_all(&vendor, &mock, 50).await, [StatusCode::OK; 50]);
    // Two of the refused were callers of ours, and were sent again.
    mock.assert_attempts(1 + 2 + 50);
    assert_eq!(level(&families, "vendor"), 3);
    assert_gaps(&mock.attempts()[..4], &[ms(400), ms(500), ms(1000)]);
}

#[tokio::test]
async fn fifty_concurrent_429s_are_one_strike_and_one_warning() {
    let logs = Logs::catch();
    let mock = MockVendor::start().await.script(reply(429).retry_after(240).delay(ms(300)));
    let families = families([family("vendor", [&mock])]);
    let vendor = stack(&families, 30 * SECOND);
    assert_eq!(send_all(&vendor, &mock, 50).await, [StatusCode::TOO_MANY_REQUESTS; 50]);
    mock.assert_attempts(50);
    let health = families.health();
    let health = health.family("vendor").unwrap();
    assert_eq!((health.level, health.strikes, health.signals), (1, 1, 50));
    let warned = logs.at(Level::WARN);
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert_eq!((warned[0].number("level"), warned[0].number("delay_ms")), (1, 240_000));
}

/// Panels are answered from what is stored, whatever their vendor does; a refresh alone asks it.
#[tokio::test]
async fn a_hundred_panels_are_served_from_what_a_refresh_stored_and_make_no_attempt() {
    let vendors = Vendors::start().await;
    let answers = |answer: Reply| {
        (0..10).for_each(|n| vendors.query1.set_route(&format!("/panel/{n}"), answer.clone()));
    };
    answers(reply(200).header("cache-control", "max-age=1").body("7.25"));
    let families = vendors.families();
    let stack = forbear::stack(&families).budget(30 * SECOND).stale(StaleLayer::memory(1 << 20));
    let vendor = stack.service(client());
    let origin = vendors.query1.uri();
    let panels = Source::new("panels")
        .family("yahoo")
        .every(3600 * SECOND)
        .drain(10)
        .fetch(move |key| Request::get(format!("{origin}/panel/{key}")).body(Full::<Bytes>::default()))
        .store(|_, _| async { Ok::<_, std::io::Error>(()) });
    let refresh = Refresh::over(&families, vendor.filling(), MemoryWorkStore::new())
        .source(panels)
        .tick(ms(10))
        .build()
        .unwrap();
    let local = vendor
        .demanding(&refresh, "panels", |head| head.uri.path().strip_prefix("/panel/").map(str::to_owned))
        .unwrap();
    let ask = async |n: usize| local.clone().oneshot(get(vendors.query1.url(&format!("/panel/{n}")))).await;
    for _ in 0..10 {
        for n in 0..10 {
            assert!(matches!(ask(n).await, Err(Error::NotStored(_))));
        }
    }
    assert_eq!(vendors.query1.attempts().len(), 0, "the request path is local");

    let running = tokio::spawn(async move { refresh.run(std::future::pending()).await });
    while vendor.stored_bytes() == 0 || vendors.query1.attempts().len() < 10 {
        tokio::time::sleep(ms(10)).await;
    }
    tokio::time::sleep(ms(100)).await;
    for n in 0..10 {
        let answer = ask(n).await.unwrap();
        assert!(
            matches!(answer.extensions().get(), Some(Served::Fresh | Served::Stale { .. })),
            "{answer:?}"
        );
        assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "7.25");
    }
    assert_eq!(vendors.query1.attempts().len(), 10, "one for each panel");

    // From now on the vendor has had enough.
    answers(limited(60_000));
    tokio::time::sleep(1100 * ms(1)).await;
    for _ in 0..100 {
        for n in 0..10 {
            let answer = ask(n).await.unwrap();
            assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "7.25");
        }
    }
    tokio::time::sleep(ms(200)).await;
    let limited = vendors.query1.attempts().len() - 10;
    assert!((1..=10).contains(&limited), "those in flight when the first was limited, {limited}");
    running.abort();
}
