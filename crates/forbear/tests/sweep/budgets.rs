//! How long a sweep takes, whatever its vendor says.

use forbear::{BudgetLayer, Error, Families};
use forbear_mock::{MockVendor, reply};
use tokio::time::Instant;
use tower::{ServiceBuilder, ServiceExt, service_fn};

use crate::{World, counts, items, refuses, secs};

#[tokio::test(start_paused = true)]
async fn a_budget_of_nothing_sends_nothing_and_reports_every_item() {
    let world = World::new(|_| reply(200));
    let report = world.sweep().budget(secs(0)).run(items('a', 1..=40), world.get()).await;
    assert_eq!((counts(&report), report.is_complete()), ((0, 40, 0), true), "{report}");
    let late = &report.deferred()[0];
    assert_eq!((late.reason().as_str(), late.until(), late.family()), ("deadline", None, None));
    world.mock.assert_attempts(0);
}

#[tokio::test(start_paused = true)]
async fn what_was_not_sent_when_the_budget_ends_is_deferred() {
    let world = World::new(|_| reply(200).delay(secs(3)));
    let start = Instant::now();
    let report = world.sweep().concurrency(2).budget(secs(10)).run(items('a', 1..=40), world.get()).await;
    assert_eq!(start.elapsed(), secs(10));
    // Three rounds of two; the fourth was on its way.
    assert_eq!((counts(&report), report.is_complete()), ((6, 32, 2), true), "{report}");
    for failed in report.failed() {
        assert!(
            matches!(&failed.error, Error::BudgetExhausted(spent) if spent.attempts() == 1),
            "{failed:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_on_its_way_may_end_within_the_grace() {
    let world = World::new(|_| reply(200).delay(secs(3)));
    let start = Instant::now();
    let sweep = world.sweep().concurrency(2).budget(secs(4)).grace(secs(5));
    // Without a budget in the stack: that one has no grace, and ends them itself.
    let bare = ServiceBuilder::new().service(world.mock.service());
    let report = forbear::Sweep::new(bare)
        .concurrency(2)
        .budget(secs(4))
        .grace(secs(5))
        .run(items('a', 1..=6), world.get())
        .await;
    assert_eq!((counts(&report), start.elapsed()), ((4, 2, 0), secs(6)), "{report}");
    let report = sweep.run(items('a', 1..=6), world.get()).await;
    assert_eq!(counts(&report), (2, 2, 2), "{report}");
}

#[tokio::test(start_paused = true)]
async fn the_earliest_of_all_budgets_around_it_wins() {
    let world = World::new(refuses(&[2], 30));
    let (sweep, get) = (world.sweep().concurrency(1).budget(secs(60)), world.get());
    let inbound = BudgetLayer::new(secs(10));
    let handler = service_fn(move |_: http::Request<()>| {
        let (sweep, get) = (sweep.clone(), get.clone());
        async move {
            let report = sweep.run(items('a', 1..=3), get).await;
            Ok::<_, std::convert::Infallible>(http::Response::new(counts(&report)))
        }
    });
    let start = Instant::now();
    let answer = ServiceBuilder::new().layer(inbound).service(handler).oneshot(http::Request::new(())).await;
    assert_eq!((answer.unwrap().into_body(), start.elapsed().as_millis()), ((1, 2, 0), 0));
}

/// A task that was spawned is outside of the budget it was spawned in, and the sweep takes that along.
#[tokio::test(start_paused = true)]
async fn a_stream_keeps_the_budget_in_which_it_was_made() {
    let world = World::new(refuses(&[2], 30));
    let (sweep, get) = (world.sweep().concurrency(1), world.get());
    let handler = service_fn(move |_: http::Request<()>| {
        let mut outcomes = sweep.stream(items('a', 1..=3), get.clone());
        async move {
            let polled = tokio::spawn(async move {
                let mut done = 0;
                while let Some(outcome) = outcomes.next().await {
                    done += usize::from(matches!(outcome, forbear::sweep::Outcome::Done(_)));
                }
                done
            });
            Ok::<_, std::convert::Infallible>(http::Response::new(polled.await.unwrap()))
        }
    });
    let answer = BudgetLayer::new(secs(10));
    let answer = ServiceBuilder::new().layer(answer).service(handler).oneshot(http::Request::new(())).await;
    assert_eq!(answer.unwrap().into_body(), 1);
}

#[tokio::test(start_paused = true)]
async fn without_any_budget_an_item_waits_a_minute_at_most() {
    for (seconds, waits) in [(50, true), (70, false)] {
        let world = World::new(match seconds {
            50 => refuses(&[1], 50),
            _ => refuses(&[1], 70),
        });
        let start = Instant::now();
        let report = world.sweep().run(items('a', 1..=2), world.get()).await;
        let expected = if waits { (2, 0, 0) } else { (0, 2, 0) };
        assert_eq!(counts(&report), expected, "{report}");
        assert_eq!(start.elapsed() >= secs(50), waits, "{:?}", start.elapsed());
    }
}

/// The minute of those that stand behind others is the same one.
#[tokio::test(start_paused = true)]
async fn without_any_budget_those_behind_wait_no_minute_of_their_own() {
    let world = World::new(|_| reply(429).retry_after(25));
    let start = Instant::now();
    let report = world.sweep().concurrency(1).run(items('a', 1..=10), world.get()).await;
    assert_eq!(counts(&report), (0, 10, 0), "{report}");
    assert!(start.elapsed() <= secs(61), "{:?}", start.elapsed());
}

/// The budget that a stack has is for one send, and a sweep's waits are none of it.
#[tokio::test(start_paused = true)]
async fn the_stacks_own_budget_bounds_one_send_and_no_wait() {
    let world = World::new(refuses(&[1], 20));
    let vendor = forbear::stack(&world.families).budget(secs(5)).service(world.mock.service());
    let report = forbear::Sweep::new(vendor).budget(secs(60)).run(items('a', 1..=4), world.get()).await;
    assert_eq!(counts(&report), (4, 0, 0), "{report}");
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_never_ready_ends_with_the_budget_and_nothing_was_sent() {
    let mock = MockVendor::in_process().script(reply(200));
    let families = Families::builder().build().unwrap();
    let never = ServiceBuilder::new().concurrency_limit(1).service(mock.service());
    // Somebody holds the only permit.
    let mut held = never.clone();
    let _ = ServiceExt::<http::Request<forbear::Replay<crate::Body>>>::ready(&mut held).await.unwrap();
    let vendor = forbear::stack(&families).service(never);
    let get = |path: &&str| http::Request::get(mock.url(path)).body(crate::Body::new());
    let start = Instant::now();
    let report = forbear::Sweep::new(vendor).budget(secs(5)).run(["/1", "/2"], get).await;
    assert_eq!((counts(&report), start.elapsed()), ((0, 2, 0), secs(5)), "{report}");
    assert!(report.deferred().iter().all(|late| !late.was_sent()), "{report}");
    mock.assert_attempts(0);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_be_made_fails_and_the_others_go_on() {
    let world = World::new(|_| reply(200));
    let wrong = |path: &&str| http::Request::get(*path).body(crate::Body::new());
    let mut outcomes = world.sweep().stream(["http://[/"], wrong);
    let failed = crate::failed(outcomes.next().await).unwrap();
    let Error::Client(source) = &failed.error else { panic!("{failed:?}") };
    assert!(source.is::<forbear::sweep::NoRequest>(), "{source:?}");
    assert!(outcomes.next().await.is_none() && outcomes.next().await.is_none());
}
