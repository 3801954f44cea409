//! What an answer says, and to whom.

use std::time::Duration;

use forbear::{Class, Families, RetryAfterLayer, Signal};
use forbear_mock::{MockVendor, reply};
use http::Response;
use tokio::time::Instant;
use tower::{Layer, ServiceExt};

use crate::common::{Client, MS, SECOND, answer, fails, get, limited};
use crate::{URL, families, phase, service};

async fn answered(families: &Families, reply: forbear_mock::Reply) -> Response<()> {
    let vendor = MockVendor::in_process().script([reply]);
    service(families, vendor.service()).oneshot(get(URL)).await.unwrap().map(|_| ())
}

#[tokio::test(start_paused = true)]
async fn a_limited_answer_carries_its_signal() {
    let families = families();
    let body = r#"{"details":{"reason":"inflight_limit"}}"#;
    let answer = answered(&families, reply(429).retry_after(7).json_text(body)).await;
    let signal = answer.extensions().get::<Signal>().unwrap();
    assert_eq!((signal.family(), signal.retry_in()), (Some("vendor"), Some(7 * SECOND)));
    assert_eq!((signal.class, signal.reason.as_str()), (Class::Overloaded, "inflight_limit"));
    assert_eq!((signal.delay.unwrap().duration, signal.status.unwrap().as_u16()), (7 * SECOND, 429));
    assert!(!signal.aged && signal.retryable);
    tokio::time::sleep(3 * SECOND).await;
    assert_eq!(signal.retry_in(), Some(4 * SECOND));
    assert_eq!(families.health().to_string(), "vendor  cooling 4.0s  429 inflight_limit  via /a");
}

#[tokio::test(start_paused = true)]
async fn what_is_no_signal_carries_none_and_closes_nothing() {
    for reply in [reply(200), reply(404), reply(500), reply(503), reply(301).retry_after(9), reply(403)] {
        let families = families();
        let answer = answered(&families, reply.clone()).await;
        assert!(answer.extensions().get::<Signal>().is_none(), "{reply:?}");
        assert_eq!(phase(&families, "vendor"), "open", "{reply:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_aged_429_does_not_strike_and_is_waited_for() {
    let families = families();
    let vendor =
        MockVendor::in_process().script([reply(429).retry_after(30).header("age", "10"), reply(200)]);
    let stack = RetryAfterLayer::new().layer(service(&families, vendor.service()));
    let start = Instant::now();
    assert_eq!(stack.oneshot(get(URL)).await.unwrap().status(), 200);
    assert!((20 * SECOND..=21_001 * MS).contains(&start.elapsed()), "{:?}", start.elapsed());
    let health = families.health();
    let health = health.family("vendor").unwrap();
    assert_eq!((health.strikes, health.level, health.phase.to_string().as_str()), (0, 0, "open"));
    vendor.set_script(reply(429).retry_after(30).header("age", "10"));
    let answer = service(&families, vendor.service()).oneshot(get(URL)).await.unwrap();
    let signal = answer.extensions().get::<Signal>().unwrap();
    assert_eq!((signal.aged, signal.retry_in(), signal.delay.unwrap().duration), (true, None, 20 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn fifty_answers_of_one_generation_are_one_strike() {
    let (families, client) = (families(), Client::new([limited(429, 5).delay(100 * MS)]));
    let calls = (0..50).map(|_| service(&families, client.clone()).oneshot(get(URL)));
    let answers = futures_util::future::join_all(calls).await;
    assert!(answers.into_iter().all(|answer| answer.unwrap().status() == 429));
    let health = families.health();
    let health = health.family("vendor").unwrap();
    assert_eq!((client.sent(), health.strikes, health.level), (50, 1, 1));
    assert_eq!(health.remaining, Some(5 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn without_a_delay_the_ladder_is_climbed() {
    let (families, client) = (families(), Client::new([answer(429)]));
    for minutes in [2, 5, 15, 30, 60, 60] {
        let answer = service(&families, client.clone()).oneshot(get(URL)).await.unwrap();
        let cooldown = Duration::from_secs(minutes * 60);
        assert_eq!(answer.extensions().get::<Signal>().unwrap().retry_in(), Some(cooldown));
        tokio::time::sleep(cooldown).await;
    }
}

#[tokio::test(start_paused = true)]
async fn transport_errors_never_close_a_family() {
    let (families, client) = (families(), Client::new([fails()]));
    for _ in 0..100 {
        assert!(service(&families, client.clone()).oneshot(get(URL)).await.is_err());
    }
    assert_eq!((client.sent(), phase(&families, "vendor").as_str()), (100, "open"));
}
