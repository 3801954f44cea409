use forbear_core::work::{Demanded, Finished, Phase, Retried};

use super::*;

/// A key that is refused costs no attempt, however often (`taskforcesh/bullmq#1571`), and has stalled after a day.
///
/// # Panics
/// Where it is not so.
pub async fn deferrals_cost_no_attempt_and_stall(store: Store) {
    let quotes = source("quotes");
    let _ = demand(&store, &quotes, &["A"], at(0)).await;
    for n in 0..10 {
        assert_eq!(names(&claim(&store, &quotes, 1, &terms(at(n * 60), n)).await), ["A"]);
        let until = at((n + 1) * 60);
        assert_eq!(
            finish(&store, &quotes, "A", n, deferred(until), at(n * 60)).await,
            Finished::Waiting(until)
        );
    }
    let waiting = row(&store, &quotes, "A").await.expect("a row");
    assert_eq!((waiting.attempts, waiting.deferrals, waiting.deferred_since), (0, 10, Some(at(0))));
    assert_eq!(waiting.error.expect("why").as_str(), "quotes is cooling");

    let day = 24 * 60 * 60;
    let _ = claim(&store, &quotes, 1, &terms(at(day - 1), 20)).await;
    let until = at(day);
    assert_eq!(
        finish(&store, &quotes, "A", 20, deferred(until), at(day - 1)).await,
        Finished::Waiting(until)
    );
    let _ = claim(&store, &quotes, 1, &terms(at(day), 21)).await;
    assert_eq!(finish(&store, &quotes, "A", 21, deferred(until), at(day)).await, Finished::Stalled);
    assert_eq!(row(&store, &quotes, "A").await.expect("a row").phase, Phase::Stalled);
    assert_eq!(names(&claim(&store, &quotes, 1, &terms(at(2 * day), 22)).await), [""; 0]);

    assert_eq!(demand(&store, &quotes, &["A"], at(2 * day)).await, [Demanded::Revived(at(2 * day))]);
    let _ = claim(&store, &quotes, 1, &terms(at(2 * day), 23)).await;
    let next = at(3 * day);
    assert_eq!(finish(&store, &quotes, "A", 23, done(next), at(2 * day)).await, Finished::Waiting(next));
    let done = row(&store, &quotes, "A").await.expect("a row");
    assert_eq!((done.deferrals, done.deferred_since, done.error), (0, None, None));
    assert_eq!(done.done, Some(at(2 * day)));
}

/// A key that fails too often is left alone until somebody wants it anew.
///
/// # Panics
/// Where it is not so.
pub async fn failures_end_in_failed_until_demanded_again(store: Store) {
    let quotes = source("quotes");
    let _ = demand(&store, &quotes, &["A"], at(0)).await;
    for (n, then) in
        [Finished::Waiting(at(1)), Finished::Waiting(at(2)), Finished::Failed].into_iter().enumerate()
    {
        let n = n as u64;
        let _ = claim(&store, &quotes, 1, &terms(at(n), n)).await;
        assert_eq!(finish(&store, &quotes, "A", n, failed(at(n + 1)), at(n)).await, then);
    }
    assert_eq!(names(&claim(&store, &quotes, 1, &terms(at(99_999), 9)).await), [""; 0]);
    let retried = store.retry(&quotes, &keys(&["A", "B"]), at(50)).await.expect("a retry");
    assert_eq!(retried, [Retried::Due(at(50)), Retried::NotDemanded]);
    let claims = claim(&store, &quotes, 1, &terms(at(50), 10)).await;
    assert_eq!((names(&claims), claims.claimed[0].row.attempts), (vec!["A"], 0));
    let retried = store.retry(&quotes, &keys(&["A"]), at(51)).await.expect("a retry");
    assert_eq!(retried, [Retried::Running]);
}
