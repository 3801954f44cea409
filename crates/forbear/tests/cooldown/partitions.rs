//! Parts of a family that have limits of their own.

use forbear::{Error, Families, Family, NoWait, Partition, Signal, stack};
use http::Request;
use tokio::time::{Instant, sleep};
use tower::{Layer, ServiceExt};

use crate::common::{Client, SECOND, Sent, answer, get, limited, with};
use crate::{URL, refusal};

/// A vendor that limits every credential by itself.
fn families() -> Families {
    let family =
        Family::new("vendor").host("vendor.test").partition_by_header("authorization").per_partition();
    Families::builder().family(family).build().unwrap()
}

fn by(credential: &'static str, url: &str) -> Request<Sent> {
    let mut request = get(url);
    request.headers_mut().insert("authorization", http::HeaderValue::from_static(credential));
    request
}

#[tokio::test(start_paused = true)]
async fn one_credential_is_throttled_and_the_other_is_untouched() {
    let families = families();
    let client = Client::new([limited(429, 30), answer(200)]);
    let service = stack(&families).budget(60 * SECOND).layer(client.clone());
    let told = service.clone().oneshot(with(by("Bearer one", URL), NoWait)).await.unwrap();
    let signal = told.extensions().get::<Signal>().unwrap();
    assert_eq!((signal.family(), signal.partition().map(str::len)), (Some("vendor"), Some(8)));
    // Also on the very URL, and at once.
    let start = Instant::now();
    for _ in 0..20 {
        assert_eq!(service.clone().oneshot(by("Bearer two", URL)).await.unwrap().status(), 200);
    }
    assert!(start.elapsed().is_zero(), "{:?}", start.elapsed());
    let cooling =
        refusal(service.clone().oneshot(with(by("Bearer one", "http://vendor.test/b"), NoWait)).await)
            .unwrap();
    assert_eq!((cooling.family(), cooling.retry_in()), ("vendor", Some(30 * SECOND)));
    let part = families.health().families[0].partitions[0].partition.clone().unwrap();
    assert_eq!(cooling.partition(), Some(&*part));
    assert_eq!(
        cooling.to_string(),
        format!("vendor/{part} is cooling, retry in 30s (429 retry-after via /a)")
    );
    // It waits for itself alone.
    let start = Instant::now();
    let waited = service.oneshot(by("Bearer one", "http://vendor.test/b")).await.unwrap();
    assert_eq!(waited.status(), 200);
    assert!((30 * SECOND..32 * SECOND).contains(&start.elapsed()), "{:?}", start.elapsed());
}

