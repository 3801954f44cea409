//! "Shutdown": nobody waits any more, and nobody is sent for it.

use std::sync::Arc;

use forbear_core::gate::{
    Ask, Decision, Effect, Gate, GateSettings, Listeners, Phase, Priority, RefusalCause, Turn,
};
use forbear_core::partition::Partition;
use forbear_core::time::Monotonic;

use super::support::*;

/// A gate of a set.
fn gate_of(listeners: &Arc<Listeners>) -> Arc<Gate> {
    Gate::heard("vendor", Arc::new(GateSettings::registered()), Some(Arc::clone(listeners)))
}

/// Callers that sleep at `now`, interactive and background in turn.
fn sleeping(gate: &Arc<Gate>, callers: usize, now: Monotonic) -> Vec<Waiting> {
    let priorities = [Priority::Interactive, Priority::Background].into_iter().cycle();
    let mut waiting: Vec<_> = priorities
        .take(callers)
        .map(|priority| Waiting::park(gate, &Ask::new(now).priority(priority), now))
        .collect();
    for caller in &mut waiting {
        let _ = caller.sleeps(now);
    }
    waiting
}

/// Every one was woken by the shutdown, and is refused when it looks.
#[track_caller]
fn all_are_refused(gate: &Gate, mut waiting: Vec<Waiting>, retry_at: Option<Monotonic>, now: Monotonic) {
    let attempts = view(gate, now).attempts;
    assert!(waiting.iter().all(|caller| caller.count.woken() > 0));
    for caller in &mut waiting {
        let refusal = caller.turned_away(now);
        assert_eq!(
            (refusal.cause, refusal.retry_at, refusal.waitable),
            (RefusalCause::ShuttingDown, retry_at, false)
        );
    }
    let after = view(gate, now);
    assert_eq!((after.waiting, after.attempts), (0, attempts));
}

#[test]
fn who_waits_for_a_cool_down_is_woken_and_refused() {
    let listeners = Arc::default();
    let gate = gate_of(&listeners);
    let _ = strike(&gate, &throttled().delay(secs(60)), at(0.0));
    let waiting = sleeping(&gate, 1_000, at(1.0));
    assert_eq!(listeners.shut_down(at(2.0)), Some(1_000));
    all_are_refused(&gate, waiting, Some(at(60.0)), at(2.0));
    let turned_away = Waiting::try_park(&gate, &Ask::new(at(3.0)), 0.0, at(3.0)).unwrap_err();
    assert_eq!((turned_away.cause, turned_away.retry_at), (RefusalCause::ShuttingDown, Some(at(60.0))));
    assert_eq!(listeners.shut_down(at(4.0)), None);
    assert!(listeners.shuts_down() && gate.shuts_down());
}

#[test]
fn who_waits_for_a_part_of_a_family_is_refused_too() {
    let listeners = Arc::default();
    let part = gate_of(&listeners).partition_for(Partition::of("a credential"), at(0.0));
    let _ = strike(&part, &throttled().delay(secs(60)), at(0.0));
    let waiting = sleeping(&part, 10, at(1.0));
    assert_eq!(listeners.shut_down(at(2.0)), Some(10));
    all_are_refused(&part, waiting, Some(at(60.0)), at(2.0));
}

#[test]
fn who_waits_for_a_probe_is_refused_and_the_probe_is_judged() {
    for well in [true, false] {
        let listeners = Arc::default();
        let gate = gate_of(&listeners);
        let _ = strike(&gate, &throttled().delay(secs(5)), at(0.0));
        let probe = go(&gate, at(5.0));
        let waiting = sleeping(&gate, 100, at(5.0));
        let _ = listeners.shut_down(at(5.1));
        // The lease ends after 30 s.
        all_are_refused(&gate, waiting, Some(at(35.0)), at(5.1));
        if well {
            assert_eq!(good(&gate, &probe, at(5.2)), Effect::Recovered);
            let _ = go(&gate, at(5.2));
        } else {
            let again = struck(bad(&gate, &probe, &throttled().delay(secs(5)), at(5.2)));
            assert_eq!((again.level, again.retry_at), (2, Some(at(10.2))));
        }
    }
}

#[test]
fn who_waits_for_a_probe_that_nobody_sent_is_refused_and_none_of_them_is_the_probe() {
    let listeners = Arc::default();
    let gate = gate_of(&listeners);
    let _ = strike(&gate, &throttled().delay(secs(5)), at(0.0));
    let waiting = sleeping(&gate, 100, at(1.0));
    let _ = listeners.shut_down(at(5.0));
    all_are_refused(&gate, waiting, Some(at(5.0)), at(5.0));
    assert_eq!(phase(&gate, at(5.0)), Phase::Probing);
    // One that need not wait still may.
    assert!(go(&gate, at(5.0)).is_probe());
}

