use std::collections::BTreeSet;

use forbear_core::store::Held;
use forbear_core::work::{Extended, Finished, Phase};

use super::*;

/// What was due first is claimed first; of two that were due at once, the one whose key is first.
///
/// # Panics
/// Where it is not so.
pub async fn claims_come_in_due_order(store: Store) {
    let quotes = source("quotes");
    for (name, due) in [("C", 3), ("A", 5), ("D", 1), ("E", 3), ("F", 9)] {
        let _ = demand(&store, &quotes, &[name], at(due)).await;
    }
    assert_eq!(store.next(std::slice::from_ref(&quotes)).await.expect("a time"), [Some(at(1))]);
    assert_eq!(names(&claim(&store, &quotes, 2, &terms(at(6), 1)).await), ["D", "C"]);
    assert_eq!(names(&claim(&store, &quotes, 9, &terms(at(6), 2)).await), ["E", "A"]);
    assert_eq!(store.next(std::slice::from_ref(&quotes)).await.expect("a time"), [Some(at(9))]);
    assert_eq!(names(&claim(&store, &quotes, 0, &terms(at(9), 3)).await), [""; 0]);
}

/// What is claimed is not claimed again while its lease runs, nor while it is extended.
///
/// # Panics
/// Where it is not so.
pub async fn a_claim_is_nobody_elses(store: Store) {
    let quotes = source("quotes");
    let _ = demand(&store, &quotes, &["A"], at(0)).await;
    let claims = claim(&store, &quotes, 5, &terms(at(0), 1)).await;
    assert!(matches!(claims.claimed[0].row.phase, Phase::Running(claim) if claim.until == at(30)));
    assert_eq!(names(&claim(&store, &quotes, 5, &terms(at(29), 2)).await), [""; 0]);
    let mine = [Held { key: key("A"), token: Token(1) }];
    assert_eq!(store.extend(&quotes, &mine, at(90)).await.expect("a lease"), [Extended::Extended]);
    let others = [Held { key: key("A"), token: Token(2) }, Held { key: key("B"), token: Token(1) }];
    let extended = store.extend(&quotes, &others, at(300)).await.expect("a lease");
    assert_eq!(extended, [Extended::Stale, Extended::Stale]);
    assert_eq!(names(&claim(&store, &quotes, 5, &terms(at(89), 2)).await), [""; 0]);
    assert_eq!(finish(&store, &quotes, "A", 1, done(at(200)), at(89)).await, Finished::Waiting(at(200)));
}

/// Who lost a claim changes nothing any more, whatever became of the key.
///
/// # Panics
/// Where it is not so.
pub async fn a_stale_claim_changes_nothing(store: Store) {
    let quotes = source("quotes");
    let _ = demand(&store, &quotes, &["A"], at(0)).await;
    let _ = claim(&store, &quotes, 1, &terms(at(0), 1)).await;
    assert_eq!(names(&claim(&store, &quotes, 1, &terms(at(30), 2)).await), ["A"]);
    let before = row(&store, &quotes, "A").await;
    for outcome in [done(at(60)), failed(at(60)), deferred(at(60)), Outcome::Released] {
        assert_eq!(finish(&store, &quotes, "A", 1, outcome, at(31)).await, Finished::Stale);
    }
    assert_eq!(row(&store, &quotes, "A").await, before);
    assert_eq!(finish(&store, &quotes, "A", 2, done(at(60)), at(32)).await, Finished::Waiting(at(60)));
    assert_eq!(finish(&store, &quotes, "A", 2, done(at(61)), at(33)).await, Finished::Stale);
    assert_eq!(undemand(&store, &quotes, "A", "page").await, Undemanded::Gone);
    let _ = demand(&store, &quotes, &["A"], at(34)).await;
    let _ = claim(&store, &quotes, 1, &terms(at(34), 3)).await;
    assert_eq!(finish(&store, &quotes, "A", 2, done(at(60)), at(35)).await, Finished::Stale);
}

/// A process that went is followed by another: what it ran is claimed again, in its turn, and costs an attempt.
///
/// # Panics
/// Where it is not so.
pub async fn a_lease_that_is_over_is_claimed_again(store: Store) {
    let quotes = source("quotes");
    let _ = demand(&store, &quotes, &["A", "B", "C"], at(0)).await;
    assert_eq!(names(&claim(&store, &quotes, 2, &terms(at(0), 1)).await), ["A", "B"]);
    let _ = undemand(&store, &quotes, "B", "page").await;
    assert_eq!(store.next(std::slice::from_ref(&quotes)).await.expect("a time"), [Some(at(0))]);
    assert_eq!(names(&claim(&store, &quotes, 5, &terms(at(1), 2)).await), ["C"]);
    assert_eq!(store.next(std::slice::from_ref(&quotes)).await.expect("a time"), [Some(at(30))]);
    let claims = claim(&store, &quotes, 5, &terms(at(30), 3)).await;
    assert_eq!((names(&claims), claims.reclaimed), (vec!["A"], 1));
    assert_eq!(claims.claimed[0].row.attempts, 1);
    assert_eq!(row(&store, &quotes, "B").await, None, "nobody wanted it any more");
}

/// A key that ends every process that runs it fails in the end.
///
/// # Panics
/// Where it is not so.
pub async fn a_key_that_ends_its_process_fails(store: Store) {
    let quotes = source("quotes");
    let _ = demand(&store, &quotes, &["A"], at(0)).await;
    for run in 0..3 {
        assert_eq!(names(&claim(&store, &quotes, 5, &terms(at(run * 30), run)).await), ["A"], "run {run}");
    }
    let claims = claim(&store, &quotes, 5, &terms(at(90), 9)).await;
    assert_eq!((names(&claims), &*claims.failed), (vec![], &*keys(&["A"])));
    let row = row(&store, &quotes, "A").await.expect("a row");
    assert_eq!((row.phase, row.attempts), (Phase::Failed, 3));
    assert_eq!(names(&claim(&store, &quotes, 5, &terms(at(9_000), 9)).await), [""; 0]);
}

/// Many who claim at once get each key once.
///
/// # Panics
/// Where it is not so.
pub async fn concurrent_claims_are_apart(store: Store) {
    let quotes = source("quotes");
    let all = numbered(300);
    let _ = store.demand(&quotes, &all, &reason("page"), at(0)).await.expect("a demand");
    let mut claiming = tokio::task::JoinSet::new();
    for token in 0..20 {
        let (store, quotes) = (Arc::clone(&store), quotes.clone());
        claiming.spawn(async move { claim(&store, &quotes, 20, &terms(at(0), token)).await });
    }
    let claimed: Vec<_> = claiming
        .join_all()
        .await
        .into_iter()
        .flat_map(|claims| claims.claimed)
        .map(|kept| kept.key)
        .collect();
    let once: BTreeSet<_> = claimed.iter().collect();
    assert_eq!((claimed.len(), once.len()), (300, 300));
}