/// What is recorded for the URL is that credential's too, which the family alone reads.
#[tokio::test(start_paused = true)]
async fn nobody_waits_for_another_credential_on_its_url() {
    let families = families();
    let service = stack(&families).budget(60 * SECOND).layer(Client::new([limited(429, 30), answer(200)]));
    let one = tokio::spawn(service.clone().oneshot(by("Bearer one", URL)));
    sleep(SECOND).await;
    let start = Instant::now();
    assert_eq!(service.oneshot(by("Bearer two", URL)).await.unwrap().status(), 200);
    assert!(start.elapsed().is_zero(), "{:?}", start.elapsed());
    assert_eq!(one.await.unwrap().unwrap().status(), 200);
    assert!(start.elapsed() >= 29 * SECOND, "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_signal_of_the_whole_family_cools_every_credential() {
    let families = families();
    let client = Client::new([limited(429, 30), answer(200)]);
    let service = stack(&families).budget(SECOND).layer(client);
    // Nobody says whose it is, so it is everybody's.
    let _ = service.clone().oneshot(get(URL)).await.unwrap();
    for credential in ["Bearer one", "Bearer two"] {
        let cooling = refusal(service.clone().oneshot(by(credential, "http://vendor.test/b")).await).unwrap();
        assert_eq!((cooling.family(), cooling.partition()), ("vendor", None));
    }
}

#[tokio::test(start_paused = true)]
async fn without_the_policy_a_partition_changes_nothing() {
    let families = Families::builder().family(Family::new("vendor").host("vendor.test")).build().unwrap();
    let service = stack(&families).budget(SECOND).layer(Client::new([limited(429, 30), answer(200)]));
    let _ = service.clone().oneshot(with(get(URL), Partition::of("one"))).await.unwrap();
    assert!(
        refusal(service.oneshot(with(get("http://vendor.test/b"), Partition::of("two"))).await).is_some()
    );
}

#[tokio::test(start_paused = true)]
async fn what_a_request_states_wins_over_the_header() {
    let families = families();
    let service = stack(&families).budget(SECOND).layer(Client::new([limited(429, 30), answer(200)]));
    let stated = |url| with(by("Bearer one", url), Partition::of("tenant"));
    let _ = service.clone().oneshot(stated(URL)).await.unwrap();
    assert_eq!(service.clone().oneshot(by("Bearer one", URL)).await.unwrap().status(), 200);
    assert!(refusal(service.clone().oneshot(stated("http://vendor.test/b")).await).is_some());
    assert!(refusal(service.oneshot(stated(URL)).await).is_some());
}

/// While one part probes and recovers, the family's own probe and the other parts are not disturbed.
#[tokio::test(start_paused = true)]
async fn a_part_probes_and_recovers_by_itself() {
    let families = families();
    let client = Client::new([limited(429, 5), answer(200)]);
    let service = stack(&families).budget(60 * SECOND).layer(client.clone());
    let _ = service.clone().oneshot(with(by("Bearer one", URL), NoWait)).await.unwrap();
    sleep(5 * SECOND).await;
    client.play([answer(200).delay(SECOND / 10)]);
    let probe = tokio::spawn(service.clone().oneshot(with(by("Bearer one", URL), NoWait)));
    tokio::task::yield_now().await;
    let second = service.clone().oneshot(with(by("Bearer one", URL), NoWait)).await;
    assert!(refusal(second).is_some(), "one probe");
    assert_eq!(service.clone().oneshot(with(by("Bearer two", URL), NoWait)).await.unwrap().status(), 200);
    assert_eq!(probe.await.unwrap().unwrap().status(), 200);
    let health = families.health();
    assert_eq!(health.families[0].phase.to_string(), "open");
    assert_eq!(health.families[0].partitions[0].phase.to_string(), "recovering");
    let lines = health.to_string();
    let part = health.families[0].partitions[0].partition.as_ref().unwrap();
    assert!(lines.contains(&format!("\nvendor/{part}  recovering at ")), "{lines}");
}

/// A caller that both hold back waits for one after the other, and takes nothing of a part that it cannot use.
#[tokio::test(start_paused = true)]
async fn family_and_part_are_both_waited_for() {
    let families = families();
    let client = Client::new([limited(429, 5), limited(429, 20), answer(200)]);
    let service = stack(&families).budget(90 * SECOND).layer(client.clone());
    let _ = service.clone().oneshot(with(by("Bearer one", URL), NoWait)).await.unwrap();
    let _ = service.clone().oneshot(with(get("http://vendor.test/whole"), NoWait)).await.unwrap();
    let start = Instant::now();
    let calls = (0..10).map(|_| service.clone().oneshot(by("Bearer one", "http://vendor.test/b")));
    let answers = futures_util::future::join_all(calls).await;
    assert!(
        answers.iter().all(|answer| answer.as_ref().is_ok_and(|answer| answer.status() == 200)),
        "{answers:?}"
    );
    assert!(start.elapsed() >= 20 * SECOND && start.elapsed() < 40 * SECOND, "{:?}", start.elapsed());
    assert_eq!(client.sent(), 12);
    sleep(600 * SECOND).await;
    let health = families.health();
    assert_eq!((health.to_string().as_str(), health.families[0].waiting), ("vendor  open", 0));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_anywhere_gives_both_back() {
    for polls in 0..4 {
        let families = families();
        let client = Client::new([limited(429, 5), answer(200).polls(3)]);
        let service = stack(&families).budget(60 * SECOND).layer(client.clone());
        let _ = service.clone().oneshot(with(by("Bearer one", URL), NoWait)).await.unwrap();
        sleep(6 * SECOND).await;
        let mut dropped = Box::pin(service.clone().oneshot(by("Bearer one", URL)));
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        for _ in 0..polls {
            let _ = dropped.as_mut().poll(&mut cx);
        }
        drop(dropped);
        let start = Instant::now();
        let next = service.oneshot(by("Bearer one", URL)).await.unwrap();
        assert_eq!(next.status(), 200, "{polls}");
        // A probe that was sent and dropped is repeated after a second.
        assert!(start.elapsed() <= 2 * SECOND, "{polls}: {:?}", start.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_replaced_family_keeps_its_parts() {
    let families = families();
    let service = stack(&families).budget(SECOND).layer(Client::new([limited(429, 30), answer(200)]));
    let _ = service.clone().oneshot(by("Bearer one", URL)).await.unwrap();
    let family =
        Family::new("vendor").host("moved.test").partition_by_header("authorization").per_partition();
    families.replace(family).unwrap();
    assert!(refusal(service.clone().oneshot(by("Bearer one", "http://moved.test/")).await).is_some());
    assert_eq!(service.oneshot(by("Bearer two", "http://moved.test/")).await.unwrap().status(), 200);
}

#[tokio::test(start_paused = true)]
async fn parts_are_bounded_and_an_active_one_is_never_dropped() {
    let families = families();
    let service = stack(&families).budget(SECOND).layer(Client::new([limited(429, 3_000)]));
    let send = |tenant: u32| {
        let request = with(get(&format!("http://vendor.test/{tenant}")), Partition::of(tenant.to_be_bytes()));
        service.clone().oneshot(with(request, NoWait))
    };
    for tenant in 0..10_010 {
        let answered = send(tenant).await;
        // Those that found no room share one.
        assert!(tenant >= 10_000 || answered.is_ok(), "{tenant}: {answered:?}");
    }
    for tenant in [0, 5_000, 9_999, 10_005] {
        let again = send(tenant).await;
        assert!(matches!(&again, Err(Error::Cooling(_))), "{tenant}: {again:?}");
    }
    let health = families.health();
    assert_eq!(
        (health.families[0].partitions.len(), health.families[0].phase.to_string().as_str()),
        (20, "open")
    );
}
