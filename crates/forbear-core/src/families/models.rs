//! Automatic families and the table of registered ones, checked in every order of their steps.

use std::sync::Arc;
use std::time::Duration;

use http::{StatusCode, Uri};
use loom::thread;

use super::automatic::Automatic;
use super::{Families, Family, Found};
use crate::dialect::Dialect;
use crate::gate::Outcome;
use crate::signal::{Class, Signal};
use crate::sync::model;
use crate::time::Monotonic;

/// Compiled before a model: its threads have small stacks, and each would be in the other's way.
fn compile_the_dialect() {
    let _ = Dialect::standard();
}

fn at(seconds: u64) -> Monotonic {
    Monotonic::ORIGIN.after(Duration::from_secs(seconds))
}

/// Two hosts signal at once where there is room for three families, and idle ones have to go: both are found, and so
/// is one that cools.
#[test]
fn families_make_room_and_are_found() {
    compile_the_dialect();
    model(|| {
        let automatic = Arc::new(Automatic::new(&Arc::default()));
        let signal =
            Signal::new(Class::Throttled, StatusCode::TOO_MANY_REQUESTS).delay(Duration::from_secs(60));
        let cools = automatic.make("cools.test", at(1));
        let _ = cools.gate.observe(&cools.gate.foreign(at(1)), Outcome::Bad(&signal, "/"), at(1));
        drop(cools);
        for idle in ["idle.test", "still.test"] {
            drop(automatic.make(idle, at(1)));
        }
        let makes = {
            let automatic = Arc::clone(&automatic);
            thread::spawn(move || drop(automatic.make("one.test", at(2))))
        };
        drop(automatic.make("other.test", at(2)));
        assert!(automatic.get("cools.test").is_some_and(|cools| !cools.gate.is_open()));
        makes.join().unwrap();
        for host in ["one.test", "other.test", "cools.test"] {
            assert!(automatic.get(host).is_some(), "{host}");
        }
    });
}

/// A service that takes up changes never goes back to a table that it left, and has the last one in the end.
#[test]
fn a_table_is_taken_up_once_it_is_there() {
    compile_the_dialect();
    model(|| {
        let families = Families::builder().build().unwrap();
        let uri = Uri::from_static("http://one.test/");
        let mut snapshot = families.snapshot();
        let changes = {
            let families = families.clone();
            thread::spawn(move || {
                families.register(Family::new("one").host("one.test"), at(1)).unwrap();
            })
        };
        let finds = |found: Found<'_>| matches!(found, Found::Member(_));
        let mut found = false;
        for _ in 0..2 {
            snapshot.refresh();
            let now = finds(snapshot.find(&uri, None, None));
            assert!(now || !found, "it was found before");
            found = now;
        }
        changes.join().unwrap();
        snapshot.refresh();
        assert!(finds(snapshot.find(&uri, None, None)));
    });
}
