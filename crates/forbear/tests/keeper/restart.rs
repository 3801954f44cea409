//! The next process.

use std::time::Duration;

use forbear::{Families, Family, HealthPhase, NoWait, Operator, Partition, Unknown, stack};
use tokio::time::sleep;
use tower::{Layer, ServiceExt};

use crate::common::{Client, SECOND, answer, get, limited, with};
use crate::scripted::{Mood, Scripted};
use crate::{URL, builder, next_process, phase, reach, strike, vendor};

const MINUTE: Duration = Duration::from_secs(60);

fn alice() -> Operator {
    Operator::new("alice", "contract ended")
}

#[tokio::test(start_paused = true)]
async fn a_restart_in_the_middle_of_an_hours_cooldown_stays_cool() {
    let store = Scripted::new();
    let families = next_process(&store).await;
    strike(&families, 3600).await;
    let before = vendor(&families);
    families.stored().await.unwrap();
    drop(families);
    store.passes(20 * MINUTE);
    let families = next_process(&store).await;
    let after = vendor(&families);
    assert_eq!((after.phase, after.level), (HealthPhase::Cooling, 1));
    let left = after.remaining.unwrap();
    assert!((39 * MINUTE..=40 * MINUTE + SECOND).contains(&left), "{left:?}");
    let signal = |health: &forbear::FamilyHealth| {
        let last = health.last_signal.clone().unwrap();
        (last.status, last.reason.to_string(), last.route, last.evidence, last.advertised)
    };
    assert_eq!(signal(&after), signal(&before));
    assert_eq!(reach(&families, 10).await, 0);
    sleep(41 * MINUTE).await;
    assert_eq!(reach(&families, 10).await, 1, "one probe");
}

#[tokio::test(start_paused = true)]
async fn a_cooldown_that_ended_meanwhile_begins_with_one_probe() {
    let store = Scripted::new();
    let families = next_process(&store).await;
    strike(&families, 60).await;
    drop(families);
    sleep(SECOND).await;
    store.passes(61 * SECOND);
    let families = next_process(&store).await;
    assert_eq!((phase(&families), vendor(&families).level), (HealthPhase::Probing, 1));
    assert_eq!(reach(&families, 10).await, 1);
}

#[tokio::test(start_paused = true)]
async fn quiet_time_without_a_process_lowers_the_level() {
    let store = Scripted::new();
    let families = next_process(&store).await;
    strike(&families, 10).await;
    families.stored().await.unwrap();
    drop(families);
    // Of the 20 s that take the rung off, 15 are over, and 25, however often it restarts meanwhile.
    store.passes(25 * SECOND);
    let families = next_process(&store).await;
    assert_eq!((vendor(&families).level, phase(&families)), (1, HealthPhase::Probing));
    drop(families);
    store.passes(10 * SECOND);
    let families = next_process(&store).await;
    assert_eq!((vendor(&families).level, phase(&families)), (0, HealthPhase::Open));
    assert_eq!(reach(&families, 10).await, 10);
}

#[tokio::test(start_paused = true)]
async fn what_changed_is_written_when_the_families_are_dropped() {
    let store = Scripted::new();
    let families = next_process(&store).await;
    strike(&families, 3600).await;
    drop(families);
    sleep(SECOND).await;
    assert_eq!(phase(&next_process(&store).await), HealthPhase::Cooling);
}

#[tokio::test(start_paused = true)]
async fn a_service_outlives_the_families_that_it_was_built_with_and_is_still_kept() {
    let store = Scripted::new();
    let families = next_process(&store).await;
    let service = stack(&families).layer(Client::new([limited(429, 3600)]));
    drop(families);
    sleep(SECOND).await;
    let _ = service.clone().oneshot(with(get(URL), NoWait)).await;
    drop(service);
    sleep(SECOND).await;
    assert_eq!(phase(&next_process(&store).await), HealthPhase::Cooling);
}

#[tokio::test(start_paused = true)]
async fn a_pause_holds_until_it_is_resumed_whatever_restarts() {
    let store = Scripted::new();
    let families = next_process(&store).await;
    families.pause("vendor", alice()).unwrap();
    families.stored().await.unwrap();
    drop(families);
    store.passes(400 * 24 * 60 * MINUTE);
    let families = next_process(&store).await;
    let health = vendor(&families);
    assert_eq!(families.health().to_string(), "vendor  paused  by alice: contract ended");
    let since = health.since.unwrap();
    assert!(since >= 23 * 60 * MINUTE, "as far as this process's clock goes back: {since:?}");
    families.resume("vendor", alice()).unwrap();
    families.stored().await.unwrap();
    drop(families);
    assert_eq!(phase(&next_process(&store).await), HealthPhase::Open);
}

#[tokio::test(start_paused = true)]
async fn an_operator_who_is_quicker_than_the_store_is_right() {
    let store = Scripted::new();
    let families = next_process(&store).await;
    families.pause("vendor", alice()).unwrap();
    families.stored().await.unwrap();
    drop(families);
    sleep(SECOND).await;
    store.is(Mood::Gone);
    let families = builder(&store).build().unwrap();
    families.resume("vendor", alice()).unwrap();
    store.is(Mood::Well);
    families.stored().await.unwrap();
    assert_eq!(phase(&families), HealthPhase::Open);
    drop(families);
    assert_eq!(phase(&next_process(&store).await), HealthPhase::Open);
}

