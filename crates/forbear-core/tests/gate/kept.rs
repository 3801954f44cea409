//! What of a gate is kept beyond its process, and who is told of it or of what it has to say.

use std::sync::{Arc, Mutex};

use forbear_core::gate::{Gate, GateSettings, Listeners};
use forbear_core::partition::Partition;
use forbear_core::store::Pause;

use super::support::*;

fn gate_of(name: &str, listeners: &Arc<Listeners>) -> Arc<Gate> {
    Gate::heard(name, Arc::new(GateSettings::registered()), Some(Arc::clone(listeners)))
}

#[test]
fn a_watcher_is_told_of_what_is_kept_and_of_nothing_else_until_it_is_not_wanted() {
    let listeners = Arc::new(Listeners::default());
    let told = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&told);
    listeners.watch(move |gate| seen.lock().unwrap().push(gate.key()));
    let taken = || std::mem::take(&mut *told.lock().unwrap());
    let (family, nobodys) = (gate_of("vendor", &listeners), gate_of("", &listeners));
    let part = family.partition_for(Partition::of("key"), at(0.0));
    let _ = strike(&nobodys, &throttled(), at(0.0));
    assert!(nobodys.key().is_none() && taken().is_empty());
    for gate in [&family, &part] {
        let _ = strike(gate, &throttled(), at(0.0));
        assert_eq!(taken(), [gate.key()]);
        // Who is refused changes nothing.
        let _ = refused(gate, at(1.0));
        assert!(taken().is_empty());
    }
    listeners.unwatch();
    let _ = family.clear(operator(), at(2.0));
    assert!(taken().is_empty());
}

#[test]
fn a_store_need_not_know_of_what_was_never_closed() {
    let gate = gate();
    assert!(gate.is_untouched());
    let _ = gate.pause(operator(), at(0.0));
    assert!(!gate.is_untouched());
    let _ = gate.resume(operator(), at(1.0));
    assert!(gate.is_untouched());
    let until = strike(&gate, &throttled().delay(secs(1)), at(2.0)).retry_at.unwrap();
    assert!(!gate.is_untouched());
    let _ = good(&gate, &go(&gate, until), until);
    assert!(!gate.is_untouched(), "it has a level");
}

#[test]
fn a_pause_is_kept_with_the_family_and_not_with_its_parts() {
    let family = gate_of("vendor", &Arc::new(Listeners::default()));
    let part = family.partition_for(Partition::of("key"), at(0.0));
    let kept = |gate: &Gate, seconds| gate.entry(gate.key().unwrap(), at(seconds)).pause;
    assert_eq!([kept(&family, 0.0), kept(&part, 0.0)], [Pause::Off, Pause::AsBefore]);
    let _ = family.pause(operator(), at(1.0));
    assert_eq!(kept(&family, 4.0), Pause::On { by: operator(), since: secs(3) });
    assert_eq!(kept(&part, 4.0), Pause::AsBefore);
}

#[test]
fn who_is_forgotten_is_told_nothing_more_and_the_others_are() {
    let listeners = Arc::new(Listeners::default());
    let told = Arc::new(Mutex::new(Vec::new()));
    let ids = ["one", "two", "three"].map(|name| {
        let told = Arc::clone(&told);
        listeners.add(move |_, _| told.lock().unwrap().push(name))
    });
    let gate = gate_of("vendor", &listeners);
    let event = gate.cool(secs(1), operator(), at(0.0)).remove(0);
    let told = || {
        assert_eq!(gate.tell(&event), 0);
        std::mem::take(&mut *told.lock().unwrap())
    };
    assert_eq!(told(), ["one", "two", "three"]);
    listeners.forget(ids[1]);
    assert_eq!(told(), ["one", "three"]);
    // Once more is none.
    listeners.forget(ids[1]);
    assert_eq!(told(), ["one", "three"]);
}
