//! The map and the number that says whether anything is in it, checked in every order of their steps.

use std::sync::Arc;
use std::time::Duration;

use loom::thread;

use super::Deadlines;
use super::key::UrlKey;
use crate::gate::{Gate, GateSettings, Operator};
use crate::sync::model;
use crate::time::Monotonic;

fn at(seconds: u64) -> Monotonic {
    Monotonic::ORIGIN.after(Duration::from_secs(seconds))
}

fn key(url: u64) -> UrlKey {
    UrlKey { url, authority: 1 }
}

fn with(deadlines: &Arc<Deadlines>, run: impl FnOnce(&Deadlines) + Send + 'static) -> thread::JoinHandle<()> {
    let deadlines = Arc::clone(deadlines);
    thread::spawn(move || run(&deadlines))
}

/// Whoever recorded the earlier deadline last, the later one is found to its end.
#[test]
fn the_latest_deadline_counts() {
    model(|| {
        let deadlines = Deadlines::new(10);
        let other = with(&deadlines, |deadlines| deadlines.record(key(1), at(10), false, at(0)));
        deadlines.record(key(2), at(20), false, at(0));
        assert_eq!(deadlines.get(key(2), at(15)), Some(at(20)));
        other.join().unwrap();
        assert_eq!(deadlines.get(key(1), at(5)), Some(at(10)));
        assert_eq!(deadlines.get(key(2), at(15)), Some(at(20)));
    });
}

/// What is recorded is found, or was cleared; never recorded and passed by.
#[test]
fn a_clear_forgets_the_map_and_its_number_together() {
    model(|| {
        let deadlines = Deadlines::new(10);
        let clears = with(&deadlines, Deadlines::clear);
        deadlines.record(key(1), at(10), false, at(0));
        clears.join().unwrap();
        let found = deadlines.get(key(1), at(5));
        assert_eq!(found.is_none(), deadlines.is_empty());
        // Another one shows whether the first is in the map and was not found.
        deadlines.record(key(2), at(10), false, at(0));
        assert_eq!(deadlines.get(key(1), at(5)), found);
    });
}

/// After an operator's clear nothing is found that was recorded before it.
#[test]
fn an_operators_clear_empties_the_map() {
    model(|| {
        let deadlines = Deadlines::new(10);
        deadlines.record(key(1), at(10), false, at(0));
        let gate = Gate::new("vendor", Arc::new(GateSettings::registered()));
        let clears = thread::spawn(move || drop(gate.clear(Operator::new("operator", ""), at(1))));
        deadlines.record(key(2), at(10), false, at(0));
        clears.join().unwrap();
        assert_eq!(deadlines.get(key(1), at(5)), None);
    });
}
