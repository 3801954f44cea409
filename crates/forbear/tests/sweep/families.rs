//! Where the families of the items stand.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use forbear::{Families, Family, Operator, Partition, Unknown};
use forbear_mock::{MockVendor, reply};
use tokio::time::{Instant, sleep};
use tower::{Service, ServiceBuilder};

use crate::{Body, World, counts, deferred, items, refuses, secs};

fn alice() -> Operator {
    Operator::new("alice", "contract ended")
}

#[tokio::test(start_paused = true)]
async fn items_of_a_paused_family_are_deferred_at_once_and_others_go_on() {
    let world = World::new(|_| reply(200));
    world.families.pause("a", alice()).unwrap();
    let start = Instant::now();
    let both = items('a', 1..=10).chain(items('b', 1..=10));
    let report = world.sweep().budget(secs(60)).run(both, world.get()).await;
    assert_eq!((counts(&report), start.elapsed().as_millis()), ((10, 10, 0), 0), "{report}");
    assert_eq!(report.deferred()[3].reason().as_str(), "paused");
    assert_eq!((report.retry_in(), world.sent_of('a')), (None, 0));
}

#[tokio::test(start_paused = true)]
async fn a_pause_ends_the_wait_of_what_is_held_back() {
    let world = World::new(refuses(&[1], 30));
    let (families, start) = (world.families.clone(), Instant::now());
    tokio::spawn(async move {
        sleep(secs(5)).await;
        families.pause("a", alice()).unwrap();
    });
    let report = world.sweep().budget(secs(60)).run(items('a', 1..=10), world.get()).await;
    assert_eq!((counts(&report), start.elapsed()), ((0, 10, 0), secs(5)), "{report}");
    assert!(report.deferred().iter().all(|late| late.reason().as_str() == "paused"), "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn what_an_operator_clears_goes_at_once() {
    let world = World::new(refuses(&[1], 30));
    let (families, start) = (world.families.clone(), Instant::now());
    tokio::spawn(async move {
        sleep(secs(5)).await;
        families.clear("a", alice()).unwrap();
    });
    let report = world.sweep().budget(secs(60)).run(items('a', 2..=10), world.get()).await;
    assert_eq!(counts(&report), (9, 0, 0), "{report}");
    // The one that was limited too: what its vendor told it is forgotten with the rest.
    assert!(start.elapsed() < secs(6), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_defers_what_is_held_back_and_lets_the_rest_go() {
    let world = World::new(refuses(&[1], 30));
    let (families, start) = (world.families.clone(), Instant::now());
    tokio::spawn(async move {
        sleep(secs(5)).await;
        families.shutdown();
    });
    let both = items('a', 1..=10).chain(items('b', 1..=3));
    let report = world.sweep().budget(secs(60)).run(both, world.get()).await;
    assert_eq!((counts(&report), start.elapsed()), ((3, 10, 0), secs(5)), "{report}");
    assert!(report.deferred().iter().all(|late| late.reason().as_str() == "shutting-down"), "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn in_shadow_mode_nothing_is_held_back_and_limited_answers_are_answers() {
    let world = World::new(refuses(&[2], 30));
    world.families.shadow(true);
    let start = Instant::now();
    let report = world.sweep().concurrency(1).budget(secs(60)).run(items('a', 1..=10), world.get()).await;
    assert_eq!((counts(&report), start.elapsed().as_millis()), ((10, 0, 0), 0), "{report}");
    assert_eq!(report.done().iter().filter(|done| done.response.status() == 429).count(), 1);
    world.mock.assert_attempts(10);
}

/// A vendor that wants to be paid.
fn pays() -> forbear::Dialect {
    let rules = "name = \"pays\"\n[[rule]]\nstatus = [402]\nclass = \"exhausted\"\n";
    forbear::Dialect::from_toml(rules).unwrap()
}

/// A quota that will not come back soon is never waited for, even where its end would fit.
#[tokio::test(start_paused = true)]
async fn what_is_exhausted_is_never_waited_for() {
    let world = World::with(
        |family| family.dialect(pays()),
        |attempt| if attempt.path() == "/a/3" { reply(402).retry_after(5) } else { reply(200) },
    );
    let start = Instant::now();
    let both = items('a', 1..=10).chain(items('b', 1..=2));
    let report = world.sweep().concurrency(1).budget(secs(6000)).run(both, world.get()).await;
    assert_eq!((counts(&report), start.elapsed().as_millis()), ((4, 8, 0), 0), "{report}");
    assert_eq!((report.retry_in(), world.sent_of('a')), (Some(secs(5)), 3));
}

/// Nor is what was held back for its family already.
#[tokio::test(start_paused = true)]
async fn what_is_held_back_is_given_up_when_its_family_is_exhausted() {
    let mut count = 0;
    let world = World::with(
        |family| family.dialect(pays()),
        move |_| {
            count += 1;
            if count == 1 { reply(429).retry_after(5) } else { reply(402) }
        },
    );
    let start = Instant::now();
    let report = world.sweep().budget(secs(60_000)).run(items('a', 1..=10), world.get()).await;
    assert_eq!(counts(&report), (0, 10, 0), "{report}");
    assert!(start.elapsed() < secs(7), "{:?}", start.elapsed());
    assert_eq!(world.sent_of('a'), 2);
}

#[tokio::test(start_paused = true)]
async fn a_part_that_cools_holds_back_its_own_items_alone() {
    let mock = MockVendor::in_process().script(forbear_mock::respond_with(|attempt| {
        let first = attempt.since() < secs(1) && attempt.path().starts_with("/one");
        if first { reply(429).retry_after(10) } else { reply(200) }
    }));
    let family = Family::new("mail").host(mock.authority()).per_partition();
    let families = Families::builder().family(family).build().unwrap();
    let vendor = forbear::stack(&families).service(mock.service());
    let get = |path: &&str| {
        let mut request = http::Request::get(mock.url(path)).body(Body::new()).unwrap();
        request.extensions_mut().insert(Partition::of(path.split('/').nth(1).unwrap()));
        request
    };
    let paths = ["/one/1", "/one/2", "/two/1", "/one/3", "/two/2"];
    let mut outcomes = forbear::Sweep::new(vendor).concurrency(1).budget(secs(60)).stream(paths, get);
    let start = Instant::now();
    for path in ["/two/1", "/two/2"] {
        assert_eq!(outcomes.next().await.unwrap().item(), &path);
    }
    assert_eq!((start.elapsed().as_millis(), mock.attempts().len(), outcomes.progress().held), (0, 3, 3));
    for path in ["/one/1", "/one/2", "/one/3"] {
        assert_eq!(outcomes.next().await.unwrap().item(), &path);
    }
    assert!(start.elapsed() >= secs(10));
}

#[tokio::test(start_paused = true)]
async fn what_no_family_has_fails_where_that_is_the_policy() {
    let mock = MockVendor::in_process().script(reply(200));
    let known = Family::new("known").host(mock.authority());
    let families = Families::builder().family(known).unknown(Unknown::Refuse).build().unwrap();
    let vendor = forbear::stack(&families).service(mock.service());
    let get = |url: &String| http::Request::get(url).body(Body::new());
    let urls = [mock.url("/1"), "http://stranger.test/".to_owned(), mock.url("/2"), "/no-host".to_owned()];
    let report = forbear::Sweep::new(vendor).budget(secs(60)).run(urls, get).await;
    assert_eq!(counts(&report), (2, 0, 2), "{report}");
    for failed in report.failed() {
        assert!(matches!(failed.error, forbear::Error::UnknownFamily(_)), "{failed:?}");
    }
}

/// Ready at the second look.
#[derive(Clone)]
struct LateReady<S>(S, bool);

impl<S: Service<R>, R> Service<R> for LateReady<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        if !std::mem::replace(&mut self.1, true) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: R) -> S::Future {
        self.0.call(request)
    }
}

/// Until a service was ready nobody knows whose families these are: one item finds out, and not as many as may go at once.
#[tokio::test(start_paused = true)]
async fn one_item_finds_out_that_its_family_cools_however_many_may_go_at_once() {
    let world = World::new(|_| reply(200));
    world.families.cool("a", secs(20), alice()).unwrap();
    let sweep = forbear::Sweep::new(LateReady(world.vendor(), false)).concurrency(8).budget(secs(60));
    let mut outcomes = sweep.stream(items('a', 1..=100).chain(items('b', 1..=1)), world.get());
    assert_eq!(outcomes.next().await.unwrap().item(), "/b/1");
    assert_eq!(world.families.health().family("a").unwrap().refusals, 1);
}

/// Hosts that nobody named: each has a family of its own once it limits.
#[tokio::test(start_paused = true)]
async fn a_host_without_a_family_holds_back_its_own_items_alone() {
    let mock = MockVendor::in_process().script(forbear_mock::respond_with(|attempt| {
        let first = attempt.since() < secs(1) && attempt.authority() == Some("one.test");
        if first { reply(429).retry_after(10) } else { reply(200) }
    }));
    let families = Families::builder().build().unwrap();
    let vendor = forbear::stack(&families).service(mock.service());
    let get = |url: &String| http::Request::get(url).body(Body::new());
    let urls = (0..40).map(|number| {
        let host = if number % 2 == 0 { "one" } else { "two" };
        format!("http://{host}.test/{number}")
    });
    let report = forbear::Sweep::new(vendor).concurrency(1).budget(secs(60)).run(urls, get).await;
    assert_eq!(counts(&report), (40, 0, 0), "{report}");
    let attempts = mock.attempts();
    assert_eq!(attempts.len(), 41);
    assert!(attempts[1..21].iter().all(|attempt| attempt.authority() == Some("two.test")));
}

/// A buffer hides the gate: every item is asked, but none is sent, and what is refused is held back together.
#[tokio::test(start_paused = true)]
async fn behind_a_buffer_the_families_are_told_or_each_item_is_refused() {
    for told in [false, true] {
        let world = World::new(refuses(&[1], 10));
        let vendor = ServiceBuilder::new().buffer(16).service(world.vendor());
        let sweep = forbear::Sweep::new(vendor).concurrency(1).budget(secs(60));
        let sweep = if told { sweep.families(&world.families) } else { sweep };
        let both = items('a', 1..=20).chain(items('b', 1..=5));
        let start = Instant::now();
        let report = sweep.run(both, world.get()).await;
        assert_eq!(counts(&report), (25, 0, 0), "{report}");
        assert!(start.elapsed() < secs(15), "{:?}", start.elapsed());
        assert_eq!(world.sent_of('a'), 21);
        let refusals = world.families.health().family("a").unwrap().refusals;
        assert_eq!(refusals <= 2, told, "{refusals}");
    }
}

/// Without a gate nobody knows of families: each item that is limited waits for its own time.
#[tokio::test(start_paused = true)]
async fn without_a_gate_each_limited_item_waits_for_itself() {
    let world = World::new(refuses(&[2], 10));
    let start = Instant::now();
    let sweep = forbear::Sweep::new(world.mock.service()).concurrency(1).budget(secs(60));
    let mut outcomes = sweep.stream(items('a', 1..=5), world.get());
    for number in [1, 3, 4, 5] {
        assert_eq!(*outcomes.next().await.unwrap().item(), format!("/a/{number}"));
    }
    assert!(start.elapsed().is_zero());
    assert_eq!(outcomes.next().await.unwrap().item(), "/a/2");
    assert!(start.elapsed() >= secs(10));
}

/// A vendor whose limits are about the one request that met them.
fn picky() -> forbear::Dialect {
    let rules = "name = \"picky\"\n[[rule]]\nstatus = [429]\nclass = \"throttled\"\nof = \"request\"\n";
    forbear::Dialect::from_toml(rules).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_url_that_is_to_be_left_in_peace_holds_back_no_other() {
    let world = World::with(|family| family.dialect(picky()), refuses(&[1], 20));
    let (start, sweep) = (Instant::now(), world.sweep());
    let mut outcomes = sweep.clone().concurrency(1).budget(secs(60)).stream(items('a', 1..=4), world.get());
    for number in [2, 3, 4] {
        assert_eq!(*outcomes.next().await.unwrap().item(), format!("/a/{number}"));
    }
    assert_eq!((start.elapsed().as_millis(), outcomes.progress().held), (0, 1));
    // Another sweep meets what was recorded, and waits for it where that fits.
    let (short, long) = (sweep.clone().budget(secs(10)), sweep.budget(secs(60)));
    let report = short.run(items('a', 1..=2), world.get()).await;
    assert_eq!((deferred(&report), start.elapsed().as_millis()), (vec!["/a/1"], 0), "{report}");
    assert_eq!(report.deferred()[0].reason().as_str(), "retry-after");
    let report = long.run(items('a', 1..=2), world.get()).await;
    assert_eq!(counts(&report), (2, 0, 0), "{report}");
    assert!(start.elapsed() >= secs(20));
    assert_eq!(outcomes.next().await.unwrap().item(), "/a/1");
    assert!(outcomes.next().await.is_none());
}

/// An item that waits by itself is told of a shutdown too.
#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_the_wait_of_an_item_alone() {
    let world = World::with(|family| family.dialect(picky()), refuses(&[1], 30));
    let (families, start) = (world.families.clone(), Instant::now());
    tokio::spawn(async move {
        sleep(secs(5)).await;
        families.shutdown();
    });
    let report = world.sweep().budget(secs(60)).run(items('a', 1..=3), world.get()).await;
    assert_eq!((counts(&report), start.elapsed()), ((2, 1, 0), secs(5)), "{report}");
    let late = &report.deferred()[0];
    assert_eq!((late.family(), late.reason().as_str()), (Some("a"), "shutting-down"));
    assert_eq!(late.until(), Some(start + secs(30)));
}

/// A refusal that is known beforehand costs not even a call of the service.
#[tokio::test(start_paused = true)]
async fn what_is_known_to_be_refused_does_not_reach_the_service() {
    let world = World::new(|_| reply(200));
    world.families.pause("a", alice()).unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let vendor = ServiceBuilder::new()
        .map_request(move |request: http::Request<Body>| {
            counted.fetch_add(1, Ordering::SeqCst);
            request
        })
        .service(world.vendor());
    let report = forbear::Sweep::new(vendor).run(items('a', 1..=100), world.get()).await;
    assert_eq!((counts(&report), calls.load(Ordering::SeqCst)), ((0, 100, 0), 1), "{report}");
}
