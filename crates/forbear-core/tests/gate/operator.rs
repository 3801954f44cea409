//! Pause, resume and clear.

use forbear_core::deadlines::Deadlines;
use forbear_core::gate::{
    Act, Ask, Effect, Event, GateSettings, Operator, Outcome, Phase, RefusalCause, clears,
};
use forbear_core::partition::Partition;
use forbear_core::signal::Class;
use http::Uri;

use super::support::*;

#[test]
fn a_pause_refuses_at_once_without_a_time_and_is_never_waited_out() {
    let gate = gate();
    let _ = gate.pause(operator(), at(0.0));
    let refusal = refused(&gate, at(1.0));
    assert_eq!((refusal.cause, refusal.retry_at, refusal.waitable), (RefusalCause::Paused, None, false));
    let turned_away = Waiting::try_park(&gate, &Ask::new(at(1.0)), 0.0, at(1.0)).unwrap_err();
    assert_eq!((turned_away.cause, turned_away.retry_at), (RefusalCause::Paused, None));
    let view = view(&gate, at(1.0));
    assert_eq!((view.phase, view.until, view.by_operator), (Phase::Paused, None, true));
    let acted = view.acted.unwrap();
    assert_eq!((acted.act, &acted.by, acted.at), (Act::Pause, &operator(), at(0.0)));
    assert_eq!(refusal.operator, Some(acted));
}

#[test]
fn a_pause_turns_away_whoever_waits() {
    let gate = gate();
    let _ = strike(&gate, &throttled().delay(secs(60)), at(0.0));
    let mut waiting = Waiting::park(&gate, &Ask::new(at(1.0)), at(1.0));
    let _ = waiting.sleeps(at(1.0));
    let _ = gate.pause(operator(), at(2.0));
    assert_eq!(waiting.count.woken(), 1);
    assert_eq!(waiting.turned_away(at(2.0)).cause, RefusalCause::Paused);
    assert_eq!(view(&gate, at(2.0)).waiting, 0);
}

#[test]
fn after_a_pause_the_gate_goes_on_where_it_was() {
    let gate = gate();
    let _ = gate.pause(operator(), at(0.0));
    let _ = gate.resume(operator(), at(1.0));
    let _ = go(&gate, at(1.0));
    let _ = strike(&gate, &throttled().delay(secs(60)), at(2.0));
    let _ = gate.pause(operator(), at(3.0));
    let _ = gate.resume(operator(), at(4.0));
    assert_eq!(refused(&gate, at(4.0)).retry_at, Some(at(62.0)));
    let _ = gate.pause(operator(), at(5.0));
    let _ = gate.resume(operator(), at(70.0));
    assert!(go(&gate, at(70.0)).is_probe());
}

#[test]
fn a_clear_starts_a_new_epoch_in_recovery_at_level_zero() {
    let gate = gate();
    let mut now = at(0.0);
    for _ in 0..4 {
        now = strike(&gate, &throttled(), now).retry_at.unwrap();
    }
    let _ = strike(&gate, &throttled(), now);
    let epoch = gate.transition(now).epoch;
    let _ = gate.clear(operator(), now);
    let cleared = gate.transition(now);
    assert_eq!((cleared.epoch, cleared.level, cleared.pace), (epoch + 1, 0, None));
    assert_eq!(cleared.remaining, std::time::Duration::ZERO);
    assert_eq!(view(&gate, now).phase, Phase::Recovering);
    let _ = go(&gate, now);
    let strike = strike(&gate, &throttled(), now);
    assert_eq!(strike.level, 1);
}

#[test]
fn a_clear_forgets_the_learned_pace() {
    let gate = gate();
    for i in 0..20 {
        let ticket = go(&gate, at(0.1 * f64::from(i)));
        let _ = good(&gate, &ticket, at(0.1 * f64::from(i)));
    }
    let _ = strike(&gate, &throttled().delay(secs(5)), at(2.0));
    assert!(gate.transition(at(2.0)).pace.is_some());
    let _ = gate.clear(operator(), at(3.0));
    assert_eq!(gate.transition(at(3.0)).pace, None);
}

#[test]
fn answers_from_an_older_epoch_change_nothing() {
    let gate = gate();
    let (bad_one, good_one, neutral_one) = (go(&gate, at(0.0)), go(&gate, at(0.0)), go(&gate, at(0.0)));
    let _ = strike(&gate, &throttled().delay(secs(5)), at(0.0));
    let probe = go(&gate, at(5.0));
    let _ = gate.clear(operator(), at(5.1));
    let before = gate.transition(at(5.1));
    for ticket in [bad_one, probe] {
        assert_eq!(bad(&gate, &ticket, &throttled().delay(secs(60)), at(5.1)).effect, Effect::None);
    }
    for ticket in [good_one, neutral_one, probe] {
        let _ = (good(&gate, &ticket, at(5.1)), neutral(&gate, &ticket, at(5.1)));
        assert_eq!(not_sent(&gate, &ticket, at(5.1)), Effect::None);
    }
    assert_eq!(gate.transition(at(5.1)), before);
    assert_eq!(phase(&gate, at(5.1)), Phase::Recovering);
}

