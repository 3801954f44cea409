//! Wakers are somebody else's code: whatever runs in them may come back to the gate.

use std::sync::Arc;
use std::sync::mpsc;
use std::task::{Wake, Waker};
use std::thread;
use std::time::Duration;

use forbear_core::gate::{Ask, Gate, Turn};

use super::support::*;

/// A task whose last waker takes its future along, as small executors have it: its drop looks at the gate.
struct Looks(Arc<Gate>);

impl Wake for Looks {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Looks {
    fn drop(&mut self) {
        let _ = phase(&self.0, at(1.0));
    }
}

/// Runs `run` on a thread of its own, so that a deadlock is a failure.
#[track_caller]
fn ends(run: impl FnOnce() + Send + 'static) {
    let (done, ended) = mpsc::channel();
    let _ = thread::spawn(move || {
        run();
        let _ = done.send(());
    });
    assert!(ended.recv_timeout(Duration::from_secs(5)).is_ok(), "the gate is locked for ever");
}

fn looks(gate: &Arc<Gate>) -> Waker {
    Waker::from(Arc::new(Looks(Arc::clone(gate))))
}

#[test]
fn a_waker_that_is_replaced_by_another_tasks_may_look_at_the_gate() {
    ends(|| {
        let gate = gate();
        let _ = strike(&gate, &throttled().delay(secs(60)), at(0.0));
        let mut place = gate.place(&Ask::new(at(0.0)), (at(0.0), 0.0), None, at(0.0)).0.unwrap();
        for _ in 0..2 {
            assert!(matches!(place.turn(&looks(&gate), at(0.0)).0, Turn::Sleep(_)));
        }
    });
}

#[test]
fn the_waker_of_a_dropped_place_may_look_at_the_gate() {
    ends(|| {
        let gate = gate();
        let _ = strike(&gate, &throttled().delay(secs(60)), at(0.0));
        let mut place = gate.place(&Ask::new(at(0.0)), (at(0.0), 0.0), None, at(0.0)).0.unwrap();
        assert!(matches!(place.turn(&looks(&gate), at(0.0)).0, Turn::Sleep(_)));
        drop(place);
    });
}

#[test]
fn the_waker_of_who_is_served_may_look_at_the_gate() {
    ends(|| {
        let gate = gate();
        let _ = strike(&gate, &throttled().delay(secs(60)), at(0.0));
        let mut place = gate.place(&Ask::new(at(0.0)), (at(0.0), 0.0), None, at(0.0)).0.unwrap();
        assert!(matches!(place.turn(&looks(&gate), at(0.0)).0, Turn::Sleep(_)));
        assert!(matches!(place.turn(&looks(&gate), at(61.0)).0, Turn::Ask(_)));
    });
}
