//! Families that change while traffic flows.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use forbear::{Error, Families, Family, FamilyCooldownLayer, HealthPhase, NoWait, Unknown, stack};
use tokio::time::Instant;
use tower::{Layer, ServiceExt};

use crate::common::{Client, SECOND, answer, get, limited, with};

fn vendor() -> Family {
    Family::new("vendor").host("vendor.test")
}

#[tokio::test(start_paused = true)]
async fn a_replaced_family_keeps_cooling() {
    let families = Families::builder().family(vendor()).build().unwrap();
    let service =
        FamilyCooldownLayer::new(families.clone()).layer(Client::new([limited(429, 60), answer(200)]));
    assert_eq!(service.clone().oneshot(get("http://vendor.test/a")).await.unwrap().status(), 429);
    families.replace(vendor().host("second.test")).unwrap();
    // The services that were made before follow.
    for uri in ["http://vendor.test/a", "http://second.test/a"] {
        let refused = service.clone().oneshot(get(uri)).await;
        assert!(
            matches!(&refused, Err(Error::Cooling(cooling)) if cooling.family() == "vendor"),
            "{uri}: {refused:?}"
        );
    }
    tokio::time::sleep(61 * SECOND).await;
    assert_eq!(service.oneshot(get("http://second.test/a")).await.unwrap().status(), 200);
}

#[tokio::test(start_paused = true)]
async fn callers_that_wait_are_served_after_a_replace_and_after_a_removal() {
    for remove in [false, true] {
        let families = Families::builder().family(vendor()).build().unwrap();
        let client = Client::new([limited(429, 5), answer(200)]);
        let service = stack(&families).budget(60 * SECOND).layer(client.clone());
        let waiting = tokio::spawn(service.clone().oneshot(get("http://vendor.test/a")));
        tokio::time::sleep(SECOND).await;
        if remove {
            families.remove("vendor").unwrap();
        } else {
            families.replace(vendor().host("second.test")).unwrap();
        }
        let start = Instant::now();
        assert_eq!(waiting.await.unwrap().unwrap().status(), 200, "removed: {remove}");
        assert!((4 * SECOND..5 * SECOND).contains(&start.elapsed()), "{:?}", start.elapsed());
        assert_eq!(client.sent(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_strict_program_may_call_a_vendor_from_the_moment_it_is_registered() {
    let families = Families::builder().unknown(Unknown::Refuse).build().unwrap();
    let service = FamilyCooldownLayer::new(families.clone()).layer(Client::new([answer(200)]));
    let send = || service.clone().oneshot(get("http://vendor.test/a"));
    assert!(matches!(send().await, Err(Error::UnknownFamily(_))));
    families.register(vendor()).unwrap();
    assert_eq!(send().await.unwrap().status(), 200);
    families.remove("vendor").unwrap();
    assert!(matches!(send().await, Err(Error::UnknownFamily(_))));
}

#[tokio::test(start_paused = true)]
async fn a_vendor_that_is_registered_while_its_host_cools_goes_on_cooling() {
    let families = Families::builder().build().unwrap();
    let service =
        FamilyCooldownLayer::new(families.clone()).layer(Client::new([limited(429, 60), answer(200)]));
    let _ = service.clone().oneshot(get("http://vendor.test/a")).await.unwrap();
    families.register(vendor()).unwrap();
    let health = families.health();
    assert_eq!(health.families.len(), 1, "{health}");
    assert_eq!(health.family("vendor").unwrap().phase, HealthPhase::Cooling);
    assert!(matches!(service.oneshot(get("http://vendor.test/b")).await, Err(Error::Cooling(_))));
}

/// Two threads call while a third changes the families as fast as it can: every call is answered, by whichever table.
#[test]
fn changes_under_traffic_lose_no_call() {
    let families = Families::builder().family(vendor()).build().unwrap();
    let service = FamilyCooldownLayer::new(families.clone()).layer(Client::new([answer(200)]));
    let served = Arc::new(AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let (service, served) = (service.clone(), Arc::clone(&served));
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
                for _ in 0..2_000 {
                    let request = with(get("http://vendor.test/a"), NoWait);
                    let answer = runtime.block_on(service.clone().oneshot(request)).unwrap();
                    served.fetch_add(usize::from(answer.status() == 200), Ordering::Relaxed);
                }
            });
        }
        for round in 0..500 {
            families.replace(vendor().host(format!("h{round}.test"))).unwrap();
            let other = format!("other{round}");
            families.register(Family::new(&other).host(format!("{other}.test"))).unwrap();
            families.remove(&other).unwrap();
        }
    });
    assert_eq!(served.load(Ordering::Relaxed), 4_000);
    assert_eq!(families.health().families.len(), 1);
}
