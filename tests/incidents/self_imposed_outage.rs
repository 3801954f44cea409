//! A dependency answers 429 in milliseconds, and the client makes a long outage of it: its own delays instead of the
//! advertised ones, and a ratchet that nothing but a fully clean sweep clears.

use std::time::Duration;

use forbear::{Class, Signal};
use forbear_mock::{MockVendor, Reply, reply};
use forbear_tests::client::{cooling, get, get_now, stack};
use forbear_tests::families::{families, family, ladder, level};
use forbear_tests::knock::knock;
use forbear_tests::logs::Logs;
use forbear_tests::times::{SLACK, assert_at_once, assert_gaps, ms};
use http::StatusCode;
use tokio::time::Instant;
use tracing::Level;

const SECOND: Duration = Duration::from_secs(1);
const BUDGET: Duration = Duration::from_secs(60);

/// 429 with a delay in milliseconds.
fn limited(millis: u64) -> Reply {
    reply(429).header("retry-after-ms", millis.to_string())
}

#[tokio::test]
async fn probes_after_strikes_1_to_4_come_within_n_n_2n_4n_and_never_earlier() {
    let mock = MockVendor::start().await.script([reply(429).retry_after(1).times(4), reply(200)]);
    // The ladder would say 2 min, 5 min, ...
    let families = families([family("vendor", [&mock])]);
    let answer = stack(&families, BUDGET).send(get(mock.url("/chart"))).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    assert_gaps(&mock.attempts(), &[SECOND, SECOND, 2 * SECOND, 4 * SECOND]);
    assert_eq!(level(&families, "vendor"), 4);
}

#[tokio::test]
async fn a_shorter_ladder_does_not_replace_the_advertised_delay() {
    let mock = MockVendor::start().await.script([limited(600).times(2), reply(200)]);
    let families = families([family("vendor", [&mock]).throttled_ladder(ladder(&[1]))]);
    stack(&families, BUDGET).send(get(mock.url("/chart"))).await.unwrap();
    assert_gaps(&mock.attempts(), &[ms(600), ms(600)]);
}

#[tokio::test]
async fn a_caller_that_asks_all_the_time_is_sent_at_the_same_deadlines() {
    let mock = MockVendor::start().await.script(limited(500));
    let families = families([family("vendor", [&mock])]);
    let vendor = stack(&families, BUDGET);
    for strike in 1..=5 {
        assert_eq!(knock(&vendor, &mock).await, 429);
        assert_eq!(level(&families, "vendor"), strike);
    }
    assert_gaps(&mock.attempts(), &[ms(500), ms(500), ms(1000), ms(2000)]);
}

#[tokio::test]
async fn after_recovery_the_first_attempt_succeeds() {
    let mock = MockVendor::start().await.script([limited(300).times(2), reply(200)]);
    let families = families([family("vendor", [&mock])]);
    let vendor = stack(&families, BUDGET);
    assert_eq!(vendor.send(get(mock.url("/chart"))).await.unwrap().status(), StatusCode::OK);
    mock.assert_attempts(3);
    let start = Instant::now();
    assert_eq!(vendor.send(get_now(mock.url("/quote"))).await.unwrap().status(), StatusCode::OK);
    assert_at_once(start);
    mock.assert_attempts(4);
}

#[tokio::test]
async fn without_retry_after_the_ladder_applies_up_to_its_ceiling() {
    let mock = MockVendor::start().await.script(reply(429));
    let families = families([family("vendor", [&mock]).throttled_ladder(ladder(&[300, 600, 900]))]);
    let vendor = stack(&families, BUDGET);
    for strike in 1..=6 {
        assert_eq!(knock(&vendor, &mock).await, 429);
        assert_eq!(level(&families, "vendor"), strike);
    }
    assert_gaps(&mock.attempts(), &[ms(300), ms(600), ms(900), ms(900), ms(900)]);
}

