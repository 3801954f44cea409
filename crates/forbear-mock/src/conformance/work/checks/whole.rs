use std::collections::BTreeSet;

use forbear_core::store::Rows;
use forbear_core::work::{Bounds, DemandReason, Demanded, Finished, Phase, Reasons, Tally};

use super::*;
use crate::conformance::work::histories;

/// The same key of two sources is two.
///
/// # Panics
/// Where it is not so.
pub async fn sources_are_apart(store: Store) {
    let (quotes, news) = (source("quotes"), source("news"));
    let _ = demand(&store, &quotes, &["A"], at(0)).await;
    assert_eq!(demand(&store, &news, &["A"], at(3)).await, [Demanded::New]);
    assert_eq!(names(&claim(&store, &quotes, 9, &terms(at(5), 1)).await), ["A"]);
    assert_eq!(finish(&store, &news, "A", 1, done(at(60)), at(6)).await, Finished::Stale);
    let both = [news.clone(), quotes.clone(), source("nobody")];
    assert_eq!(store.next(&both).await.expect("times"), [Some(at(3)), Some(at(35)), None]);
    assert_eq!(undemand(&store, &news, "A", "page").await, Undemanded::Gone);
    assert!(row(&store, &quotes, "A").await.is_some());
}

/// What is counted is what is there.
///
/// # Panics
/// Where it is not so.
pub async fn pages_and_tallies_agree(store: Store) {
    let quotes = source("quotes");
    let _ = store.demand(&quotes, &numbered(20), &reason("page"), at(10)).await.expect("a demand");
    let claims = claim(&store, &quotes, 7, &terms(at(10), 1)).await;
    for (n, kept) in claims.claimed.iter().enumerate() {
        let never = Outcome::Failed {
            retry: at(11),
            earliest: at(0),
            max_attempts: 1,
            error: LastError::new("status 500"),
        };
        let long =
            Outcome::Deferred { until: at(11), stall: Duration::ZERO, error: LastError::new("cooling") };
        let outcome = match n {
            0 | 1 => never,
            2 => long,
            3 => done(at(500)),
            _ => continue,
        };
        let _ = finish(&store, &quotes, kept.key.as_str(), 1, outcome, at(11)).await;
    }
    let tally = store.tally(std::slice::from_ref(&quotes), at(12)).await.expect("a tally")[0];
    let (oldest_due, next) = (Some(at(10)), Some(at(10)));
    let expected = Tally { waiting: 14, running: 3, failed: 2, stalled: 1, due: 13, oldest_due, next };
    assert_eq!(tally, expected);

    let mut seen = Vec::new();
    let mut page = Rows { troubled: false, after: None, limit: 6 };
    loop {
        let rows = store.rows(&quotes, &page).await.expect("a page");
        assert!(rows.len() <= 6);
        let Some(last) = rows.last() else { break };
        page.after = Some(last.key.clone());
        seen.extend(rows.into_iter().map(|kept| kept.key));
    }
    assert_eq!(seen, numbered(20));
    let page = Rows { troubled: true, after: None, limit: 100 };
    let troubled = store.rows(&quotes, &page).await.expect("a page");
    let troubled: Vec<_> = troubled.iter().map(|kept| (kept.key.as_str(), kept.row.phase)).collect();
    let expected =
        [("key-000000", Phase::Failed), ("key-000001", Phase::Failed), ("key-000002", Phase::Stalled)];
    assert_eq!(troubled, expected);
}

/// Times that lie in a year that nobody means are brought back, and nothing stays claimed for ever.
///
/// # Panics
/// Where it is not so.
pub async fn times_far_ahead_are_mended(store: Store) {
    let (quotes, far) = (source("quotes"), at(10 * 365 * 24 * 60 * 60));
    let _ = demand(&store, &quotes, &["A", "C"], at(0)).await;
    let _ = demand(&store, &quotes, &["B"], far).await;
    // Further than one that rests may be, and not further than one that was deferred.
    let _ = demand(&store, &quotes, &["D"], at(5_000)).await;
    let _ = claim(&store, &quotes, 1, &terms(at(0), 1)).await;
    let _ = store.extend(&quotes, &[forbear_core::store::Held { key: key("A"), token: Token(1) }], far).await;
    let bounds =
        Bounds { now: at(1), rest: Duration::from_secs(900), due: Duration::from_secs(90_000), lease: LEASE };
    assert_eq!(store.mend(&quotes, &bounds).await.expect("a mending"), 3);
    assert_eq!(store.mend(&quotes, &bounds).await.expect("a mending"), 0);
    assert_eq!(names(&claim(&store, &quotes, 9, &terms(at(31), 2)).await), ["C", "A"]);
    assert_eq!(names(&claim(&store, &quotes, 9, &terms(at(900), 3)).await), ["A", "C"]);
    assert_eq!(names(&claim(&store, &quotes, 9, &terms(at(901), 4)).await), ["B", "D"]);
    assert_eq!(row(&store, &quotes, "B").await.expect("a row").due, at(901));
}

