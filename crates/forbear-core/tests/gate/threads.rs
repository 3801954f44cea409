//! Eight threads on one gate.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use forbear_core::gate::{Decision, Effect};

use super::support::*;

#[test]
fn counts_of_eight_threads_add_up() {
    let gate = gate();
    let (admitted, refused, struck, signals) =
        (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let clock = AtomicU64::new(0);
    let (gate_, admitted_, refused_, struck_, signals_, clock_) =
        (&gate, &admitted, &refused, &struck, &signals, &clock);
    let run = move |thread: u64| {
        for i in 0..20_000_u64 {
            let now = at(0.0).after(ms(clock_.fetch_add(1, Ordering::Relaxed)));
            match decide(gate_, now) {
                Decision::Refuse(_) => drop(refused_.fetch_add(1, Ordering::Relaxed)),
                Decision::Go(ticket) => {
                    let _ = admitted_.fetch_add(1, Ordering::Relaxed);
                    match (i + thread) % 100 {
                        0 => {
                            let effect = bad(gate_, &ticket, &throttled().delay(ms(300)), now).effect;
                            let _ = signals_.fetch_add(1, Ordering::Relaxed);
                            if effect == Effect::Struck {
                                let _ = struck_.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                        1 => drop(neutral(gate_, &ticket, now)),
                        2 => drop(not_sent(gate_, &ticket, now)),
                        3 => {}
                        _ => drop(good(gate_, &ticket, now)),
                    }
                }
            }
        }
    };
    thread::scope(|scope| {
        for i in 0..8 {
            let _ = scope.spawn(move || run(i));
        }
    });
    let end = at(100_000.0);
    let view = view(&gate, end);
    assert_eq!(view.attempts, admitted.into_inner());
    assert_eq!(view.refusals, refused.into_inner());
    assert_eq!(view.signals, signals.into_inner());
    assert_eq!(view.strikes, struck.into_inner());
    assert!(view.strikes > 1 && view.recoveries > 0);
    assert_eq!(u64::from(gate.transition(end).generation), view.strikes);
    assert!(matches!(decide(&gate, end), Decision::Go(_)));
}

#[test]
fn accepted_attempts_of_all_threads_make_a_strike_informed() {
    let gate = gate();
    thread::scope(|scope| {
        for _ in 0..8 {
            let _ = scope.spawn(|| {
                for i in 0..2 {
                    let ticket = go(&gate, at(f64::from(i)));
                    let _ = good(&gate, &ticket, at(f64::from(i)));
                }
            });
        }
    });
    assert!(!strike(&gate, &throttled(), at(3.0)).blind, "sixteen were accepted");
}

/// The one that was not refused is older than the refused one, and younger than the refusal window.
#[test]
fn an_attempt_of_another_thread_that_was_sent_before_the_refused_one_is_accepted() {
    for (sent, blind) in [(0.0, false), (0.2, true)] {
        let gate = gate();
        let ticket = go(&gate, at(0.15));
        let other = || go(&gate, at(sent));
        let _ = thread::scope(|scope| scope.spawn(other).join().unwrap());
        let strike = struck(bad(&gate, &ticket, &throttled().delay(secs(1)), at(0.2)));
        assert_eq!(strike.blind, blind, "sent at {sent}");
    }
}

#[test]
fn answers_on_another_thread_than_their_attempts_do_not_lower_the_learned_pace() {
    let gate = gate();
    let sent: Vec<_> = (0..40).map(|i| go(&gate, at(0.1 * f64::from(i)))).collect();
    let answers = || sent.iter().all(|ticket| good(&gate, ticket, at(4.0)) == Effect::None);
    assert!(thread::scope(|scope| scope.spawn(answers).join().unwrap()));
    assert!(!strike(&gate, &throttled().delay(secs(1)), at(4.0)).blind);
    let pace = gate.transition(at(4.0)).pace.unwrap();
    assert!((pace - 41.0 / 4.0).abs() < 1e-9, "{pace}: 41 in 4 s");
}
