//! Answers whose bodies the sweep reads.

use forbear::sweep::TooLong;
use forbear::{Error, Families, Family, Pacing, Sweep};
use forbear_mock::{MockVendor, reply};
use tokio::time::Instant;

use crate::{Body, World, counts, items, refuses, secs};

#[tokio::test(start_paused = true)]
async fn bodies_are_read_up_to_a_limit_and_a_longer_one_is_a_failure() {
    let mock = MockVendor::in_process()
        .route("/fits", [reply(200).body("1234")])
        .route("/long", [reply(200).body("12345")])
        .route("/none", [reply(204)]);
    let get = |path: &&str| http::Request::get(mock.url(path)).body(Body::new());
    let sweep = Sweep::new(mock.service()).concurrency(1).read_bodies(4);
    let report = sweep.run(["/fits", "/long", "/none"], get).await;
    let read: Vec<_> = report.done().iter().map(|done| &done.response.body()[..]).collect();
    assert_eq!(read, [&b"1234"[..], b""]);
    let Error::Client(source) = &report.failed()[0].error else { panic!("{report:?}") };
    assert!(source.is::<TooLong>(), "{source:?}");
}

/// The body of a limited answer is nobody's, whatever its length.
#[tokio::test(start_paused = true)]
async fn a_limited_answer_with_a_long_body_is_limited_all_the_same() {
    let long = reply(429).retry_after(5).body("x".repeat(100_000));
    let mock = MockVendor::in_process().script([long, reply(200).body("ok")]);
    let vendor = forbear::stack(&Families::builder().build().unwrap()).service(mock.service());
    let get = |path: &&str| http::Request::get(mock.url(path)).body(Body::new());
    let report = Sweep::new(vendor).budget(secs(60)).read_bodies(10).run(["/1"], get).await;
    assert_eq!((counts(&report), &report.done()[0].response.body()[..]), ((1, 0, 0), &b"ok"[..]));
}

/// Answers that nobody reads keep their places: a report of them would wait for itself.
#[tokio::test(start_paused = true)]
async fn a_family_with_few_in_flight_serves_all_whose_bodies_are_read() {
    let paced =
        |mock: &MockVendor| Family::new("v").host(mock.authority()).pacing(Pacing::new().in_flight(2));
    for read in [true, false] {
        let mock = MockVendor::in_process().script(reply(200).body("12345"));
        let families = Families::builder().family(paced(&mock)).build().unwrap();
        let vendor = forbear::stack(&families).service(mock.service());
        let get = |n: &u32| http::Request::get(mock.url(&format!("/{n}"))).body(Body::new());
        let sweep = Sweep::new(vendor).budget(secs(30));
        let start = Instant::now();
        if read {
            let report = sweep.read_bodies(100).run(1..=20, get).await;
            assert_eq!((counts(&report), start.elapsed().as_millis()), ((20, 0, 0), 0), "{report}");
            continue;
        }
        // Reported, and not lost: the sweep ends with its budget, and says who did not get a turn.
        let report = sweep.run(1..=20, get).await;
        assert_eq!(counts(&report), (2, 18, 0), "{report}");
        assert!(start.elapsed() <= secs(30), "{:?}", start.elapsed());
    }
}

/// It waited for places that only its own report held, and nothing bounds it: it is no deadlock all the same.
#[tokio::test(start_paused = true)]
async fn answers_that_nobody_reads_end_a_sweep_without_any_budget_too() {
    let mock = MockVendor::in_process().script(reply(200).body("12345"));
    let family = Family::new("v").host(mock.authority()).pacing(Pacing::new().in_flight(2));
    let vendor = forbear::stack(&Families::builder().family(family).build().unwrap()).service(mock.service());
    let get = |n: &u32| http::Request::get(mock.url(&format!("/{n}"))).body(Body::new());
    let run = async { Sweep::new(vendor).run(1..=20, get).await };
    let report = tokio::time::timeout(secs(600), run).await.expect("it ends");
    assert_eq!(counts(&report), (2, 18, 0), "{report}");
    assert!(report.deferred().iter().all(|late| late.reason().as_str() == "too-late"), "{report:?}");
}

/// The families are found through it.
#[tokio::test(start_paused = true)]
async fn items_are_held_back_together_where_bodies_are_read_too() {
    let world = World::new(refuses(&[1], 5));
    let sweep = world.sweep().concurrency(1).budget(secs(60)).read_bodies(100);
    let report = sweep.run(items('a', 1..=50), world.get()).await;
    assert_eq!(counts(&report), (50, 0, 0), "{report}");
    assert!(world.families.health().family("a").unwrap().refusals <= 2, "{report}");
}
