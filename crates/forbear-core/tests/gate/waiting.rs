//! "Waiting": places in the queue, wake-ups, and nothing that gets stuck.

use std::sync::Arc;
use std::time::Duration;

use forbear_core::gate::{Ask, Effect, Gate, GateSettings, Grant, Phase, Priority, RefusalCause, Turn};
use forbear_core::time::Monotonic;

use super::support::*;

#[test]
fn at_most_so_many_wait_and_one_more_is_refused() {
    let gate = gate();
    let _ = strike(&gate, &throttled().delay(secs(60)), at(0.0));
    let mut waiting: Vec<_> =
        (0..10_000).map(|_| Waiting::park(&gate, &Ask::new(at(1.0)), at(1.0))).collect();
    let refusal = Waiting::try_park(&gate, &Ask::new(at(1.0)), 0.0, at(1.0)).unwrap_err();
    assert_eq!((refusal.cause, refusal.waitable), (RefusalCause::Crowded, false));
    assert_eq!(view(&gate, at(1.0)).waiting, 10_000);
    drop(waiting.pop());
    waiting.push(Waiting::park(&gate, &Ask::new(at(1.0)), at(1.0)));
    drop(waiting);
    assert_eq!(view(&gate, at(1.0)).waiting, 0);
}

#[test]
fn the_bound_is_a_setting() {
    let gate = gate_with(GateSettings::registered().max_waiters(2));
    let _ = strike(&gate, &throttled().delay(secs(60)), at(0.0));
    let _waiting = [0, 1].map(|_| Waiting::park(&gate, &Ask::new(at(1.0)), at(1.0)));
    assert!(Waiting::try_park(&gate, &Ask::new(at(1.0)), 0.0, at(1.0)).is_err());
}

#[test]
fn a_wait_that_does_not_fit_is_refused_at_once() {
    let gate = gate();
    let _ = strike(&gate, &throttled().delay(secs(60)), at(0.0));
    let ask = Ask::new(at(1.0)).deadline(at(60.0));
    assert!(!ask.fits(at(60.0)) && ask.fits(at(59.999)));
    let mut waiting = Waiting::park(&gate, &ask, at(1.0));
    let refusal = waiting.turned_away(at(1.0));
    assert_eq!((refusal.cause, refusal.retry_at), (RefusalCause::Cooling, Some(at(60.0))));
}

#[test]
fn jitter_adds_a_tenth_but_at_most_a_second() {
    for (delay, draw, expected) in [(5, 1.0, 5.5), (5, 0.5, 5.25), (60, 1.0, 61.0), (60, 0.0, 60.0)] {
        let gate = gate();
        let _ = strike(&gate, &throttled().delay(secs(delay)), at(0.0));
        let mut waiting = Waiting::try_park(&gate, &Ask::new(at(0.0)), draw, at(0.0)).unwrap();
        assert_eq!(waiting.sleeps(at(0.0)), at(expected));
        assert_eq!(waiting.sleeps(at(3.0)), at(expected), "it is drawn once");
    }
}

#[test]
fn who_waited_for_a_verdict_waits_for_the_new_cooldown_with_jitter_too() {
    let gate = gate();
    let _ = strike(&gate, &throttled().delay(secs(5)), at(0.0));
    let probe = go(&gate, at(5.0));
    let mut waiting = Waiting::try_park(&gate, &Ask::new(at(5.0)), 1.0, at(5.0)).unwrap();
    let _ = waiting.sleeps(at(5.0));
    let _ = bad(&gate, &probe, &throttled().delay(secs(5)), at(5.1));
    assert_eq!(waiting.sleeps(at(5.1)), at(10.6));
    assert_eq!(waiting.sleeps(at(10.2)), at(10.6), "others wake it early: its time has not come");
}

#[test]
fn jitter_is_clipped_to_fit_the_budget() {
    let gate = gate();
    let _ = strike(&gate, &throttled().delay(secs(60)), at(0.0));
    let ask = Ask::new(at(0.0)).deadline(at(60.2));
    let mut waiting = Waiting::try_park(&gate, &ask, 1.0, at(0.0)).unwrap();
    let until = waiting.sleeps(at(0.0));
    assert!(until >= at(60.0) && until < at(60.2), "{until:?}");
    assert!(waiting.granted(until).is_some());
}