#[test]
fn a_clear_wakes_whoever_waits() {
    let gate = gate();
    let _ = strike(&gate, &throttled().delay(secs(60)), at(0.0));
    let mut waiting = Waiting::park(&gate, &Ask::new(at(1.0)), at(1.0));
    assert_eq!(waiting.sleeps(at(1.0)), at(60.0));
    let before = clears();
    let _ = gate.clear(operator(), at(2.0));
    assert!(clears() > before);
    assert_eq!(waiting.count.woken(), 1);
    let grant = waiting.granted(at(2.0));
    let _ = go_as(&gate, &with_grant(Ask::new(at(1.0)), grant.as_ref()), at(2.0));
}

#[test]
fn an_operators_cool_down_ends_like_a_vendors_and_leaves_the_level() {
    let gate = gate();
    let _ = go(&gate, at(0.0));
    let events = gate.cool(secs(30), operator(), at(1.0));
    assert!(matches!(&*events, [Event::Operator(acted)] if acted.act == Act::Cool(secs(30))), "{events:?}");
    let refusal = refused(&gate, at(2.0));
    assert_eq!(
        (refusal.cause, refusal.retry_at, refusal.waitable),
        (RefusalCause::Cooling, Some(at(31.0)), true)
    );
    assert_eq!(refusal.operator.unwrap().by, operator());
    let seen = view(&gate, at(2.0));
    assert_eq!((seen.level, seen.strikes, seen.by_operator), (0, 0, true));
    let probe = go(&gate, at(31.0));
    assert!(probe.is_probe());
    assert_eq!(gate.observe(&probe, Outcome::Good, at(31.1)).effect, Effect::Recovered);
    let seen = view(&gate, at(31.2));
    assert_eq!((seen.phase, seen.by_operator), (Phase::Recovering, false));
    assert!(seen.acted.is_some());
}

#[test]
fn an_operators_cool_down_never_shortens_the_vendors() {
    let gate = gate();
    let _ = strike(&gate, &throttled().delay(secs(60)), at(0.0));
    let _ = gate.cool(secs(5), operator(), at(1.0));
    let refusal = refused(&gate, at(1.0));
    assert_eq!((refusal.retry_at, refusal.operator), (Some(at(60.0)), None));
    // As long as it runs anyway: nothing changes.
    let _ = gate.cool(secs(58), operator(), at(2.0));
    assert_eq!(refused(&gate, at(2.0)).operator, None);
    let _ = gate.cool(secs(120), operator(), at(2.0));
    let refusal = refused(&gate, at(2.0));
    assert_eq!((refusal.retry_at, refusal.operator.is_some()), (Some(at(122.0)), true));
    // A signal of the vendor's after that is the vendor's again.
    let probe = go(&gate, at(122.0));
    let _ = gate.observe(&probe, Outcome::Bad(&throttled().delay(secs(7)), "/"), at(122.1));
    assert_eq!(refused(&gate, at(123.0)).operator, None);
}

#[test]
fn what_an_operator_says_is_cleaned_and_cut() {
    let long = Operator::new("a\u{7}lice\n", &"é".repeat(150));
    assert_eq!((long.who(), long.why().len()), ("alice", 200));
    assert_eq!(Operator::new("", "").to_string(), "an operator");
}

#[test]
fn an_operators_cooldown_does_not_bring_back_rungs_that_quiet_time_took_off() {
    let gate = gate();
    let mut now = at(0.0);
    for _ in 0..4 {
        now = strike(&gate, &throttled().delay(secs(1)), now).retry_at.unwrap();
    }
    assert_eq!(view(&gate, now).level, 4);
    let later = now.after(secs(3600));
    assert_eq!(view(&gate, later).level, 0);
    let _ = gate.cool(secs(30), operator(), later);
    assert_eq!(view(&gate, later).level, 0);
}

#[test]
fn a_pause_turns_away_whoever_waits_for_a_part_and_holds_for_parts_to_come() {
    let family = gate();
    let part = |key: &str| family.partition_for(Partition::of(key), at(0.0));
    let one = part("one");
    let _ = strike(&one, &throttled().delay(secs(60)), at(0.0));
    let mut waiting = Waiting::park(&one, &Ask::new(at(1.0)), at(1.0));
    let _ = waiting.sleeps(at(1.0));
    let _ = family.pause(operator(), at(2.0));
    assert_eq!(waiting.count.woken(), 1);
    assert_eq!(waiting.turned_away(at(2.0)).cause, RefusalCause::Paused);
    for part in [&one, &part("other")] {
        assert_eq!(refused(part, at(3.0)).cause, RefusalCause::Paused);
        assert!(!part.is_open() && !part.is_idle(at(3.0)));
        // The family is paused; the part stands where it stands.
        assert_ne!(view(part, at(3.0)).phase, Phase::Paused);
    }
    let _ = family.resume(operator(), at(4.0));
    assert_eq!(refused(&one, at(4.0)).retry_at, Some(at(60.0)));
    assert!(part("other").is_open());
}

