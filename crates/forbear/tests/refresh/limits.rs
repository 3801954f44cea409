use std::time::Duration;

use forbear::Operator;
use forbear::refresh::work::Phase;
use forbear_mock::{Limiter, MockVendor, reply};

use crate::support::*;

/// `taskforcesh/bullmq#1571`: a job that was throttled used up its attempts.
#[tokio::test(start_paused = true)]
async fn case_20_a_key_that_is_limited_ten_times_costs_no_attempt() {
    let world =
        World::new(MockVendor::in_process().script([reply(429).retry_after(1).times(10), reply(200)]));
    let refresh = world.refresh(quotes().max_attempts(2));
    refresh.demand("quotes", ["AAPL"]).await.unwrap();
    let running = run(&refresh);
    until(|| world.mock.attempts().len() == 10).await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    let row = world.row("AAPL").await.unwrap();
    assert_eq!((row.attempts, row.deferrals), (0, 10));
    until(|| world.shelf.len() == 1).await;
    assert_eq!(world.mock.attempts().len(), 11);
    world.mock.assert_gap_at_least(SECOND);
    running.stop().await;
}

/// `ixti/sidekiq-throttled#188`, `sidekiq/sidekiq#5315`: throttled jobs at the head blocked all others.
#[tokio::test(start_paused = true)]
async fn case_64_ten_thousand_keys_of_a_cooling_family_are_in_nobodys_way() {
    let (families, shelf, store) = (families(&["a", "b"]), Shelf::new(), TestStore::new());
    let mock = MockVendor::in_process().script(reply(200));
    let source = |name: &str| shelved(forbear::Source::new(name).family(name).every(100 * HOUR), &shelf);
    let refresh = forbear::Refresh::builder(vendor(&families, &mock), std::sync::Arc::clone(&store))
        .source(source("a"))
        .source(source("b"))
        .build()
        .unwrap();
    families.cool("a", HOUR, Operator::new("test", "case 64")).unwrap();
    let all: Vec<_> = numbered(10_000).into_iter().map(|n| format!("a{n}")).collect();
    refresh.demand("a", &all).await.unwrap();
    let running = run(&refresh);
    tokio::time::sleep(MINUTE).await;
    let claims = store.claims();
    assert_eq!(claims, 0, "what cools is not claimed");

    let start = tokio::time::Instant::now();
    refresh.demand("b", numbered(10)).await.unwrap();
    until(|| shelf.len() == 10).await;
    let took = start.elapsed();
    println!("ten keys took {took:?} beside 10,000 that cool");
    assert!(took <= SECOND, "{took:?}");
    assert!(shelf.counts().keys().all(|key| !key.starts_with('a')));

    // No flood when it opens: the probe, the recovery, then the drain of 1 in 100 ms.
    tokio::time::sleep(HOUR).await;
    until(|| shelf.len() == 10_010).await;
    mock.attempts().assert_rate_at_most(11, SECOND);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn one_429_stops_the_family_and_its_keys_keep_their_places() {
    let world = World::new(MockVendor::in_process().script([
        reply(200).times(3),
        reply(429).retry_after(300),
        reply(200),
    ]));
    let refresh = world.refresh(quotes());
    refresh.demand("quotes", numbered(20)).await.unwrap();
    let running = run(&refresh);
    until(|| world.mock.attempts().len() == 4).await;
    tokio::time::sleep(SECOND).await;
    let calls = world.store.calls();
    tokio::time::sleep(290 * SECOND).await;
    assert_eq!(world.store.calls(), calls, "nobody asks the store while the family cools");
    assert_eq!(world.mock.attempts().len(), 4);
    let row = world.row("00010").await.unwrap();
    assert_eq!((row.deferrals, row.attempts), (0, 0), "skipped keys are not counted");
    until(|| world.shelf.len() == 20).await;
    // The refused one comes first.
    let order: Vec<_> = world.shelf.times().into_iter().map(|(key, _)| key).collect();
    assert_eq!(order[..5], ["00000", "00001", "00002", "00003", "00004"]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_vendor_with_a_limit_is_drained_within_its_drain() {
    let limiter = Limiter::sliding_window(20, SECOND).refusal_with(|wait| reply(429).retry_after_wait(wait));
    let world = World::new(MockVendor::in_process().script(reply(200)).limit(limiter));
    let refresh = world.refresh(quotes());
    refresh.demand("quotes", numbered(500)).await.unwrap();
    let running = run(&refresh);
    until(|| world.shelf.len() == 500).await;
    assert_eq!(world.mock.attempts().refused().len(), 0);
    world.mock.attempts().assert_rate_at_most(11, SECOND);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_paused_family_is_left_alone_until_it_is_resumed() {
    let world = World::new(MockVendor::in_process().script(reply(200)));
    let refresh = world.refresh(quotes());
    let by = || Operator::new("test", "look");
    world.families.pause("quotes", by()).unwrap();
    refresh.demand("quotes", ["A"]).await.unwrap();
    let running = run(&refresh);
    tokio::time::sleep(30 * HOUR).await;
    assert_eq!((world.store.claims(), world.mock.attempts().len()), (0, 0));
    world.families.resume("quotes", by()).unwrap();
    tokio::time::sleep(SECOND).await;
    assert_eq!(world.shelf.len(), 1);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_clear_is_heard_at_once() {
    let world = World::new(MockVendor::in_process().script(reply(200)));
    let refresh = world.refresh(quotes());
    world.families.cool("quotes", 10 * HOUR, Operator::new("test", "look")).unwrap();
    refresh.demand("quotes", ["A"]).await.unwrap();
    let running = run(&refresh);
    tokio::time::sleep(HOUR).await;
    assert_eq!(world.shelf.len(), 0);
    world.families.clear("quotes", Operator::new("test", "go on")).unwrap();
    tokio::time::sleep(SECOND).await;
    assert_eq!(world.shelf.len(), 1);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_limited_for_a_day_has_stalled_until_somebody_wants_it_anew() {
    let world = World::new(MockVendor::in_process().script(reply(429).retry_after(3600)));
    let refresh = world.refresh(quotes());
    refresh.demand("quotes", ["A"]).await.unwrap();
    let running = run(&refresh);
    tokio::time::sleep(30 * HOUR).await;
    let row = world.row("A").await.unwrap();
    assert_eq!((row.phase, row.attempts), (Phase::Stalled, 0));
    assert!(row.error.unwrap().as_str().contains("429"));
    let attempts = world.mock.attempts().len();
    tokio::time::sleep(100 * HOUR).await;
    assert_eq!(world.mock.attempts().len(), attempts);
    world.mock.set_script(reply(200));
    refresh.demand("quotes", ["A"]).await.unwrap();
    until(|| world.shelf.len() == 1).await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn in_shadow_mode_nothing_is_skipped_and_a_429_costs_no_attempt() {
    let world =
        World::new(MockVendor::in_process().script([reply(429).retry_after(300).times(3), reply(200)]));
    world.families.shadow(true);
    let refresh = world.refresh(quotes().max_attempts(1));
    refresh.demand("quotes", ["A"]).await.unwrap();
    let running = run(&refresh);
    until(|| world.shelf.len() == 1).await;
    assert!(world.shelf.times()[0].1 < MINUTE);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_of_pacing_that_comes_too_late_costs_no_attempt_and_no_place() {
    let pacing = forbear::Pacing::new().at_most(2, 10 * MINUTE);
    let family = forbear::Family::new("quotes").host("quotes.test").pacing(pacing);
    let families = forbear::Families::builder().family(family).build().unwrap();
    let mock = MockVendor::in_process().script(reply(200));
    let world = World { families, ..World::new(mock) };
    let refresh = world.refresh(quotes().every(10 * HOUR).max_attempts(1));
    refresh.demand("quotes", numbered(7)).await.unwrap();
    let running = run(&refresh);
    until(|| world.shelf.len() == 7).await;
    let order: Vec<_> = world.shelf.times().into_iter().map(|(key, _)| key).collect();
    assert_eq!(order, numbered(7));
    world.mock.attempts().assert_rate_at_most(2, 10 * MINUTE);
    let claims = world.store.claims();
    assert!(claims < 30, "{claims} claims");
    running.stop().await;
}

/// Refused for want of a place in the recovery, a family was left alone for a second each time: a quarter of what its
/// vendor takes was served.
#[tokio::test(start_paused = true)]
async fn a_recovering_family_is_called_as_fast_as_it_recovers() {
    let limiter = Limiter::sliding_window(50, 10 * SECOND);
    let limiter = limiter.refusal_with(|wait| reply(429).retry_after_wait(wait));
    let slow = reply(200).delay(Duration::from_millis(30));
    let world = World::new(MockVendor::in_process().script(slow).limit(limiter));
    let refresh = world.refresh(quotes());
    refresh.demand("quotes", numbered(500)).await.unwrap();
    let running = run(&refresh);
    until(|| world.shelf.len() == 500).await;
    let took = world.shelf.times().last().unwrap().1;
    println!("500 keys in {took:?} of virtual time, where the vendor takes 50 in 10 s");
    assert!(took < 130 * SECOND, "{took:?}");
    world.mock.attempts().refused().assert_rate_at_most(1, 10 * SECOND);
    running.stop().await;
}

/// Delays that no vendor can mean: none of them is a hot loop, and none ends the refresh of a key.
#[tokio::test(start_paused = true)]
async fn a_vendor_that_lies_about_its_delay_is_asked_again_within_a_day_and_a_little() {
    for delay in ["0", "-5", "Thu, 01 Jan 1970 00:00:00 GMT", "315360000", "99999999999999999999", "soon"] {
        let lies = reply(429).header("retry-after", delay).times(5);
        let world = World::new(MockVendor::in_process().script([lies, reply(200)]));
        let refresh = world.refresh(quotes().every(1_000 * HOUR).max_attempts(1).stall(1_000 * HOUR));
        refresh.demand("quotes", ["A"]).await.unwrap();
        let running = run(&refresh);
        tokio::time::sleep(SECOND).await;
        assert!(world.mock.attempts().len() <= 3, "{delay}: {}", world.mock.attempts().len());
        tokio::time::sleep(6 * 26 * HOUR).await;
        assert_eq!((world.shelf.len(), world.mock.attempts().len()), (1, 6), "{delay}");
        running.stop().await;
    }
}