#[test]
fn a_time_the_caller_was_told_itself_is_waited_for_too() {
    let gate = gate();
    let _ = strike(&gate, &throttled().delay(secs(5)), at(0.0));
    let place = gate.place(&Ask::new(at(0.0)), (at(20.0), 0.0), None, at(0.0)).0;
    let turn = place.unwrap().turn(std::task::Waker::noop(), at(0.0)).0;
    assert!(matches!(turn, Turn::Sleep(until) if until == at(20.0)));
}

#[test]
fn the_end_of_the_budget_ends_the_wait() {
    let gate = gate();
    let _ = strike(&gate, &throttled().delay(secs(5)), at(0.0));
    let probe = go(&gate, at(5.0));
    let mut waiting = Waiting::park(&gate, &Ask::new(at(5.0)).deadline(at(5.2)), at(5.0));
    assert!(waiting.sleeps(at(5.0)) <= at(5.2));
    let refusal = waiting.turned_away(at(5.2));
    assert!(!refusal.waitable);
    assert_eq!(view(&gate, at(5.2)).waiting, 0);
    let _ = good(&gate, &probe, at(5.2));
}

#[test]
fn while_probing_a_caller_with_budget_waits_and_decides_again_at_the_verdict() {
    let gate = gate();
    let _ = strike(&gate, &throttled().delay(secs(5)), at(0.0));
    let probe = go(&gate, at(5.0));
    let mut short = Waiting::park(&gate, &Ask::new(at(5.0)).deadline(at(9.0)), at(5.0));
    let mut long = Waiting::park(&gate, &Ask::new(at(5.0)).deadline(at(90.0)), at(5.0));
    let _ = (short.sleeps(at(5.0)), long.sleeps(at(5.0)));
    let until = struck(bad(&gate, &probe, &throttled().delay(secs(5)), at(5.1))).retry_at.unwrap();
    assert!(short.stirs(at(5.1)) && long.stirs(at(5.1)));
    assert_eq!(short.turned_away(at(5.1)).retry_at, Some(until));
    assert_eq!(long.sleeps(at(5.1)), until);
}

#[test]
fn a_good_verdict_wakes_callers_early() {
    let gate = gate();
    let _ = strike(&gate, &throttled().delay(secs(5)), at(0.0));
    let ask = Ask::new(at(1.0));
    let mut waiting = Waiting::try_park(&gate, &ask, 1.0, at(1.0)).unwrap();
    assert_eq!(waiting.sleeps(at(1.0)), at(5.4));
    let probe = go(&gate, at(5.0));
    let _ = good(&gate, &probe, at(5.05));
    assert!(waiting.stirs(at(5.05)));
    let grant = waiting.granted(at(5.05));
    let _ = go_as(&gate, &with_grant(ask, grant.as_ref()), at(5.05));
}

#[test]
fn an_extension_is_waited_out_and_refuses_whom_it_does_not_fit() {
    let gate = gate();
    let old = go(&gate, at(0.0));
    let _ = strike(&gate, &throttled().delay(secs(5)), at(0.0));
    let mut short = Waiting::park(&gate, &Ask::new(at(0.0)).deadline(at(8.0)), at(0.0));
    let mut long = Waiting::park(&gate, &Ask::new(at(0.0)), at(0.0));
    let _ = (short.sleeps(at(0.0)), long.sleeps(at(0.0)));
    let _ = bad(&gate, &old, &throttled().delay(secs(9)), at(1.0));
    assert!(short.stirs(at(1.0)));
    assert_eq!(short.turned_away(at(1.0)).retry_at, Some(at(10.0)));
    assert_eq!(long.sleeps(at(5.0)), at(10.0));
}

