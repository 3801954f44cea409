//! Vendors that lie, and services that lose what they are given.

use std::time::Duration;

use forbear::Sweep;
use forbear_mock::{MockVendor, reply};
use tokio::time::Instant;
use tower::ServiceBuilder;

use crate::{World, counts, items, secs};

/// kubescape/kubevuln#754: a Retry-After of nothing was honoured to the letter, 25,000 times in two seconds.
#[tokio::test(start_paused = true)]
async fn a_retry_after_of_nothing_or_of_the_past_is_no_hot_loop() {
    for text in ["0", "-1", "Sun, 06 Nov 1994 08:49:37 GMT", "soon"] {
        let world = World::new(move |_| reply(429).retry_after_text(text));
        let start = Instant::now();
        let report = world.sweep().budget(secs(30)).run(items('a', 1..=50), world.get()).await;
        assert_eq!(counts(&report), (0, 50, 0), "{text}: {report}");
        assert!(start.elapsed() <= secs(30), "{text}: {:?}", start.elapsed());
        let sent = world.mock.attempts().len();
        assert!(sent <= 16, "{text}: {sent} attempts");
    }
}

/// The same at a vendor whose family nobody knows, since no gate stands below.
#[tokio::test(start_paused = true)]
async fn without_a_gate_a_retry_after_of_nothing_is_no_hot_loop_either() {
    let mock = MockVendor::in_process().script(reply(429).retry_after(0));
    let get = |path: &&str| http::Request::get(mock.url(path)).body(crate::Body::new());
    let report = Sweep::new(mock.service()).budget(secs(10)).run(["/1"], get).await;
    assert_eq!(counts(&report), (0, 1, 0), "{report}");
    assert!(mock.attempts().len() <= 7, "{}", mock.attempts().len());
}

/// A middleware that makes requests anew loses what forbear put into them: turns are lost, and time passes all the same.
#[tokio::test(start_paused = true)]
async fn a_service_that_drops_extensions_is_asked_ever_more_seldom() {
    let mut count = 0;
    let world = World::new(move |_| {
        count += 1;
        if count == 1 { reply(429).retry_after(5) } else { reply(200).delay(secs(2)) }
    });
    let careless = ServiceBuilder::new()
        .map_request(|request: http::Request<crate::Body>| {
            let (mut head, body) = request.into_parts();
            head.extensions = http::Extensions::new();
            head.extensions.insert(forbear::NoWait);
            http::Request::from_parts(head, body)
        })
        .service(world.vendor());
    let start = Instant::now();
    let report = Sweep::new(careless).budget(secs(60)).run(items('a', 1..=4), world.get()).await;
    assert!(start.elapsed() <= secs(60));
    let (done, deferred, failed) = counts(&report);
    assert_eq!((done + deferred, failed), (4, 0), "{report}");
    assert!(world.families.health().family("a").unwrap().refusals < 200, "{report}");
}

/// A vendor that says 429 to everything for ever: the sweep ends with its budget, and each item is told of.
#[tokio::test(start_paused = true)]
async fn a_vendor_that_never_gets_well_costs_the_budget_and_few_attempts() {
    let world = World::new(|_| reply(429).retry_after(1));
    let start = Instant::now();
    let report = world.sweep().budget(secs(300)).run(items('a', 1..=1000), world.get()).await;
    assert_eq!((counts(&report), report.is_complete()), ((0, 1000, 0), true), "{report}");
    assert!(start.elapsed() <= secs(300));
    // At level four and above an advertised second is four, and never below eight.
    assert!(world.mock.attempts().len() <= 60, "{}", world.mock.attempts().len());
}

/// An enormous delay is neither an overflow nor a wait.
#[tokio::test(start_paused = true)]
async fn an_enormous_delay_is_reported_and_not_waited_for() {
    for text in ["9999999999", "99999999999999999999", "18446744073709551615"] {
        let world = World::new(move |_| reply(429).retry_after_text(text));
        for budget in [Some(Duration::MAX), Some(secs(10)), None] {
            let sweep = world.sweep();
            let sweep = match budget {
                Some(budget) => sweep.budget(budget),
                None => sweep,
            };
            if budget == Some(Duration::MAX) {
                // It fits, so it is waited for: nobody sits through that here.
                let run = sweep.run(items('a', 1..=1), world.get());
                assert!(tokio::time::timeout(secs(3600), run).await.is_err());
                continue;
            }
            let start = Instant::now();
            let report = sweep.run(items('a', 1..=3), world.get()).await;
            assert_eq!((counts(&report), start.elapsed().as_millis()), ((0, 3, 0), 0), "{text}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_closure_is_called_once_for_each_time_that_its_item_comes_up() {
    let world = World::new(crate::refuses(&[1], 5));
    let get = world.get();
    let mut calls = std::collections::BTreeMap::<String, u32>::new();
    let counting = |path: &String| {
        *calls.entry(path.clone()).or_default() += 1;
        get(path)
    };
    let report = world.sweep().concurrency(1).budget(secs(60)).run(items('a', 1..=5), counting).await;
    assert_eq!(counts(&report), (5, 0, 0), "{report}");
    assert!(calls.values().all(|calls| *calls == 2), "{calls:?}");
}
