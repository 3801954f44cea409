use forbear_core::work::{DemandReason, Demanded, Finished, Invalidated, Undemanded};

use super::*;

/// A key is there once, however often and for however many reasons it is demanded.
///
/// # Panics
/// Where it is not so.
pub async fn demands_are_a_set(store: Store) {
    let quotes = source("quotes");
    let twice = demand(&store, &quotes, &["A", "B", "A"], at(0)).await;
    assert_eq!(twice, [Demanded::New, Demanded::New, Demanded::Waiting(at(0))]);
    for _ in 0..100 {
        assert_eq!(demand(&store, &quotes, &["A"], at(5)).await, [Demanded::Waiting(at(0))]);
    }
    let held = store.demand(&quotes, &keys(&["A"]), &reason("holding"), at(6)).await.expect("a demand");
    assert_eq!(held, [Demanded::Waiting(at(0))]);
    let claims = claim(&store, &quotes, 10, &terms(at(7), 1)).await;
    assert_eq!(names(&claims), ["A", "B"], "100 demands for one key are one run");
    let why = row(&store, &quotes, "A").await.expect("a row").reasons;
    assert_eq!(why.iter().map(DemandReason::as_str).collect::<Vec<_>>(), ["holding", "page"]);
}

/// A key is wanted until its last reason goes, and then it is gone: at once, or with the run that is out.
///
/// # Panics
/// Where it is not so.
pub async fn the_last_demand_that_goes_ends_it(store: Store) {
    let quotes = source("quotes");
    let _ = demand(&store, &quotes, &["A", "B"], at(0)).await;
    let _ = store.demand(&quotes, &keys(&["A"]), &reason("holding"), at(0)).await.expect("a demand");
    assert_eq!(undemand(&store, &quotes, "A", "page").await, Undemanded::StillDemanded);
    assert_eq!(undemand(&store, &quotes, "A", "page").await, Undemanded::NotDemanded);
    assert_eq!(undemand(&store, &quotes, "A", "holding").await, Undemanded::Gone);
    assert_eq!(undemand(&store, &quotes, "C", "page").await, Undemanded::NotDemanded);
    assert_eq!(row(&store, &quotes, "A").await, None);

    assert_eq!(names(&claim(&store, &quotes, 10, &terms(at(1), 1)).await), ["B"]);
    assert_eq!(undemand(&store, &quotes, "B", "page").await, Undemanded::Ending);
    assert!(row(&store, &quotes, "B").await.is_some(), "its run is not over");
    assert_eq!(finish(&store, &quotes, "B", 1, done(at(60)), at(2)).await, Finished::Gone);
    assert_eq!(row(&store, &quotes, "B").await, None);
    assert_eq!(demand(&store, &quotes, &["B"], at(3)).await, [Demanded::New]);
}

/// A demand, or an invalidation, that comes in the middle of a run is followed by exactly one more.
///
/// # Panics
/// Where it is not so.
pub async fn a_demand_while_it_runs_is_one_more_run(store: Store) {
    let quotes = source("quotes");
    let _ = demand(&store, &quotes, &["A"], at(0)).await;
    let _ = claim(&store, &quotes, 1, &terms(at(0), 1)).await;
    assert_eq!(demand(&store, &quotes, &["A"], at(1)).await, [Demanded::Again]);
    assert_eq!(demand(&store, &quotes, &["A"], at(1)).await, [Demanded::Again]);

    let gap = Outcome::Done { next: at(900), earliest: at(12) };
    assert_eq!(finish(&store, &quotes, "A", 1, gap, at(2)).await, Finished::Again(at(12)));
    assert_eq!(names(&claim(&store, &quotes, 1, &terms(at(11), 2)).await), [""; 0]);
    assert_eq!(names(&claim(&store, &quotes, 1, &terms(at(12), 2)).await), ["A"]);
    let old = store.invalidate(&quotes, &keys(&["A", "A", "B"]), at(12)).await.expect("an invalidation");
    assert_eq!(old, [Invalidated::Again, Invalidated::Again, Invalidated::NotDemanded]);
    assert_eq!(finish(&store, &quotes, "A", 2, done(at(900)), at(13)).await, Finished::Again(at(13)));
    assert_eq!(names(&claim(&store, &quotes, 1, &terms(at(13), 2)).await), ["A"]);
    assert_eq!(finish(&store, &quotes, "A", 2, done(at(900)), at(13)).await, Finished::Waiting(at(900)));
    assert_eq!(names(&claim(&store, &quotes, 1, &terms(at(899), 3)).await), [""; 0]);

    let old = store.invalidate(&quotes, &keys(&["A"]), at(20)).await.expect("an invalidation");
    assert_eq!(old, [Invalidated::Due(at(20))]);
    assert_eq!(names(&claim(&store, &quotes, 1, &terms(at(20), 4)).await), ["A"]);
}