/// Fifty answers with the same delay, each a millisecond later than the one before.
#[test]
fn a_burst_of_extensions_does_not_wake_everybody_each_time() {
    let gate = gate();
    let old: Vec<_> = (0..50).map(|_| go(&gate, at(0.0))).collect();
    let _ = strike(&gate, &throttled().delay(secs(5)), at(0.0));
    let mut waiting: Vec<_> = (0..100).map(|_| Waiting::park(&gate, &Ask::new(at(0.0)), at(0.0))).collect();
    for waiting in &mut waiting {
        let _ = waiting.sleeps(at(0.0));
    }
    for (i, ticket) in (1..).zip(&old) {
        let now = at(0.001 * f64::from(i));
        let _ = bad(&gate, ticket, &throttled().delay(secs(5)), now);
        for waiting in waiting.iter_mut().filter(|waiting| waiting.stirs(now)) {
            let _ = waiting.sleeps(now);
        }
    }
    let woken: usize = waiting.iter().map(|waiting| waiting.count.woken()).sum();
    assert!(woken <= 100, "{woken} wake-ups of 100 callers that all still fit");
}

#[test]
fn interactive_callers_wait_before_background_ones() {
    let gate = gate();
    let start = recovering(&gate, secs(1), at(0.0));
    while let forbear_core::gate::Decision::Go(_) = decide(&gate, start) {}
    let mut background = Waiting::park(&gate, &Ask::new(at(0.1)).priority(Priority::Background), start);
    let mut interactive = Waiting::park(&gate, &Ask::new(at(0.5)), start);
    let later = start.after(secs(1));
    let _ = background.sleeps(later);
    let grant = interactive.granted(later);
    assert!(grant.is_some());
    assert!(background.stirs(later));
}

/// Polls whoever has a reason, millisecond by millisecond; what was sent, and how often somebody was polled or woken.
struct Crowd {
    callers: Vec<(Ask, Option<Waiting>)>,
    sent: usize,
    polled: usize,
    /// Wakers of callers that are gone.
    woken: usize,
    refused: usize,
}

impl Crowd {
    fn park(gate: &Arc<Gate>, callers: usize, now: Monotonic) -> Self {
        let spread = |i: usize| i as f64 / callers as f64;
        let park = |i| {
            let ask = Ask::new(now.after(Duration::from_nanos(i as u64)));
            (ask, Some(Waiting::try_park(gate, &ask, spread(i), now).unwrap()))
        };
        Self { callers: (0..callers).map(park).collect(), sent: 0, polled: 0, woken: 0, refused: 0 }
    }

    /// Lets everybody look who would be polled at `now`; the tickets of those who sent.
    fn poll(&mut self, gate: &Gate, now: Monotonic) -> Vec<forbear_core::gate::Ticket> {
        let mut tickets = Vec::new();
        let mut again = true;
        while again {
            again = false;
            for (ask, slot) in &mut self.callers {
                let Some(waiting) = slot.as_mut().filter(|waiting| waiting.stirs(now)) else { continue };
                self.polled += 1;
                again = true;
                let done = match waiting.turn(now) {
                    Turn::Sleep(_) => false,
                    Turn::Refused(_) => {
                        self.refused += 1;
                        true
                    }
                    Turn::Ask(grant) => {
                        tickets.push(go_as(gate, &with_grant(*ask, grant.as_ref()), now));
                        self.sent += 1;
                        true
                    }
                };
                if done {
                    self.woken += slot.take().map_or(0, |waiting| waiting.count.woken());
                }
            }
        }
        tickets
    }
}

#[test]
fn a_recovering_crowd_is_woken_less_than_twice_per_grant_and_polls_little() {
    let gate = gate();
    let _ = strike(&gate, &throttled().delay(secs(5)), at(0.0));
    let mut crowd = Crowd::park(&gate, 500, at(1.0));
    let _ = crowd.poll(&gate, at(1.0));
    let mut millisecond = 5_000;
    while crowd.sent < 500 {
        let now = at(0.001 * f64::from(millisecond));
        for ticket in crowd.poll(&gate, now) {
            let _ = good(&gate, &ticket, now);
        }
        millisecond += 1;
        assert!(millisecond < 60_000, "{} of 500 after a minute", crowd.sent);
    }
    assert!(crowd.woken < 2 * 500, "{} wake-ups for 500 grants", crowd.woken);
    assert!(crowd.polled < 6 * 500, "{} looks for 500 grants", crowd.polled);
    assert_eq!(view(&gate, at(70.0)).waiting, 0);
}

