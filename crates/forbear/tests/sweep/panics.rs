//! A panic over one item costs that item.

use forbear::{Error, Sweep, sweep::Panicked};
use forbear_mock::reply;

use crate::common::Told;
use crate::common::{Client, answer, panics, panics_in_call};
use crate::{World, counts, items, secs};

fn message(error: &Error) -> Option<&str> {
    match error {
        Error::Client(source) => source.downcast_ref::<Panicked>().map(Panicked::message),
        _ => None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_closure_that_panics_costs_its_item() {
    let world = World::new(|_| reply(200));
    let get = world.get();
    let report = world
        .sweep()
        .run(items('a', 1..=40), |path: &String| {
            if path == "/a/7" {
                std::panic::resume_unwind(Box::new("no price for it"));
            }
            get(path)
        })
        .await;
    assert_eq!(counts(&report), (39, 0, 1), "{report}");
    let failed = &report.failed()[0];
    assert_eq!((failed.item.as_str(), message(&failed.error)), ("/a/7", Some("no price for it")));
    assert!(!failed.error.to_string().contains("price"));
}

#[tokio::test(start_paused = true)]
async fn a_service_that_panics_costs_its_item() {
    for panicking in [panics(), panics().delay(secs(1)), panics_in_call()] {
        let client = Client::new([answer(200), panicking, answer(200)]);
        let families = forbear::Families::builder().build().unwrap();
        let vendor = forbear::stack(&families).service(client.clone());
        let get = |n: &u32| http::Request::get(format!("http://v.test/{n}")).body(crate::Body::new());
        let report = Sweep::new(vendor).concurrency(1).run(1..=5, get).await;
        assert_eq!(counts(&report), (4, 0, 1), "{report}");
        assert_eq!(
            (report.failed()[0].item, message(&report.failed()[0].error)),
            (2, Some("script says panic"))
        );
        // What the item held is let go.
        assert_eq!(client.in_flight(), 0);
    }
}

/// The probe that panics is neutral, as anywhere, and the next item probes.
#[tokio::test(start_paused = true)]
async fn a_probe_that_panics_does_not_close_the_family_for_good() {
    use crate::common::limited;
    let client = Client::new([limited(429, 5), panics(), answer(200)]);
    let families = forbear::Families::builder().build().unwrap();
    let vendor = forbear::stack(&families).service(client.clone());
    let get = |n: &u32| http::Request::get(format!("http://v.test/{n}")).body(crate::Body::new());
    let report = Sweep::new(vendor).concurrency(2).budget(secs(60)).run(1..=10, get).await;
    assert_eq!(counts(&report), (9, 0, 1), "{report}");
}

#[tokio::test(start_paused = true)]
async fn a_progress_callback_that_panics_is_logged_and_costs_nothing() {
    let told = Told::default();
    told.listen();
    let world = World::new(|_| reply(200));
    let sweep = world.sweep().progress(|_| std::panic::resume_unwind(Box::new("no terminal")));
    let report = sweep.run(items('a', 1..=3), world.get()).await;
    assert_eq!(counts(&report), (3, 0, 0), "{report}");
    assert_eq!(told.take(), vec!["ERROR the progress callback of a sweep panicked"; 3]);
}

/// Items that end in a panic end the sweep, and what was done is in the report.
#[tokio::test(start_paused = true)]
async fn items_that_panic_end_the_sweep_and_the_report_keeps_what_was_done() {
    let world = World::new(|_| reply(200));
    let sweep = world.sweep().concurrency(1);
    let broken = items('a', 1..=10).inspect(|path| {
        if path == "/a/5" {
            std::panic::resume_unwind(Box::new("the file ends here"));
        }
    });
    let mut report = forbear::sweep::Report::new();
    let run = std::panic::AssertUnwindSafe(sweep.run_into(&mut report, broken, world.get()));
    assert!(futures_util::FutureExt::catch_unwind(run).await.is_err());
    assert_eq!((counts(&report), report.is_complete()), ((4, 0, 0), false), "{report}");
}