#[tokio::test(start_paused = true)]
async fn an_operators_cooldown_stays_the_operators() {
    let store = Scripted::new();
    let families = next_process(&store).await;
    families.cool("vendor", 10 * 24 * 60 * MINUTE, alice()).unwrap();
    families.stored().await.unwrap();
    drop(families);
    let families = next_process(&store).await;
    let shown = families.health().to_string();
    assert_eq!(shown, "vendor  cooling 240h00m  by alice: contract ended");
}

#[tokio::test(start_paused = true)]
async fn a_clear_is_kept_too() {
    let store = Scripted::new();
    let families = next_process(&store).await;
    strike(&families, 3600).await;
    families.stored().await.unwrap();
    families.clear("vendor", alice()).unwrap();
    families.stored().await.unwrap();
    drop(families);
    let families = next_process(&store).await;
    assert_eq!((vendor(&families).level, vendor(&families).remaining), (0, None));
    assert!(reach(&families, 1).await == 1);
}

#[tokio::test(start_paused = true)]
async fn a_later_signal_of_the_same_strike_moves_the_stored_deadline() {
    let store = Scripted::new();
    let families = next_process(&store).await;
    let slow = stack(&families).layer(Client::new([limited(429, 3600).delay(2 * SECOND)]));
    let slow = tokio::spawn(slow.oneshot(with(get(URL), NoWait)));
    sleep(SECOND).await;
    strike(&families, 60).await;
    families.stored().await.unwrap();
    let _ = slow.await;
    families.stored().await.unwrap();
    drop(families);
    let left = vendor(&next_process(&store).await).remaining.unwrap();
    assert!(left > 59 * MINUTE, "{left:?}");
}

#[tokio::test(start_paused = true)]
async fn a_credential_that_used_up_its_quota_is_known_again() {
    let store = Scripted::new();
    let mail = || {
        let family =
            Family::new("mail").host("mail.test").partition_by_header("authorization").per_partition();
        Families::builder().family(family).store(store.clone()).build().unwrap()
    };
    let call = |key: &str| {
        let mut request = with(get("http://mail.test/send"), NoWait);
        request.headers_mut().insert("authorization", key.parse().unwrap());
        request
    };
    let families = mail();
    let service = stack(&families).layer(Client::new([limited(429, 3600)]));
    let _ = service.oneshot(call("Bearer sk-secret-canary")).await;
    families.stored().await.unwrap();
    drop(families);
    let families = mail();
    families.loaded().await.unwrap();
    let client = Client::new([answer(200)]);
    let service = stack(&families).layer(client.clone());
    assert!(service.clone().oneshot(call("Bearer sk-secret-canary")).await.is_err());
    assert!(service.oneshot(call("Bearer another")).await.is_ok());
    assert_eq!(client.sent(), 1);
    assert!(!format!("{store:?}").contains("canary"));
    let part = Partition::of("Bearer sk-secret-canary").to_string();
    assert!(families.health().to_string().contains(&part));
}

#[tokio::test(start_paused = true)]
async fn a_host_that_nobody_registered_stays_cool_also_once_somebody_has() {
    let store = Scripted::new();
    let unnamed = || Families::builder().unknown(Unknown::PerHost).store(store.clone()).build().unwrap();
    let families = unnamed();
    strike(&families, 3600).await;
    families.stored().await.unwrap();
    drop(families);
    let families = unnamed();
    families.loaded().await.unwrap();
    let shown = families.health();
    assert!(shown.families[0].automatic && &*shown.families[0].family == "vendor.test");
    assert_eq!(reach(&families, 3).await, 0);
    drop(families);
    let families = next_process(&store).await;
    assert_eq!((phase(&families), reach(&families, 3).await), (HealthPhase::Cooling, 0));
}

#[tokio::test(start_paused = true)]
async fn a_family_that_is_registered_later_takes_up_what_the_store_knows() {
    let store = Scripted::new();
    let families = next_process(&store).await;
    strike(&families, 3600).await;
    families.stored().await.unwrap();
    drop(families);
    let families = Families::builder().store(store.clone()).build().unwrap();
    families.loaded().await.unwrap();
    families.register(Family::new("vendor").host("vendor.test")).unwrap();
    sleep(SECOND).await;
    assert_eq!(phase(&families), HealthPhase::Cooling);
}

#[tokio::test(start_paused = true)]
async fn a_load_alone_writes_nothing() {
    let store = Scripted::new();
    let families = next_process(&store).await;
    strike(&families, 3600).await;
    families.stored().await.unwrap();
    drop(families);
    sleep(SECOND).await;
    let before = store.saves();
    let families = next_process(&store).await;
    sleep(SECOND).await;
    assert_eq!(store.saves(), before);
    drop(families);
}

#[tokio::test(start_paused = true)]
async fn strikes_of_one_moment_are_one_write_and_rest_writes_nothing() {
    let store = Scripted::new();
    let hosts = |at: usize| format!("http://h{at}.test/a");
    let families = Families::builder().store(store.clone()).build().unwrap();
    families.loaded().await.unwrap();
    for at in 0..50 {
        let service = stack(&families).layer(Client::new([limited(429, 600)]));
        let _ = service.oneshot(with(get(&hosts(at)), NoWait)).await;
    }
    sleep(SECOND).await;
    assert_eq!(store.saves(), [50]);
    let asked = store.asked();
    sleep(300 * SECOND).await;
    assert_eq!(store.asked(), asked, "nothing is asked of a store while nothing happens");
}

#[test]
fn a_store_needs_a_runtime() {
    let error = builder(&Scripted::new()).build().unwrap_err();
    assert!(error.to_string().contains("inside a tokio runtime"), "{error}");
}
