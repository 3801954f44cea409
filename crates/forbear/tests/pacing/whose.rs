//! Whose limits an attempt counts in, and what it costs there.

use std::time::Duration;

use forbear::{
    Cost, Families, Family, FamilyName, NoQueue, Pacing, PacingCause, PacingLayer, Partition, Unknown,
};
use tokio::time::Instant;
use tower::{Layer, ServiceExt};

use crate::common::{Client, MS, SECOND, answer, get, with};
use crate::{URL, crowd, families, gated, paced, refused, service};

#[tokio::test(start_paused = true)]
async fn families_are_paced_by_host_or_name_and_all_others_are_not() {
    let families = Families::builder()
        .family(Family::new("vendor").host("vendor.test").pacing(Pacing::new().gap(SECOND)))
        .family(Family::new("free").host("free.test"))
        .unknown(Unknown::PerHost)
        .build()
        .unwrap();
    let service = gated(&families, Client::new([answer(200)]));
    let start = Instant::now();
    for uri in ["http://free.test/", "http://unknown.test/", "/relative", "http://free.test/"] {
        for _ in 0..5 {
            assert_eq!(service.clone().oneshot(get(uri)).await.unwrap().status(), 200);
        }
    }
    assert!(start.elapsed().is_zero());
    let _ = service.clone().oneshot(get("http://VENDOR.test:80/")).await.unwrap();
    let named = with(get("http://unknown.test/"), FamilyName::from_static("vendor"));
    let _ = service.clone().oneshot(named).await.unwrap();
    assert_eq!(start.elapsed(), SECOND);
    let mut relative = get("/relative");
    relative.headers_mut().insert("host", "vendor.test".parse().unwrap());
    let _ = service.clone().oneshot(relative).await.unwrap();
    assert_eq!(start.elapsed(), 2 * SECOND);
    // A wrong name is the gate's to refuse.
    let wrong = service.oneshot(with(get(URL), FamilyName::from_static("wrong"))).await;
    assert!(matches!(wrong, Err(forbear::Error::UnknownFamily(_))), "{wrong:?}");
}

#[tokio::test(start_paused = true)]
async fn limits_count_what_requests_cost() {
    let (families, client) = (families(Pacing::new().at_most(100, SECOND)), Client::new([answer(200)]));
    let layer = PacingLayer::new(families.clone()).cost_of(|head| {
        head.headers.get("x-tokens").map_or(10, |tokens| tokens.to_str().unwrap().parse().unwrap())
    });
    let service = layer.layer(client.clone());
    let start = Instant::now();
    for _ in 0..10 {
        let _ = service.clone().oneshot(get(URL)).await.unwrap();
    }
    assert!(start.elapsed().is_zero());
    let refusal = service.clone().oneshot(with(get(URL), NoQueue)).await;
    assert_eq!(refused(refusal).unwrap().cause(), PacingCause::NoQueue);
    let mut costly = get(URL);
    costly.headers_mut().insert("x-tokens", "60".parse().unwrap());
    let _ = service.clone().oneshot(costly).await.unwrap();
    // What the request says itself wins.
    let mut costly = with(get(URL), Cost(40));
    costly.headers_mut().insert("x-tokens", "60".parse().unwrap());
    let _ = service.clone().oneshot(costly).await.unwrap();
    assert!((SECOND..1010 * crate::common::MS).contains(&start.elapsed()), "{:?}", start.elapsed());
    let error = service.oneshot(with(get(URL), Cost(101))).await;
    let refusal = refused(error).unwrap();
    assert_eq!((refusal.cause(), refusal.retry_in()), (PacingCause::Cost, None));
    assert_eq!(client.sent(), 12);
}