#[test]
fn what_holds_is_whose_it_is_whoever_acted_last() {
    let gate = gate();
    let by = |who: &str| Operator::new(who, "");
    let shown = |seconds| {
        let view = view(&gate, at(seconds));
        let acted = view.acted.unwrap();
        (acted.by.who().to_owned(), acted.act.as_str(), view.by_operator)
    };
    let told = |who: &str, act, holds| (who.to_owned(), act, holds);
    let _ = gate.pause(by("alice"), at(0.0));
    let _ = gate.clear(by("bob"), at(1.0));
    assert_eq!(shown(2.0), told("alice", "pause", true));
    let _ = gate.cool(secs(60), by("carol"), at(3.0));
    assert_eq!(shown(4.0), told("alice", "pause", true));
    let _ = gate.resume(by("dave"), at(5.0));
    assert_eq!(shown(6.0), told("carol", "cool", true));
    // Shorter than what runs, so it changes nothing.
    let _ = gate.cool(secs(1), by("erin"), at(7.0));
    assert_eq!(shown(8.0), told("carol", "cool", true));
    let _ = gate.clear(by("frank"), at(9.0));
    assert_eq!(shown(10.0), told("frank", "clear", false));
}

#[test]
fn an_operators_cool_down_is_no_ban_of_a_vendor_that_banned_before() {
    let gate = gate();
    let now = strike(&gate, &of_class(Class::Blocked).delay(secs(60)), at(0.0)).retry_at.unwrap();
    assert_eq!(view(&gate, at(1.0)).class, Some(Class::Blocked));
    // It makes a ban longer, and then it is one still.
    let _ = gate.cool(secs(70), operator(), at(2.0));
    assert_eq!(view(&gate, at(3.0)).class, Some(Class::Blocked));
    let later = now.after(secs(60));
    let _ = good(&gate, &go(&gate, later), later);
    let _ = gate.cool(secs(30), operator(), later.after(secs(1)));
    let cools = view(&gate, later.after(secs(2)));
    assert_eq!((cools.phase, cools.class), (Phase::Cooling, None));
}

#[test]
fn an_operators_deadline_is_not_rechecked_and_stays_the_operators() {
    let gate = gate_with(GateSettings::registered().recheck(secs(10)));
    let _ = strike(&gate, &throttled().delay(secs(60)), at(0.0));
    let _ = gate.cool(secs(600), operator(), at(1.0));
    assert_eq!(refused(&gate, at(50.0)).retry_at, Some(at(601.0)));
    // An answer from elsewhere, sent after the strike: a redirect's.
    let elsewhere = gate.foreign(at(51.0));
    let _ = gate.observe(&elsewhere, Outcome::Bad(&throttled().delay(secs(60)), ROUTE), at(52.0));
    let refusal = refused(&gate, at(100.0));
    assert_eq!((refusal.retry_at, refusal.operator.is_some()), (Some(at(601.0)), true));
    // A longer one is the vendor's again, and rechecked.
    let _ =
        gate.observe(&gate.foreign(at(101.0)), Outcome::Bad(&throttled().delay(secs(900)), ROUTE), at(102.0));
    assert!(!view(&gate, at(103.0)).by_operator);
    assert!(go(&gate, at(113.0)).is_probe());
}

#[test]
fn a_clear_empties_the_deadlines_of_urls_once() {
    let deadlines = Deadlines::new(2);
    let key = || deadlines.key(&Uri::from_static("https://a.example/1"), None, None);
    deadlines.record(key(), at(100.0), false, at(0.0));
    let _ = gate().clear(Operator::new("ada", "the vendor lifted it"), at(1.0));
    assert_eq!(deadlines.get(key(), at(1.0)), None);
    // Other tests of the process may clear between.
    let found = loop {
        let before = clears();
        deadlines.record(key(), at(100.0), false, at(1.0));
        let found = deadlines.get(key(), at(1.0));
        if before == clears() {
            break found;
        }
    };
    assert_eq!(found, Some(at(100.0)));
}

#[test]
fn what_an_operator_cleared_is_not_told_to_have_been_closed_until_then() {
    let gate = gate();
    let _ = strike(&gate, &throttled().delay(secs(60)), at(0.0));
    let told = gate.clear(operator(), at(30.0)).into_iter().find_map(|event| match event {
        Event::Recovery { closed, cooldown, struck, .. } => Some((closed, cooldown, struck)),
        _ => None,
    });
    assert_eq!(told, Some((secs(0), secs(0), None)));
}

#[test]
fn a_deadline_that_the_vendor_asks_for_too_is_the_vendors() {
    for (delay, by_operator) in [(99, true), (100, false), (101, false)] {
        let gate = gate();
        let _ = gate.cool(secs(101), operator(), at(0.0));
        let elsewhere = gate.foreign(at(0.5));
        let _ = gate.observe(&elsewhere, Outcome::Bad(&throttled().delay(secs(delay)), ROUTE), at(1.0));
        assert_eq!(view(&gate, at(2.0)).by_operator, by_operator, "{delay}");
    }
}