#[tokio::test]
async fn a_concurrency_reason_without_a_delay_takes_the_short_ladder() {
    let mock = MockVendor::start().await.script(reply(429).json_text(r#"{"reason":"inflight_limit"}"#));
    let ladders =
        family("vendor", [&mock]).throttled_ladder(ladder(&[60_000])).overloaded_ladder(ladder(&[300, 600]));
    let families = families([ladders]);
    let vendor = stack(&families, BUDGET);
    for _ in 0..3 {
        assert_eq!(knock(&vendor, &mock).await, 429);
    }
    assert_gaps(&mock.attempts(), &[ms(300), ms(600)]);
}

#[tokio::test]
async fn without_a_delay_200_429_200_429_climbs() {
    let mock = MockVendor::start().await.script([
        reply(200),
        reply(429),
        reply(200),
        reply(429),
        reply(200),
        reply(429),
        reply(200),
    ]);
    let families = families([family("vendor", [&mock]).throttled_ladder(ladder(&[200, 400, 600]))]);
    let vendor = stack(&families, BUDGET);
    let mut seen = Vec::new();
    for _ in 0..7 {
        seen.push((knock(&vendor, &mock).await, level(&families, "vendor")));
    }
    assert_eq!(seen, [(200, 0), (429, 1), (200, 1), (429, 2), (200, 2), (429, 3), (200, 3)]);
    let probes: Vec<Duration> = mock
        .attempts()
        .windows(2)
        .filter(|pair| pair[0].status() == Some(StatusCode::TOO_MANY_REQUESTS))
        .map(|pair| pair[1].at() - pair[0].at())
        .collect();
    for (probe, rung) in probes.iter().zip([ms(200), ms(400), ms(600)]) {
        assert!((rung..=rung + SLACK).contains(probe), "{probes:?}");
    }
}

#[tokio::test]
async fn a_strike_after_service_takes_one_rung_off_and_no_burst_of_200s_clears_the_level() {
    let mock = MockVendor::start().await.script([
        limited(300).times(3),
        reply(200).times(40),
        limited(300),
        reply(200).times(20),
        // Ten were accepted, so this one without a delay is no blind strike either.
        reply(429),
        reply(200).times(20),
        limited(300),
        reply(200),
    ]);
    let families = families([family("vendor", [&mock]).throttled_ladder(ladder(&[300]))]);
    let vendor = stack(&families, BUDGET);
    for strike in 1..=3 {
        assert_eq!(knock(&vendor, &mock).await, 429);
        assert_eq!(level(&families, "vendor"), strike);
    }
    // Neither forty good answers in a row change the level, nor the time they take.
    for (good, next) in [(40, 2), (20, 1), (20, 1)] {
        let before = level(&families, "vendor");
        for _ in 0..good {
            assert_eq!(knock(&vendor, &mock).await, 200);
            assert_eq!(level(&families, "vendor"), before);
        }
        assert_eq!(knock(&vendor, &mock).await, 429);
        assert_eq!(level(&families, "vendor"), next);
    }
}

#[tokio::test]
async fn quiet_time_takes_one_rung_off() {
    let mock = MockVendor::start().await.script([limited(300), limited(300), reply(200)]);
    let families = families([family("vendor", [&mock])]);
    let vendor = stack(&families, BUDGET);
    assert_eq!(knock(&vendor, &mock).await, 429);
    assert_eq!(knock(&vendor, &mock).await, 429);
    let struck = Instant::now();
    assert_eq!(knock(&vendor, &mock).await, 200);
    while level(&families, "vendor") == 2 {
        assert!(struck.elapsed() < 20 * SECOND, "{}", families.health());
        tokio::time::sleep(ms(20)).await;
    }
    // A quiet span is twice the last cool-down and at least 10 s, from its deadline on; the strike was seen a little
    // before it was noted here.
    let quiet = struck.elapsed();
    let seen = mock.attempts()[1].at().elapsed();
    assert!(seen >= ms(500) + 10 * SECOND, "after {seen:?}");
    assert!(quiet <= ms(500) + 10 * SECOND + SLACK, "after {quiet:?}");
    assert_eq!(level(&families, "vendor"), 1);
}

#[tokio::test]
async fn the_reason_code_of_a_body_is_named_in_error_event_and_health() {
    let codes =
        ["inflight_limit", "oldest_inflight_age", "router_inflight_limit", "durable_object_overloaded"];
    let mock = MockVendor::start().await;
    for code in codes {
        for body in [
            serde_json::json!({ "details": { "reason": code } }),
            serde_json::json!({ "data": { "reason": code } }),
            serde_json::json!({ "reason": code }),
        ] {
            let logs = Logs::catch();
            mock.set_script(reply(429).retry_after(240).json(&body));
            let families = families([family("vendor", [&mock])]);
            let vendor = stack(&families, SECOND);
            let answer = vendor.send(get(mock.url("/v8/chart"))).await.unwrap();
            let signal = answer.extensions().get::<Signal>().unwrap();
            assert_eq!((signal.reason.as_str(), signal.class), (code, Class::Overloaded), "{body}");

            let refused = cooling(vendor.send(get_now(mock.url("/v8/quote"))).await);
            assert_eq!((refused.reason().as_str(), refused.route()), (code, Some("/v8/chart")), "{body}");
            assert!(refused.to_string().ends_with(&format!("(429 {code} via /v8/chart)")), "{refused}");

            let warned = logs.at(Level::WARN);
            assert_eq!(warned.len(), 1, "{warned:?}");
            assert_eq!(warned[0].field("reason"), code, "{body}");

            let health = families.health().to_string();
            assert!(health.starts_with("vendor  cooling "), "{health}");
            assert!(health.ends_with(&format!("  429 {code}  via /v8/chart")), "{health}");
        }
    }
}

#[tokio::test]
async fn one_warning_per_strike_and_one_info_per_recovery() {
    let logs = Logs::catch();
    let overloaded = r#"{"details":{"reason":"inflight_limit"}}"#;
    let mock = MockVendor::start().await.script([limited(300).json_text(overloaded).times(3), reply(200)]);
    let families = families([family("vendor", [&mock])]);
    let vendor = stack(&families, BUDGET);
    vendor.send(get(mock.url("/chart?token=secret"))).await.unwrap();
    for _ in 0..3 {
        vendor.send(get(mock.url("/quote"))).await.unwrap();
    }
    mock.assert_attempts(7);
    let warned = logs.at(Level::WARN);
    assert_eq!(warned.len(), 3, "{warned:?}");
    for (strike, (event, cooldown)) in warned.iter().zip([300, 500, 1000]).enumerate() {
        assert_eq!(event.field("family"), "vendor");
        assert_eq!(event.field("reason"), "inflight_limit");
        assert_eq!(event.number("delay_ms"), cooldown);
        assert_eq!(event.number("level"), strike as u64 + 1);
        assert_eq!(event.field("route"), "/chart");
    }
    let told = logs.at(Level::INFO);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].field("family"), "vendor");
    assert_eq!(told[0].field("reason"), "inflight_limit");
    assert_eq!(told[0].number("delay_ms"), 1000);
    assert_eq!(told[0].number("level"), 3);
    assert_eq!(told[0].field("route"), "/chart");
    assert!(logs.at(Level::ERROR).is_empty());
}
