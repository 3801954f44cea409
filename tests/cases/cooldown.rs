//! Cool-downs under answers that come in any order, and in any number.

use std::time::Duration;

use forbear::{Error, Families, Family, GateSettings};
use forbear_core::health::HealthPhase;
use forbear_mock::{MockVendor, Reply, reply};
use http::StatusCode;
use tokio::task::JoinHandle;

use crate::support::{
    Held, MILLISECOND, SECOND, answer, get, impatient, limited, registered, settle, stacked,
};

/// Sends one request through the stack around `held`, to where it waits for its answer.
async fn send(families: &Families, held: &Held) -> JoinHandle<Result<StatusCode, Error>> {
    let vendor = forbear::stack(families).budget(60 * SECOND).service(held.client());
    let sent =
        tokio::spawn(async move { vendor.send(impatient("/a")).await.map(|response| response.status()) });
    settle().await;
    sent
}

fn phase(families: &Families) -> HealthPhase {
    families.health().family("vendor").unwrap().phase
}

/// Strikes the family once and lets it recover, so that it counts each attempt.
async fn recover(families: &Families, held: &Held) {
    let struck = send(families, held).await;
    held.answer(0, limited("1"));
    assert_eq!(struck.await.unwrap().unwrap(), StatusCode::TOO_MANY_REQUESTS);
    tokio::time::sleep(SECOND).await;
    let probe = send(families, held).await;
    held.answer(1, answer(200));
    assert_eq!(probe.await.unwrap().unwrap(), StatusCode::OK);
    assert_eq!(phase(families), HealthPhase::Recovering);
}

// router-for-me/CLIProxyAPI#5592: a success that was in flight before the 429 cleared the cool-down.
#[tokio::test(start_paused = true)]
async fn an_older_success_does_not_clear_a_cool_down() {
    for recovering in [false, true] {
        let (families, held) = (registered(), Held::default());
        if recovering {
            recover(&families, &held).await;
        }
        let before = held.sent();
        let first = send(&families, &held).await;
        tokio::time::sleep(10 * MILLISECOND).await;
        let second = send(&families, &held).await;
        tokio::time::sleep(10 * MILLISECOND).await;
        held.answer(before + 1, limited("30"));
        assert_eq!(second.await.unwrap().unwrap(), StatusCode::TOO_MANY_REQUESTS);
        tokio::time::sleep(10 * MILLISECOND).await;
        held.answer(before, answer(200));
        assert_eq!(first.await.unwrap().unwrap(), StatusCode::OK);
        for _ in 0..29 {
            let refused = send(&families, &held).await.await.unwrap();
            assert!(matches!(refused, Err(Error::Cooling(_))), "{refused:?}");
            tokio::time::sleep(SECOND).await;
        }
        assert_eq!(held.sent(), before + 2);
    }
}

// dsx-ai-factory/nv-redfish#211: an answer from before the trip freed the slot of the new probe.
#[tokio::test(start_paused = true)]
async fn an_older_answer_does_not_free_the_probes_place() {
    for (old, recovering) in [500, 400, 200].into_iter().flat_map(|old| [(old, false), (old, true)]) {
        let (families, held) = (registered(), Held::default());
        if recovering {
            recover(&families, &held).await;
        }
        let before = held.sent();
        let first = send(&families, &held).await;
        let dropped = send(&families, &held).await;
        let second = send(&families, &held).await;
        held.answer(before + 2, limited("2"));
        assert_eq!(second.await.unwrap().unwrap(), StatusCode::TOO_MANY_REQUESTS);
        tokio::time::sleep(2 * SECOND).await;

        let probe = send(&families, &held).await;
        assert_eq!((held.sent(), phase(&families)), (before + 4, HealthPhase::Probing));
        held.answer(before, answer(old));
        assert_eq!(first.await.unwrap().unwrap().as_u16(), old);
        dropped.abort();
        settle().await;
        assert_eq!(phase(&families), HealthPhase::Probing, "after an old {old}");
        let refused = send(&families, &held).await.await.unwrap();
        assert!(matches!(refused, Err(Error::Cooling(_))), "{refused:?}");
        assert_eq!(held.sent(), before + 4);

        if recovering {
            // Not refused within the refusal window: only who still has its place is accepted by that.
            tokio::time::sleep(300 * MILLISECOND).await;
            assert_eq!(phase(&families), HealthPhase::Recovering, "after an old {old}");
        }
        held.answer(before + 3, answer(200));
        assert_eq!(probe.await.unwrap().unwrap(), StatusCode::OK);
        assert_eq!(phase(&families), HealthPhase::Recovering);
    }
}

/// Meets `limited` again and again, each time as soon as the family may be called; the longest cool-down of all.
async fn longest(limited: Reply, times: usize) -> Duration {
    let mock = MockVendor::in_process().script(limited);
    let families = registered();
    let vendor = stacked(&families, 30 * SECOND, &mock);
    let mut longest = Duration::ZERO;
    for _ in 0..times {
        let response = vendor.send(impatient("/a")).await.unwrap();
        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
        let remaining = families.health().family("vendor").unwrap().remaining.unwrap();
        longest = longest.max(remaining);
        tokio::time::sleep(remaining).await;
    }
    mock.assert_attempts(times);
    longest
}

// urllib3/urllib3#3743: a cap that holds for the family and not for the URL is none.
#[tokio::test(start_paused = true)]
async fn the_longest_advertised_delay_holds_for_the_url_too() {
    let settings = GateSettings::registered().max_advertised(60 * SECOND);
    let family = Family::new("vendor").host("vendor.test").gate(settings);
    let families = Families::builder().family(family).build().unwrap();
    let mock = MockVendor::in_process().script([reply(429).retry_after(86_400), reply(200)]);
    let vendor = stacked(&families, 30 * SECOND, &mock);
    assert_eq!(vendor.send(get("/a")).await.unwrap().status(), StatusCode::TOO_MANY_REQUESTS);
    tokio::time::sleep(59 * SECOND).await;
    assert!(matches!(vendor.send(impatient("/a")).await, Err(Error::Cooling(_))));
    tokio::time::sleep(SECOND).await;
    assert_eq!(vendor.send(impatient("/a")).await.unwrap().status(), StatusCode::OK);
}

// gabrielkoerich/orch#3352, diegosouzapw/OmniRoute#8446: a multiplier after the cap made cool-downs of 42 days.
#[tokio::test(start_paused = true)]
async fn a_thousand_limits_in_a_row_never_pass_the_cap() {
    assert_eq!(longest(reply(429), 1000).await, 3600 * SECOND);
    assert_eq!(longest(reply(429).retry_after(0), 1000).await, 8 * SECOND);
    assert_eq!(longest(reply(429).retry_after(10), 1000).await, 40 * SECOND);
    assert_eq!(longest(reply(429).retry_after(1000), 1000).await, 1060 * SECOND);
    assert_eq!(longest(reply(429).retry_after(86_399), 1000).await, 86_400 * SECOND);
    assert_eq!(longest(reply(429).retry_after(u64::MAX), 1000).await, 86_400 * SECOND);
}