#[tokio::test(start_paused = true)]
async fn partitions_have_limits_for_themselves_within_those_of_the_family() {
    let each = Pacing::new().at_most(1, 10 * SECOND);
    let family = Family::new("vendor")
        .host("vendor.test")
        .partition_by_header("authorization")
        .pacing(Pacing::new().at_most(3, 60 * SECOND).per_partition(each));
    let families = Families::builder().family(family).build().unwrap();
    let client = Client::new([answer(200)]);
    let service = gated(&families, client.clone());
    let by = |key: &str| {
        let mut request = get(URL);
        request.headers_mut().insert("authorization", key.parse().unwrap());
        with(request, NoQueue)
    };
    let start = Instant::now();
    for key in ["a", "b"] {
        assert_eq!(service.clone().oneshot(by(key)).await.unwrap().status(), 200);
        let refusal = refused(service.clone().oneshot(by(key)).await).unwrap();
        assert_eq!(refusal.cause(), PacingCause::NoQueue);
        assert!((10 * SECOND..11 * SECOND).contains(&refusal.retry_in().unwrap()));
    }
    // The extension wins over the header.
    let stated = with(by("a"), Partition::of("c"));
    assert_eq!(service.clone().oneshot(stated).await.unwrap().status(), 200);
    // The family's own is used up, also for one that has no partition; what its own let go is given back.
    for _ in 0..2 {
        let refusal = refused(service.clone().oneshot(by("d")).await).unwrap();
        assert!(refusal.retry_in().unwrap() >= 60 * SECOND, "{refusal:?}");
    }
    let refusal = refused(service.clone().oneshot(with(get(URL), NoQueue)).await).unwrap();
    assert!(refusal.retry_in().unwrap() >= 60 * SECOND);
    assert_eq!((start.elapsed().is_zero(), client.sent()), (true, 3));
}

/// The network is the same for all of them.
#[tokio::test(start_paused = true)]
async fn the_margin_of_the_family_is_that_of_its_partitions_too() {
    let paced_by = |each| {
        let pacing = Pacing::new().in_flight(9).margin(30 * MS).per_partition(each);
        Family::new("vendor").host("vendor.test").pacing(pacing)
    };
    let each = Pacing::new().at_most(1, SECOND);
    let families = Families::builder().family(paced_by(each.clone())).build().unwrap();
    let service = gated(&families, Client::new([answer(200)]));
    let next_in = async |key: &str| {
        let ask = || service.clone().oneshot(with(with(get(URL), Partition::of(key)), NoQueue));
        assert_eq!(ask().await.unwrap().status(), 200);
        refused(ask().await).unwrap().retry_in().unwrap()
    };
    assert!((1030 * MS..1040 * MS).contains(&next_in("a").await));
    // The larger of the two, also for partitions that exist.
    families.replace(paced_by(each.margin(50 * MS))).unwrap();
    tokio::time::sleep(2 * SECOND).await;
    assert!((1050 * MS..1060 * MS).contains(&next_in("a").await));
    assert!((1050 * MS..1060 * MS).contains(&next_in("b").await));
}

/// One that its partition let go waits for its family, and is counted in its partition when it goes.
#[tokio::test(start_paused = true)]
async fn what_waits_for_its_family_counts_in_its_partition_when_it_goes() {
    let each = Pacing::new().gap(3 * SECOND);
    let family =
        Family::new("vendor").host("vendor.test").pacing(Pacing::new().gap(2 * SECOND).per_partition(each));
    let families = Families::builder().family(family).build().unwrap();
    let client = Client::new([answer(200)]);
    let service = gated(&families, client.clone());
    let keys = ["a", "b", "b"];
    let start = Instant::now();
    let sends = keys.map(|key| {
        let service = service.clone();
        async move {
            let _ = service.oneshot(with(get(URL), Partition::of(key))).await.unwrap();
            start.elapsed()
        }
    });
    assert_eq!(crowd::all(sends).await, [Duration::ZERO, SECOND * 2, SECOND * 5]);
    assert_eq!(paced(&families).queued, 0);
    let _ = service;
}

#[tokio::test(start_paused = true)]
async fn pacing_without_a_gate_below_paces() {
    let (families, client) = (families(Pacing::new().gap(SECOND)), Client::new([answer(200)]));
    let service = service(&families, client.clone());
    let _ = crowd::all((0..3).map(|_| service.clone().oneshot(get(URL)))).await;
    assert_eq!(client.gaps(), [SECOND, SECOND]);
}
