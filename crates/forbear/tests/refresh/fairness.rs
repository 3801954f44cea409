use std::time::Duration;

use forbear::{Refresh, Source};
use forbear_mock::{MockVendor, reply};

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn ten_thousand_keys_are_done_once_each_and_never_more_at_once_than_allowed() {
    let world = World::new(MockVendor::in_process().script(reply(200).delay(Duration::from_millis(30))));
    let source = shelved(quotes().drain(1_000), &world.shelf);
    let refresh = world.builder().in_flight(32).source(source).build().unwrap();
    refresh.demand("quotes", numbered(10_000)).await.unwrap();
    let running = run(&refresh);
    until(|| world.shelf.len() == 10_000).await;
    assert!(world.shelf.counts().values().all(|count| *count == 1));
    // 32 in 30 ms.
    world.mock.attempts().assert_rate_at_most(32, Duration::from_millis(29));
    let took = world.shelf.times().last().unwrap().1;
    println!("10,000 keys in {took:?} of virtual time");
    assert!(took < 15 * SECOND, "{took:?}");
    running.stop().await;
}

/// Of families that all want more than there is room for, each gets its share.
#[tokio::test(start_paused = true)]
async fn families_are_served_by_their_weight() {
    let (families, shelf) = (families(&["a", "b", "c"]), Shelf::new());
    let mock = MockVendor::in_process().script(reply(200).delay(Duration::from_millis(100)));
    let source = |name: &str| {
        let (source, shelf) = (Source::new(name).family(name).drain(100), shelf.clone());
        let name = name.to_owned();
        source.fetch(request).store(move |_, _| {
            shelf.put(&forbear::refresh::work::Key::new(&name).unwrap());
            async { Ok::<_, std::io::Error>(()) }
        })
    };
    let refresh = Refresh::builder(vendor(&families, &mock), TestStore::new())
        .in_flight(4)
        .weight("a", 3)
        .source(source("a"))
        .source(source("b"))
        .source(source("c"))
        .build()
        .unwrap();
    for name in ["a", "b", "c"] {
        refresh.demand(name, numbered(1_000)).await.unwrap();
    }
    let running = run(&refresh);
    until(|| shelf.len() >= 1_000).await;
    let (a, b, c) = (shelf.of("a"), shelf.of("b"), shelf.of("c"));
    println!("a {a}, b {b}, c {c}");
    // At most half of the room, though its weight is more than half of all.
    assert!((480..=520).contains(&a) && (240..=260).contains(&b) && (240..=260).contains(&c), "{a} {b} {c}");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn sources_of_a_family_share_its_drain_by_priority_and_none_starves() {
    let (families, shelf) = (families(&["a"]), Shelf::new());
    let mock = MockVendor::in_process().script(reply(200));
    let source = |name: &str, share| {
        let (source, shelf) = (Source::new(name).family("a").priority(share), shelf.clone());
        let name = name.to_owned();
        source.fetch(request).store(move |_, _| {
            shelf.put(&forbear::refresh::work::Key::new(&name).unwrap());
            async { Ok::<_, std::io::Error>(()) }
        })
    };
    let refresh = Refresh::builder(vendor(&families, &mock), TestStore::new())
        .source(source("prices", 3))
        .source(source("news", 1))
        .build()
        .unwrap();
    for name in ["prices", "news"] {
        refresh.demand(name, numbered(1_000)).await.unwrap();
    }
    let running = run(&refresh);
    until(|| shelf.len() >= 400).await;
    assert!((298..=302).contains(&shelf.of("prices")), "{:?}", shelf.counts());
    mock.attempts().assert_rate_at_most(11, SECOND);
    running.stop().await;
}

/// A vendor that hangs holds half of the room, not all of it.
#[tokio::test(start_paused = true)]
async fn a_family_that_hangs_is_in_nobodys_way() {
    let (families, shelf) = (families(&["a", "b"]), Shelf::new());
    let mock = MockVendor::in_process().script(reply(200).delay(HOUR));
    let quick = MockVendor::in_process().script(reply(200));
    let stack = forbear::stack(&families);
    let (slow, quick) = (stack.service(mock.service()), stack.service(quick.service()));
    let both = tower::service_fn(move |request: http::Request<Body>| {
        let vendor = if request.uri().path().starts_with("/a") { slow.clone() } else { quick.clone() };
        async move { vendor.send(request).await }
    });
    let source = |name: &str| shelved(Source::new(name).family(name).drain(100), &shelf);
    let refresh = Refresh::over(&families, both, TestStore::new())
        .source(source("a"))
        .source(source("b"))
        .build()
        .unwrap();
    let all: Vec<_> = numbered(100).into_iter().map(|n| format!("a{n}")).collect();
    refresh.demand("a", all).await.unwrap();
    let running = run(&refresh);
    tokio::time::sleep(SECOND).await;
    refresh.demand("b", numbered(100)).await.unwrap();
    let start = tokio::time::Instant::now();
    until(|| shelf.len() == 100).await;
    assert!(start.elapsed() < SECOND, "{:?}", start.elapsed());
    running.stop().await;
}