/// Every value that a row can have is read as it was written.
///
/// # Panics
/// Where it is not so.
pub async fn every_value_survives(store: Store) {
    let odd = source("quellen/ä:'\"%_\\");
    let name = format!("k'\"; drop -- %_\\ {}", "é".repeat(200));
    let _ = demand(&store, &odd, &[&name], at(0)).await;
    let whys: Vec<DemandReason> = (0..Reasons::MOST - 1).map(|n| reason(&format!("w,'{n}"))).collect();
    for why in &whys {
        let _ = store.demand(&odd, &keys(&[&name]), why, at(0)).await.expect("a demand");
    }
    let more = store.demand(&odd, &keys(&[&name]), &reason("more"), at(0)).await.expect("a demand");
    assert_eq!(more, [Demanded::Full]);
    let all: BTreeSet<_> = whys.into_iter().chain([reason("page")]).collect();
    let kept = row(&store, &odd, &name).await.expect("a row");
    assert_eq!(kept.reasons, all.into_iter().collect::<Reasons>());

    for token in [u64::MAX, 0, 1 << 63] {
        let claims = claim(&store, &odd, 1, &terms(Stamp::NEVER, token)).await;
        assert_eq!(names(&claims), [&name]);
        assert_eq!(Some(&claims.claimed[0].row), row(&store, &odd, &name).await.as_ref());
        let error = LastError::new(&"é'\0\n".repeat(100));
        let outcome =
            Outcome::Failed { retry: Stamp::NEVER, earliest: Stamp::NEVER, max_attempts: u32::MAX, error };
        let ended = finish(&store, &odd, &name, token, outcome, Stamp::NEVER).await;
        assert_eq!(ended, Finished::Waiting(Stamp::NEVER), "token {token}");
    }
    let kept = row(&store, &odd, &name).await.expect("a row");
    assert_eq!((kept.attempts, kept.due, kept.earliest), (3, Stamp::NEVER, Stamp::NEVER));
    assert!(kept.error.is_some_and(|error| error.as_str().starts_with("é'é'")));
}

/// A call may name thousands of keys.
///
/// # Panics
/// Where it is not so.
pub async fn batches_of_thousands(store: Store) {
    let (quotes, all) = (source("quotes"), numbered(5_000));
    let first = store.demand(&quotes, &all, &reason("page"), at(0)).await.expect("a demand");
    assert!(first.len() == 5_000 && first.iter().all(|did| *did == Demanded::New));
    let claims = claim(&store, &quotes, 5_000, &terms(at(0), 1)).await;
    assert_eq!(
        claims.claimed.iter().map(|kept| &kept.key).collect::<Vec<_>>(),
        all.iter().collect::<Vec<_>>()
    );
    let runs: Vec<_> =
        all.iter().map(|key| Finish { key: key.clone(), token: Token(1), outcome: done(at(60)) }).collect();
    let ended = store.finish(&quotes, &runs, at(1)).await.expect("ends");
    assert!(ended.len() == 5_000 && ended.iter().all(|end| *end == Finished::Waiting(at(60))));
    let gone = store.undemand(&quotes, &all, &reason("page")).await.expect("ends of demands");
    assert!(gone.iter().all(|gone| *gone == Undemanded::Gone));
    assert_eq!(store.tally(&[quotes], at(2)).await.expect("a tally"), [Tally::new()]);
}

/// After every step of a random history it holds what a simple reference holds.
///
/// # Panics
/// Where it is not so.
pub async fn random_histories(store: Store) {
    histories(store, 8, 1_000).await;
}