#[test]
fn who_waits_for_a_place_in_a_recovery_is_refused() {
    let listeners = Arc::default();
    let gate = gate_of(&listeners);
    let now = recovering(&gate, secs(5), at(0.0));
    while matches!(gate.admit(&Ask::new(now), now).0, Decision::Go(_)) {}
    let waiting = sleeping(&gate, 100, now);
    let _ = listeners.shut_down(now);
    all_are_refused(&gate, waiting, None, now);
}

#[test]
fn a_grant_of_before_is_good_and_goes_to_nobody_else_when_it_is_dropped() {
    let listeners = Arc::default();
    let gate = gate_of(&listeners);
    let _ = strike(&gate, &throttled().delay(secs(5)), at(0.0));
    let mut first = Waiting::park(&gate, &Ask::new(at(1.0)), at(1.0));
    let waiting = sleeping(&gate, 10, at(1.0));
    let grant = first.granted(at(5.0)).expect("the probe's lease");
    let _ = listeners.shut_down(at(5.0));
    drop(grant);
    all_are_refused(&gate, waiting, Some(at(5.0)), at(5.0));
    assert_eq!(view(&gate, at(5.0)).attempts, 1);
}

#[test]
fn other_sets_wait_on_and_a_gate_made_later_is_of_its_set() {
    let (listeners, others) = (Arc::default(), Arc::default());
    let [gate, other] = [gate_of(&listeners), gate_of(&others)];
    for gate in [&gate, &other] {
        let _ = strike(gate, &throttled().delay(secs(60)), at(0.0));
    }
    let waiting = sleeping(&other, 3, at(1.0));
    assert_eq!(listeners.shut_down(at(2.0)), Some(0));
    assert!(!other.shuts_down() && waiting.iter().all(|caller| caller.count.woken() == 0));
    let late = gate_of(&listeners);
    let _ = strike(&late, &throttled().delay(secs(60)), at(3.0));
    assert!(Waiting::try_park(&late, &Ask::new(at(3.0)), 0.0, at(3.0)).is_err());
    assert!(Waiting::try_park(&other, &Ask::new(at(3.0)), 0.0, at(3.0)).is_ok());
}

#[test]
fn who_comes_while_it_happens_is_refused_or_woken() {
    let listeners: Arc<Listeners> = Arc::default();
    let gate = gate_of(&listeners);
    let _ = strike(&gate, &throttled().delay(secs(60)), at(0.0));
    let parks = || {
        let mut slept = Vec::new();
        // Until one is refused: then it has happened.
        while let Ok(mut caller) = Waiting::try_park(&gate, &Ask::new(at(1.0)), 0.0, at(1.0)) {
            match caller.turn(at(1.0)) {
                Turn::Sleep(_) => slept.push(caller),
                Turn::Refused(_) => break,
                Turn::Ask(_) => return None,
            }
        }
        Some(slept)
    };
    let slept: Vec<_> = std::thread::scope(|scope| {
        let parking: Vec<_> = (0..4).map(|_| scope.spawn(parks)).collect();
        while view(&gate, at(1.0)).waiting < 100 {
            std::thread::yield_now();
        }
        let _ = listeners.shut_down(at(1.0));
        parking.into_iter().map(|parks| parks.join().unwrap().expect("nobody is served")).collect()
    });
    all_are_refused(&gate, slept.into_iter().flatten().collect(), Some(at(60.0)), at(1.0));
}

#[test]
fn wakers_that_come_back_to_the_gate_do_not_meet_its_lock() {
    let listeners: Arc<Listeners> = Arc::default();
    let gate = gate_of(&listeners);
    let _ = strike(&gate, &throttled().delay(secs(60)), at(0.0));
    let looks = |gate: &Arc<Gate>| {
        let gate = Arc::clone(gate);
        struct Looks(Arc<Gate>);
        impl std::task::Wake for Looks {
            fn wake(self: Arc<Self>) {}
        }
        impl Drop for Looks {
            fn drop(&mut self) {
                let _ = self.0.view(at(9.0));
            }
        }
        std::task::Waker::from(Arc::new(Looks(gate)))
    };
    let mut place = gate.place(&Ask::new(at(1.0)), (Monotonic::ORIGIN, 0.0), None, at(1.0)).0.unwrap();
    let _ = place.turn(&looks(&gate), at(1.0));
    let _ = listeners.shut_down(at(2.0));
    let _ = place.turn(&looks(&gate), at(2.0));
    assert_eq!(view(&gate, at(3.0)).waiting, 0);
}