#[test]
fn a_strike_wakes_each_once_and_nobody_is_sent_before_the_new_deadline() {
    let gate = gate();
    let _ = strike(&gate, &throttled().delay(secs(5)), at(0.0));
    let mut crowd = Crowd::park(&gate, 300, at(1.0));
    let _ = crowd.poll(&gate, at(1.0));
    let mut now = at(5.0);
    let mut strikes = 0;
    while strikes < 3 {
        for ticket in crowd.poll(&gate, now) {
            assert!(ticket.is_probe());
            let _ = bad(&gate, &ticket, &throttled().delay(secs(5)), now);
            strikes += 1;
        }
        now = now.after(ms(1));
    }
    assert_eq!(crowd.sent, 3);
    let standing: usize =
        crowd.callers.iter().filter_map(|(_, waiting)| waiting.as_ref()).map(|w| w.count.woken()).sum();
    assert!(standing + crowd.woken <= 4 * 300, "{standing} wake-ups for 3 strikes and 300 callers");
}

#[test]
fn a_dropped_place_hands_its_wake_up_on() {
    let gate = gate();
    let slow = go(&gate, at(0.0));
    let until = struck(bad(&gate, &slow, &throttled().delay(secs(5)), at(2.0))).retry_at.unwrap();
    let mut crowd = Crowd::park(&gate, 20, at(2.0));
    let probe = go(&gate, until);
    let mut now = until.after(secs(1));
    assert!(crowd.poll(&gate, now).is_empty(), "the probe is out for up to 5 s");
    let _ = good(&gate, &probe, now);
    let mut sent = 0;
    // Whoever is first is cancelled when it was woken and has not looked yet.
    while let Some((_, first)) = crowd.callers.iter_mut().find(|(_, waiting)| waiting.is_some()) {
        drop(first.take());
        sent += crowd.poll(&gate, now).len();
        now = now.after(ms(500));
        assert!(now < at(60.0), "{sent} were sent");
    }
    assert!(sent >= 5, "{sent}");
    assert_eq!(view(&gate, now).waiting, 0);
}

/// A recovering gate without a free token at the time returned.
fn without_a_token() -> (Arc<Gate>, Monotonic) {
    let gate = gate();
    for i in 0..5 {
        let ticket = go(&gate, at(f64::from(i)));
        let _ = good(&gate, &ticket, at(f64::from(i)));
    }
    let until = strike(&gate, &throttled().delay(secs(1)), at(5.0)).retry_at.unwrap();
    let probe = go(&gate, until);
    let _ = good(&gate, &probe, until);
    let _ = go(&gate, until);
    let _ = refused(&gate, until);
    (gate, until)
}

/// When the first of `callers` is served, if those that have a reason to are polled every 10 ms.
fn served_at(
    gate: &Gate,
    callers: &mut [Waiting],
    from: Monotonic,
    within: Duration,
) -> Option<(Monotonic, Option<Grant>)> {
    let mut now = from;
    while now <= from.after(within) {
        for caller in callers.iter_mut() {
            if caller.stirs(now)
                && let Turn::Ask(grant) = caller.turn(now)
            {
                return Some((now, grant));
            }
        }
        let _ = phase(gate, now);
        now = now.after(ms(10));
    }
    None
}

#[test]
fn a_caller_whose_future_is_held_but_not_polled_lets_the_others_pass() {
    for (held_first, held_last) in [(1, 0), (1, 1), (2, 0), (2, 1), (3, 2)] {
        let (gate, start) = without_a_token();
        let park = |i: u64| {
            let mut waiting = Waiting::park(&gate, &Ask::new(start.after(Duration::from_nanos(i))), start);
            let _ = waiting.sleeps(start);
            waiting
        };
        let _held: Vec<_> = (0..held_first).map(park).collect();
        let mut alive = [park(10)];
        let _held_too: Vec<_> = (20..20 + held_last).map(park).collect();
        let served = served_at(&gate, &mut alive, start, secs(60));
        assert!(served.is_some(), "{held_first} before and {held_last} behind: nobody is served in a minute");
    }
}

