//! An operator's hands, and who is told what happens.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use forbear::{Error, Families, Family, HealthPhase, NoWait, Operator, RefusalCause, Unknown, stack};
use futures_util::FutureExt;
use tokio::time::{Instant, sleep};
use tower::{Layer, ServiceExt};

use crate::common::{Client, SECOND, answer, get, limited, with};

const URL: &str = "http://vendor.test/a";

fn families() -> Families {
    Families::builder().family(Family::new("vendor").host("vendor.test")).build().unwrap()
}

fn alice() -> Operator {
    Operator::new("alice", "the vendor asked by mail")
}

#[tokio::test(start_paused = true)]
async fn a_pause_turns_everybody_away_until_it_is_resumed() {
    let families = families();
    let client = Client::new([limited(429, 30), answer(200)]);
    let service = stack(&families).budget(60 * SECOND).layer(client.clone());
    let waiting = tokio::spawn(service.clone().oneshot(get(URL)));
    sleep(SECOND).await;
    families.pause("vendor", alice()).unwrap();
    let start = Instant::now();
    // Of this URL no deadline is recorded.
    let other = get("http://vendor.test/b");
    let refused = [waiting.await.unwrap(), service.clone().oneshot(other).await];
    assert!(start.elapsed().is_zero());
    // The one that waited has let the vendor's answer go.
    assert!(matches!(&refused[0], Err(Error::BudgetExhausted(_))), "{:?}", refused[0]);
    let Err(Error::Cooling(cooling)) = &refused[1] else { panic!("{:?}", refused[1]) };
    assert_eq!((cooling.cause(), cooling.retry_in()), (RefusalCause::Paused, None));
    assert_eq!(cooling.operator(), Some(&alice()));
    assert_eq!(
        cooling.to_string(),
        "vendor is paused by alice: the vendor asked by mail; resume it to send (paused)"
    );
    families.resume("vendor", alice()).unwrap();
    // The cool-down of before goes on to its own deadline.
    assert_eq!(families.health().family("vendor").unwrap().phase, HealthPhase::Cooling);
    assert_eq!(service.oneshot(get(URL)).await.unwrap().status(), 200);
    assert_eq!(client.sent(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_operators_cool_down_is_waited_for_like_a_vendors() {
    let families = families();
    let client = Client::new([answer(200)]);
    let service = stack(&families).budget(60 * SECOND).layer(client.clone());
    families.cool("vendor", 20 * SECOND, alice()).unwrap();
    let cooling = match service.clone().oneshot(with(get(URL), NoWait)).await {
        Err(Error::Cooling(cooling)) => cooling,
        other => panic!("{other:?}"),
    };
    assert_eq!((cooling.reason().as_str(), cooling.signal()), ("operator", None));
    assert_eq!(cooling.to_string(), "vendor is cooling, retry in 20s (by alice: the vendor asked by mail)");
    let start = Instant::now();
    assert_eq!(service.oneshot(get(URL)).await.unwrap().status(), 200);
    assert!((20 * SECOND..22 * SECOND).contains(&start.elapsed()), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_clear_forgets_cool_down_level_and_recorded_urls() {
    let families = families();
    let client = Client::new([limited(429, 300), answer(200)]);
    let service = stack(&families).budget(60 * SECOND).layer(client.clone());
    assert_eq!(service.clone().oneshot(get(URL)).await.unwrap().status(), 429);
    assert!(service.clone().oneshot(get(URL)).await.is_err());
    families.clear("vendor", alice()).unwrap();
    assert_eq!(service.oneshot(get(URL)).await.unwrap().status(), 200);
    let health = families.health();
    let vendor = health.family("vendor").unwrap();
    assert_eq!((vendor.phase, vendor.level), (HealthPhase::Recovering, 0));
    assert_eq!(vendor.operator.as_ref().map(|operator| operator.act), Some("clear"));
}

#[tokio::test(start_paused = true)]
async fn an_automatic_family_is_found_by_its_host_and_an_unknown_one_is_an_error() {
    let families = Families::builder().build().unwrap();
    let client = Client::new([limited(429, 30), answer(200)]);
    let service = stack(&families).budget(SECOND).layer(client.clone());
    let unknown = families.pause("vendor.test", alice()).unwrap_err();
    assert_eq!(unknown.name(), Some("vendor.test"));
    let _ = service.clone().oneshot(get(URL)).await.unwrap();
    families.clear("vendor.test", alice()).unwrap();
    assert_eq!(service.oneshot(get(URL)).await.unwrap().status(), 200);
}

#[tokio::test(start_paused = true)]
async fn listeners_hear_every_strike_once_and_a_panic_in_one_harms_nobody() {
    let families = families();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&heard);
    families.on_signal(|_| std::panic::resume_unwind(Box::new("listener")));
    let own = families.clone();
    families.on_signal(move |strike| {
        // A listener may look at what it was told about.
        let phase = own.health().family(strike.family).unwrap().phase;
        let told = (strike.family.to_owned(), strike.route.to_owned(), strike.cooldown, strike.level, phase);
        hears.lock().unwrap().push(told);
    });
    let service = stack(&families).budget(SECOND).layer(Client::new([limited(429, 30).delay(SECOND / 10)]));
    let calls = (0..50).map(|_| service.clone().oneshot(get(URL)));
    let answers = futures_util::future::join_all(calls).await;
    assert!(answers.iter().all(|answer| answer.as_ref().is_ok_and(|answer| answer.status() == 429)));
    let told = ("vendor".to_owned(), "/a".to_owned(), 30 * SECOND, 1, HealthPhase::Cooling);
    assert_eq!(*heard.lock().unwrap(), [told]);
}

#[tokio::test(start_paused = true)]
async fn changes_are_told_at_once_and_nothing_is_told_twice() {
    let families = families();
    let mut changes = families.changes();
    assert_eq!(changes.next().await.to_string(), "vendor  open");
    let start = Instant::now();
    let pause = async {
        sleep(Duration::from_millis(2_345)).await;
        families.pause("vendor", alice()).unwrap();
    };
    let (health, ()) = tokio::join!(changes.next(), pause);
    assert_eq!(health.family("vendor").unwrap().phase, HealthPhase::Paused);
    assert_eq!(start.elapsed(), Duration::from_millis(2_345));
    families.resume("vendor", alice()).unwrap();
    families.cool("vendor", 10 * SECOND, alice()).unwrap();
    assert_eq!(changes.next().await.family("vendor").unwrap().phase, HealthPhase::Cooling);
    // Only time passes.
    let start = Instant::now();
    assert_eq!(changes.next().await.family("vendor").unwrap().phase, HealthPhase::Probing);
    assert!((10 * SECOND..=11 * SECOND).contains(&start.elapsed()), "{:?}", start.elapsed());
    assert!(tokio::time::timeout(60 * SECOND, changes.next()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_strike_of_a_part_names_it_and_is_a_change() {
    let family =
        Family::new("vendor").host("vendor.test").partition_by_header("authorization").per_partition();
    let families = Families::builder().family(family).build().unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&heard);
    families.on_signal(move |strike| hears.lock().unwrap().push(strike.partition.map(str::to_owned)));
    let mut changes = families.changes();
    let _ = changes.next().await;
    let service = stack(&families).budget(SECOND).layer(Client::new([limited(429, 30)]));
    let call = |credential: Option<&'static str>| {
        let mut request = get(URL);
        if let Some(credential) = credential {
            request.headers_mut().insert("authorization", http::HeaderValue::from_static(credential));
        }
        service.clone().oneshot(request)
    };
    let start = Instant::now();
    let limited = async {
        sleep(Duration::from_millis(2_345)).await;
        call(Some("one")).await.unwrap().status()
    };
    let (health, status) = tokio::join!(tokio::time::timeout(60 * SECOND, changes.next()), limited);
    let health = health.unwrap();
    assert_eq!((status.as_u16(), start.elapsed()), (429, Duration::from_millis(2_345)));
    let part = health.families[0].partitions[0].partition.as_deref().map(str::to_owned);
    // Only time passes.
    let probing = changes.next().await;
    assert_eq!(probing.families[0].partitions[0].phase, HealthPhase::Probing);
    assert!((30 * SECOND..34 * SECOND).contains(&start.elapsed()), "{:?}", start.elapsed());
    assert!(tokio::time::timeout(30 * SECOND, changes.next()).await.is_err());
    let _ = call(None).await.unwrap();
    assert_eq!(*heard.lock().unwrap(), [part, None]);
}

#[tokio::test(start_paused = true)]
async fn in_shadow_nothing_is_refused_or_delayed_and_health_says_what_would_have_been() {
    let families = families();
    families.shadow(true);
    let client = Client::new([limited(429, 30), answer(200), limited(429, 60), answer(200)]);
    let service = stack(&families).budget(60 * SECOND).layer(client.clone());
    let start = Instant::now();
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(service.clone().oneshot(get(URL)).await.unwrap().status().as_u16());
    }
    assert_eq!((statuses, start.elapsed().is_zero()), (vec![429, 200, 429, 200], true));
    let health = families.health();
    let vendor = health.family("vendor").unwrap();
    assert_eq!((vendor.phase, vendor.strikes, vendor.refusals), (HealthPhase::Cooling, 1, 3));
    assert_eq!(
        health.to_string(),
        "shadow mode: nothing is refused\nvendor  cooling 30s  429 retry-after  via /a"
    );
    families.pause("vendor", alice()).unwrap();
    assert_eq!(service.clone().oneshot(get(URL)).await.unwrap().status(), 200);
    families.resume("vendor", alice()).unwrap();
    families.shadow(false);
    assert!(matches!(service.oneshot(with(get(URL), NoWait)).await, Err(Error::Cooling(_))));
}

#[tokio::test(start_paused = true)]
async fn in_shadow_the_probe_is_a_real_one_and_the_family_recovers() {
    let families = families();
    families.shadow(true);
    let client = Client::new([limited(429, 30), answer(200)]);
    let service = stack(&families).budget(60 * SECOND).layer(client.clone());
    let _ = service.clone().oneshot(get(URL)).await.unwrap();
    sleep(31 * SECOND).await;
    for _ in 0..20 {
        assert_eq!(service.clone().oneshot(get(URL)).await.unwrap().status(), 200);
    }
    assert_eq!(families.health().family("vendor").unwrap().phase, HealthPhase::Recovering);
}

#[tokio::test(start_paused = true)]
async fn in_shadow_a_request_without_a_family_is_sent_and_counted() {
    let families = Families::builder().unknown(Unknown::Refuse).build().unwrap();
    let service = stack(&families).budget(SECOND).layer(Client::new([limited(429, 30), answer(200)]));
    assert!(matches!(service.clone().oneshot(get(URL)).await, Err(Error::UnknownFamily(_))));
    families.shadow(true);
    for status in [429, 200] {
        assert_eq!(service.clone().oneshot(get(URL)).await.unwrap().status(), status);
    }
    assert_eq!(families.health().unknown, 3);
}

/// For the whole time of a part's cool-down it would be waited for, only to be refused then.
#[tokio::test(start_paused = true)]
async fn a_pause_is_not_waited_out_by_who_waits_for_a_part() {
    let vendor = Family::new("vendor").host("vendor.test").partition_by_header("authorization");
    let families = Families::builder().family(vendor.per_partition()).build().unwrap();
    let service = stack(&families).budget(600 * SECOND).layer(Client::new([limited(429, 300), answer(200)]));
    let ask = |path: &str| {
        let mut request = get(&format!("http://vendor.test{path}"));
        request.headers_mut().insert("authorization", "Bearer one".parse().unwrap());
        service.clone().oneshot(request)
    };
    assert_eq!(ask("/a").now_or_never().map(|answer| answer.is_ok()), None);
    let waiting = tokio::spawn(ask("/b"));
    sleep(SECOND).await;
    assert_eq!(families.health().families[0].waiting, 1);
    let start = Instant::now();
    families.pause("vendor", alice()).unwrap();
    for refused in [waiting.await.unwrap(), ask("/c").await] {
        let Err(Error::Cooling(cooling)) = refused else { panic!("{refused:?}") };
        assert_eq!((cooling.cause(), cooling.partition()), (RefusalCause::Paused, None));
        assert_eq!(cooling.operator(), Some(&alice()));
    }
    assert!(start.elapsed().is_zero());
    families.resume("vendor", alice()).unwrap();
    assert_eq!(ask("/d").await.unwrap().status(), 200);
    assert!((298 * SECOND..302 * SECOND).contains(&start.elapsed()), "{:?}", start.elapsed());
}
