//! The set of keys that is asked without a lock, checked in every order of its threads' steps.

use std::sync::Arc;

use loom::thread;

use super::seen::Seen;
use crate::sync::model;

/// A key that stays is never denied while others are forgotten.
#[test]
fn a_key_that_is_held_is_never_denied() {
    model(|| {
        let seen = Arc::new(Seen::default());
        seen.hold("stays");
        seen.hold("goes");
        let forgets = {
            let seen = Arc::clone(&seen);
            thread::spawn(move || seen.hold_only(["stays"].iter()))
        };
        assert!(seen.may_hold("stays"));
        forgets.join().unwrap();
        assert!(seen.may_hold("stays") && !seen.may_hold("goes"));
    });
}