#[test]
fn when_the_last_in_line_leaves_a_held_first_one_is_still_passed_over() {
    let (gate, start) = without_a_token();
    let park = |i: u64| {
        let mut waiting = Waiting::park(&gate, &Ask::new(start.after(Duration::from_nanos(i))), start);
        let _ = waiting.sleeps(start);
        waiting
    };
    let _held = park(0);
    let mut alive = [park(1)];
    drop(park(2));
    assert!(served_at(&gate, &mut alive, start, secs(60)).is_some());
}

#[test]
fn a_held_future_does_not_shut_out_callers_that_cannot_wait() {
    let (gate, start) = without_a_token();
    let mut held = Waiting::park(&gate, &Ask::new(start), start);
    let _ = held.sleeps(start);
    let served = (1..30_u32).any(|second| {
        let now = start.after(secs(second.into()));
        matches!(decide(&gate, now), forbear_core::gate::Decision::Go(_))
    });
    assert!(served, "refused for half a minute because of one future that nobody polls");
}

#[test]
fn a_held_future_does_not_keep_a_family_recovering() {
    let (gate, start) = without_a_token();
    let mut held = Waiting::park(&gate, &Ask::new(start), start);
    let _ = held.sleeps(start);
    for second in 0..60 {
        let _ = phase(&gate, start.after(secs(second)));
    }
    assert_eq!(phase(&gate, start.after(secs(60))), Phase::Open);
    assert!(matches!(held.turn(start.after(secs(60))), Turn::Ask(_)), "and is served when it looks");
}

#[test]
fn futures_that_nobody_polls_any_more_do_not_hold_up_a_recovery_one_by_one() {
    let gate = gate();
    let until = strike(&gate, &throttled().delay(secs(5)), at(0.0)).retry_at.unwrap();
    let park = |i: u64| {
        let mut waiting = Waiting::park(&gate, &Ask::new(at(0.0).after(Duration::from_nanos(i))), at(0.0));
        let _ = waiting.sleeps(at(0.0));
        waiting
    };
    let _held: Vec<_> = (0..100).map(park).collect();
    let probe = go(&gate, until);
    // Wakes them all; none looks.
    let until = struck(bad(&gate, &probe, &throttled().delay(secs(5)), until)).retry_at.unwrap();
    let probe = go(&gate, until);
    assert_eq!(good(&gate, &probe, until), Effect::Recovered);
    let mut alive = [Waiting::park(&gate, &Ask::new(until), until)];
    let _ = alive[0].turn(until);
    let served = served_at(&gate, &mut alive, until, secs(200)).map(|(at, _)| at.since(until));
    assert!(served.is_some_and(|took| took < secs(5)), "{served:?}");
}

#[test]
fn who_leaves_while_the_family_cools_wakes_nobody() {
    let gate = gate();
    let _ = strike(&gate, &throttled().delay(secs(5)), at(0.0));
    let mut waiting = [at(0.0), at(1.0)].map(|entered| Waiting::park(&gate, &Ask::new(entered), at(1.0)));
    for waiting in &mut waiting {
        let _ = waiting.sleeps(at(1.0));
    }
    let [first, second] = waiting;
    drop(first);
    assert_eq!(second.count.woken(), 0);
}

#[test]
fn the_second_in_line_goes_when_the_first_has_not_looked_for_a_second() {
    let (gate, start) = without_a_token();
    let mut held = Waiting::park(&gate, &Ask::new(start), start);
    let due = held.sleeps(start);
    let mut next = Waiting::park(&gate, &Ask::new(start.after(ms(1))), start);
    let _ = next.sleeps(start);
    let _ = next.sleeps(due.after(ms(999)));
    assert!(next.granted(due.after(secs(1))).is_some());
}
