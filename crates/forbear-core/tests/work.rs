//! Rows of refresh work: what stores share.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::error::Error;
use std::time::Duration;

use forbear_core::store::{StoreError, StoreFault};
use forbear_core::work::{
    Bounds, Claim, DemandReason, Extended, Invalidated, Phase, Reasons, Row, Stamp, Tally, Token,
};

fn at(seconds: u64) -> Stamp {
    Stamp::EPOCH.after(Duration::from_secs(seconds))
}

fn reason(name: &str) -> DemandReason {
    DemandReason::new(name).unwrap()
}

/// A row that stands so, due at 100 s.
fn row(phase: Phase) -> Row {
    Row { phase, ..Row::new(&reason("page"), at(100)) }
}

fn running(until: u64) -> Phase {
    Phase::Running(Claim { token: Token(7), until: at(until) })
}

#[test]
fn rows_are_counted_by_where_they_stand() {
    let mut tally = Tally::new();
    for (phase, due) in [(Phase::Waiting, 200), (Phase::Waiting, 60), (Phase::Waiting, 100)] {
        tally.count(&Row { due: at(due), ..row(phase) }, at(100));
    }
    let expected = Tally { waiting: 3, due: 2, oldest_due: Some(at(60)), next: Some(at(60)), ..Tally::new() };
    assert_eq!(tally, expected);
    for phase in [running(50), running(101), Phase::Failed, Phase::Stalled, Phase::Stalled] {
        tally.count(&row(phase), at(100));
    }
    let lease_over = Some(at(50));
    let (failed, stalled, running) = (1, 2, 2);
    assert_eq!(
        tally,
        Tally { running, failed, stalled, due: 3, oldest_due: lease_over, next: lease_over, ..expected }
    );
}

#[test]
fn a_phase_has_its_word() {
    let words = [Phase::Waiting, running(1), Phase::Failed, Phase::Stalled].map(Phase::as_str);
    assert_eq!(words, ["waiting", "running", "failed", "stalled"]);
}

#[test]
fn reasons_are_a_set() {
    let reasons: Reasons = ["page", "job", "page"].map(reason).into_iter().collect();
    assert_eq!(reasons.iter().map(DemandReason::as_str).collect::<Vec<_>>(), ["job", "page"]);
    assert!(reasons.contains(&reason("job")) && !reasons.contains(&reason("other")));
    assert!(Reasons::none().is_empty() && !Reasons::none().contains(&reason("job")));
}

#[test]
fn only_who_claimed_a_key_extends_its_lease() {
    let mut row = row(running(10));
    assert_eq!(row.extend(Token(8), at(50)), Extended::Stale);
    assert_eq!(row.ready(), Some(at(10)));
    assert_eq!(row.extend(Token(7), at(50)), Extended::Extended);
    assert_eq!(row.ready(), Some(at(50)));
}

/// What waits for its vendor goes on waiting; what runs, runs once more, where somebody wants it.
#[test]
fn an_invalidation_makes_due_what_rests() {
    let waiting = row(Phase::Waiting);
    for (before, said, due) in [
        (waiting.clone(), Invalidated::Due(at(30)), 30),
        (Row { earliest: at(60), ..waiting.clone() }, Invalidated::Due(at(60)), 60),
        (Row { due: at(10), ..waiting.clone() }, Invalidated::Due(at(10)), 10),
        (Row { deferrals: 1, ..waiting.clone() }, Invalidated::Due(at(100)), 100),
        (Row { attempts: 1, ..waiting }, Invalidated::Due(at(100)), 100),
        (row(running(50)), Invalidated::Again, 100),
        (Row { reasons: Reasons::none(), ..row(running(50)) }, Invalidated::NotDemanded, 100),
        (row(Phase::Failed), Invalidated::Held, 100),
        (row(Phase::Stalled), Invalidated::Held, 100),
    ] {
        let mut after = before.clone();
        assert_eq!(after.invalidate(at(30)), said, "{before:?}");
        assert_eq!((after.due, after.again), (at(due), said == Invalidated::Again), "{before:?}");
    }
}

/// Each time by itself, up to the very moment.
#[test]
fn a_time_that_no_clock_can_have_meant_is_seen() {
    let seconds = Duration::from_secs;
    let bounds = Bounds { now: at(1000), rest: seconds(100), due: seconds(500), lease: seconds(60) };
    let fine = Row { due: at(1000), ..row(Phase::Waiting) };
    type Change = fn(Row, Stamp) -> Row;
    let times: [(&str, u64, Change); 7] = [
        ("due", 1100, |row, due| Row { due, ..row }),
        ("due after a failure", 1500, |row, due| Row { due, attempts: 1, ..row }),
        ("due after a deferral", 1500, |row, due| Row { due, deferrals: 1, ..row }),
        ("earliest", 1100, |row, earliest| Row { earliest, ..row }),
        ("lease", 1060, |row, until| Row { phase: Phase::Running(Claim { token: Token(7), until }), ..row }),
        ("deferred", 1000, |row, since| Row { deferred_since: Some(since), ..row }),
        ("done", 1000, |row, done| Row { done: Some(done), ..row }),
    ];
    for (name, latest, change) in times {
        let ahead = |after| change(fine.clone(), at(latest).after(after)).lies_ahead(&bounds);
        assert_eq!((ahead(Duration::ZERO), ahead(seconds(1))), (false, true), "{name}");
        let mut mended = change(fine.clone(), at(90_000));
        let _ = mended.mend(&bounds);
        assert_eq!(mended, change(fine.clone(), at(latest)), "{name}");
    }
}

#[test]
fn an_error_of_a_store_says_what_was_asked_for_and_why_not() {
    let error = StoreError::new(StoreFault::Full, "demand keys");
    assert_eq!(
        error.to_string(),
        "could not demand keys: the store has no room; give it more, or demand less"
    );
    assert!(error.source().is_none());
    let error = StoreError::new(StoreFault::Unavailable, "claim keys").because("no such file");
    assert_eq!(error.to_string(), "could not claim keys: the store cannot be reached");
    assert_eq!(error.source().map(ToString::to_string).as_deref(), Some("no such file"));
}
