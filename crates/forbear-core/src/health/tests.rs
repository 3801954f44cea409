//! What an operator sees.

use super::*;
use crate::families::Family;
use crate::gate::{Ask, Decision, Ladder, Outcome};
use crate::pacing::{Entered, Entry, Pacing};
use crate::partition::Partition;
use crate::signal::Signal;
use crate::stale::{Because, Served};
use http::StatusCode;

#[test]
fn an_operator_sees_who_cools_for_how_long_and_why() {
    let families =
        Families::builder().family(Family::new("yahoo")).family(Family::new("github")).build().unwrap();
    let at = |seconds| Monotonic::ORIGIN.after(Duration::from_secs(seconds));
    let gate = &families.named("yahoo").unwrap().gate;
    let ticket = gate.admit_open(at(1)).unwrap();
    let signal = Signal::new(Class::Overloaded, StatusCode::TOO_MANY_REQUESTS)
        .delay(Duration::from_secs(240))
        .reason("inflight_limit");
    let _ = gate.observe(&ticket, Outcome::Bad(&signal, "/v8/finance/chart"), at(1));
    let (health, _) = Health::of(&families, at(3));
    assert_eq!(
        health.to_string(),
        "yahoo   cooling 3m58s  429 inflight_limit  via /v8/finance/chart\ngithub  open"
    );
    let (over, _) = Health::of(&families, at(600));
    assert_eq!(
        over.family("yahoo").unwrap().to_string(),
        "probing  429 inflight_limit  via /v8/finance/chart"
    );
    let json = serde_json::to_value(&health).unwrap();
    assert_eq!(json["families"][0]["phase"], "cooling");
    assert_eq!(json["families"][0]["remaining_ms"], 238_000);
    assert_eq!(json["families"][0]["last_signal"]["reason"], "inflight_limit");
    assert_eq!(json["families"][0]["last_signal"]["advertised_ms"], 240_000);
    assert_eq!(json["families"][0]["since_ms"], 2_000);
    assert!(json["families"][1]["since_ms"].is_null(), "it never stood anywhere else");
}

#[test]
fn a_line_tells_of_those_who_wait() {
    let pacing = Pacing::new().in_flight(8);
    let families = Families::builder().family(Family::new("yahoo").pacing(pacing)).build().unwrap();
    let line = |waiting, queued| {
        let mut family = Health::of(&families, Monotonic::ORIGIN).0.families.remove(0);
        family.waiting = waiting;
        family.pacing.as_mut().unwrap().queued = queued;
        family.to_string()
    };
    assert_eq!(line(0, 0), "open");
    assert_eq!(line(1, 0), "open  1 waiting");
    assert_eq!(line(0, 2), "open  2 queued");
    assert_eq!(line(1, 2), "open  1 waiting  2 queued");
}

#[test]
fn a_line_tells_why_only_while_it_holds() {
    let families = Families::builder().family(Family::new("yahoo")).build().unwrap();
    let line = |phase, pace, status, route: &str| {
        let mut family = Health::of(&families, Monotonic::ORIGIN).0.families.remove(0);
        (family.phase, family.pace) = (phase, pace);
        family.last_signal = Some(LastSignal {
            status,
            class: Class::Throttled,
            reason: "slow".into(),
            route: route.into(),
            evidence: String::new(),
            advertised: None,
            ago: None,
        });
        family.to_string()
    };
    assert_eq!(line(HealthPhase::Open, None, Some(429), "/a"), "open");
    assert_eq!(line(HealthPhase::Probing, None, Some(429), "/a"), "probing  429 slow  via /a");
    assert_eq!(line(HealthPhase::Probing, None, None, ""), "probing  slow");
    assert_eq!(line(HealthPhase::Recovering, Some(2.04), Some(429), ""), "recovering at 2.0/s  429 slow");
}

#[test]
fn what_holds_for_all_families_has_a_line_of_its_own() {
    let families = Families::builder().family(Family::new("yahoo")).build().unwrap();
    let lines = |shutting_down, shadow| {
        let health = Health::of(&families, Monotonic::ORIGIN).0;
        Health { shutting_down, shadow, ..health }.to_string()
    };
    assert_eq!(lines(false, false), "yahoo  open");
    assert_eq!(lines(true, false), "shutting down: nobody waits\nyahoo  open");
    assert_eq!(lines(false, true), "shadow mode: nothing is refused\nyahoo  open");
}

#[test]
fn pacing_and_its_refusals_are_told_of_a_family_and_not_of_its_parts() {
    let pacing = Pacing::new().gap(Duration::from_secs(1));
    let families = Families::builder().family(Family::new("yahoo").pacing(pacing)).build().unwrap();
    let at = |seconds| Monotonic::ORIGIN.after(Duration::from_secs(seconds));
    let gate = &families.named("yahoo").unwrap().gate;
    let pacer = gate.pacer().unwrap();
    assert!(matches!(pacer.enter(&Entry::new(), at(1)), Entered::Go(_)));
    assert!(matches!(pacer.enter(&Entry::new().no_queue(), at(1)), Entered::Refused(_)));
    let part = gate.partition_for(Partition::of("x"), at(1));
    let signal = Signal::new(Class::Throttled, StatusCode::TOO_MANY_REQUESTS).delay(Duration::from_secs(5));
    let _ = part.observe(&part.foreign(at(1)), Outcome::Bad(&signal, "/"), at(1));
    let family = Health::of(&families, at(1)).0.families.remove(0);
    let told = family.pacing.unwrap();
    assert_eq!(told.refusals.into_iter().collect::<Vec<_>>(), [("no-queue", 1)]);
    assert!(family.partitions[0].pacing.is_none());
}

#[test]
fn what_was_served_is_told_of_each_family_and_of_all_automatic_ones_together() {
    let families =
        Families::builder().family(Family::new("yahoo")).family(Family::new("github")).build().unwrap();
    let at = Monotonic::ORIGIN;
    let member = families.named("yahoo").unwrap();
    let counts = member.gate.stale().unwrap();
    counts.served(Served::Fresh);
    for _ in 0..2 {
        counts.served(Served::Stale { age: Duration::ZERO, because: Because::Cooling });
    }
    let host = families.id().member_for(&"http://once.test".parse().unwrap(), at).unwrap();
    let signal = Signal::new(Class::Throttled, StatusCode::TOO_MANY_REQUESTS).delay(Duration::from_secs(5));
    let _ = host.gate.observe(&host.gate.foreign(at), Outcome::Bad(&signal, "/"), at);
    host.gate.stale().unwrap().served(Served::Live);
    let health = Health::of(&families, at).0;
    let yahoo = health.family("yahoo").unwrap().stale.as_ref().unwrap();
    assert_eq!((yahoo.live, yahoo.fresh), (0, 1));
    assert_eq!(yahoo.stale.iter().collect::<Vec<_>>(), [(&"cooling", &2)]);
    let others = health.stale.as_ref().unwrap();
    assert_eq!((others.live, others.fresh, others.stale.len()), (1, 0, 0));
    let silent: Vec<_> = health.families.iter().filter(|family| family.stale.is_none()).collect();
    assert_eq!(silent.len(), 2, "{health}");
}

#[test]
fn a_store_has_a_line_where_something_is_amiss() {
    let families = Families::builder().build().unwrap();
    let line = |state, cause: Option<&str>, pending, note: Option<&str>| {
        let mut health = Health::of(&families, Monotonic::ORIGIN).0;
        health.stores.push(StoreHealth {
            store: "sqlite".into(),
            state,
            cause: cause.map(Into::into),
            since: Some(Duration::from_secs(192)),
            pending,
            note: note.map(Into::into),
        });
        health.to_string()
    };
    let moved = Some("moved to x.bad");
    for (line, expected) in [
        (line(StoreState::Loading, None, 3, None), ""),
        (line(StoreState::Ready, None, 0, None), ""),
        (line(StoreState::Ready, None, 3, None), ""),
        (line(StoreState::Ready, None, 3, moved), "store sqlite ready; moved to x.bad\n"),
        (line(StoreState::Degraded, None, 0, None), "store sqlite degraded 3m12s\n"),
        (
            line(StoreState::Degraded, Some("disk I/O error"), 4, moved),
            "store sqlite degraded 3m12s: disk I/O error; 4 not written; moved to x.bad\n",
        ),
    ] {
        assert_eq!(line, expected);
    }
}

#[test]
fn an_operators_hand_is_shown_while_it_holds() {
    let families = Families::builder().family(Family::new("search")).build().unwrap();
    let at = |seconds| Monotonic::ORIGIN.after(Duration::from_secs(seconds));
    let gate = &families.named("search").unwrap().gate;
    let alice = || Operator::new("alice", "contract ended");
    let shown = |seconds| Health::of(&families, at(seconds)).0.to_string();
    let _ = gate.pause(alice(), at(1));
    assert_eq!(shown(2), "search  paused  by alice: contract ended");
    let json = serde_json::to_value(Health::of(&families, at(4)).0).unwrap();
    let operator = &json["families"][0]["operator"];
    assert_eq!(
        (&operator["act"], &operator["who"], &operator["why"]),
        (&"pause".into(), &"alice".into(), &"contract ended".into())
    );
    assert_eq!((&operator["ago_ms"], &operator["holds"]), (&3_000.into(), &true.into()));
    let _ = gate.resume(alice(), at(5));
    assert_eq!(shown(6), "search  open");
    let _ = gate.cool(Duration::from_secs(90), alice(), at(7));
    assert_eq!(shown(8), "search  cooling 1m29s  by alice: contract ended");
}

#[test]
fn who_closed_a_family_is_shown_and_not_who_acted_last() {
    let families = Families::builder().family(Family::new("search")).build().unwrap();
    let at = |seconds| Monotonic::ORIGIN.after(Duration::from_secs(seconds));
    let gate = &families.named("search").unwrap().gate;
    let shown = |seconds| Health::of(&families, at(seconds)).0.to_string();
    let _ = gate.pause(Operator::new("alice", "contract ended"), at(1));
    let _ = gate.cool(Duration::from_secs(60), Operator::new("bob", "as asked"), at(2));
    assert_eq!(shown(3), "search  paused  by alice: contract ended");
    let _ = gate.resume(Operator::new("carol", "contract renewed"), at(4));
    assert_eq!(shown(5), "search  cooling 57s  by bob: as asked");
    let _ = gate.cool(Duration::from_secs(1), Operator::new("dave", "in vain"), at(5));
    assert_eq!(shown(6), "search  cooling 56s  by bob: as asked");
    let json = serde_json::to_value(Health::of(&families, at(6)).0).unwrap();
    let operator = &json["families"][0]["operator"];
    assert_eq!((&operator["act"], &operator["ago_ms"]), (&"cool".into(), &4_000.into()));
    let _ = gate.clear(Operator::new("carol", "all is well"), at(7));
    let cleared = Health::of(&families, at(8)).0.families.remove(0).operator.unwrap();
    assert_eq!((cleared.by.who(), cleared.holds), ("carol", false));
}

/// Signals until `until`, each met by the probe that the cool-down before it ended with.
fn always_limited(families: &Families, signal: &Signal, until: u64) -> Vec<(u64, bool)> {
    let gate = &families.named("vendor").unwrap().gate;
    let mut degraded = Vec::new();
    for second in 1..=until {
        let now = Monotonic::ORIGIN.after(Duration::from_secs(second));
        if let (Decision::Go(ticket), _) = gate.admit(&Ask::new(now), now) {
            let _ = gate.observe(&ticket, Outcome::Bad(signal, "/"), now);
        }
        degraded.push((second, Health::of(families, now).0.degraded().count() == 1));
    }
    degraded
}

#[test]
fn a_family_is_degraded_at_the_top_rung_or_after_15_minutes_without_service() {
    let families = || Families::builder().family(Family::new("vendor")).build().unwrap();
    let first = |degraded: Vec<(u64, bool)>| degraded.into_iter().find(|(_, degraded)| *degraded);
    let throttled = Signal::new(Class::Throttled, StatusCode::TOO_MANY_REQUESTS);
    // Rungs of 2, 5, 15 and 30 minutes come before that of an hour; but 15 minutes are over before.
    assert_eq!(first(always_limited(&families(), &throttled, 3_000)), Some((901, true)));
    let short = Families::builder()
        .family(Family::new("vendor").throttled_ladder(Ladder::new([1, 2, 3].map(Duration::from_secs))))
        .build()
        .unwrap();
    assert_eq!(first(always_limited(&short, &throttled, 60)), Some((4, true)));
    let advertised = throttled.delay(Duration::from_secs(5));
    assert_eq!(first(always_limited(&families(), &advertised, 3_000)), Some((901, true)));
}

#[test]
fn a_short_cool_down_every_minute_never_degrades() {
    let families = Families::builder().family(Family::new("vendor")).build().unwrap();
    let gate = &families.named("vendor").unwrap().gate;
    let signal = Signal::new(Class::Throttled, StatusCode::TOO_MANY_REQUESTS).delay(Duration::from_secs(5));
    for second in 1..=600 {
        let now = Monotonic::ORIGIN.after(Duration::from_secs(second));
        if let (Decision::Go(ticket), _) = gate.admit(&Ask::new(now), now) {
            let outcome = if second % 60 == 0 { Outcome::Bad(&signal, "/") } else { Outcome::Good };
            let _ = gate.observe(&ticket, outcome, now);
        }
        let health = Health::of(&families, now).0;
        assert!(health.ready && health.degraded().next().is_none(), "{second} s: {health}");
    }
    assert!(
        Health::of(&families, Monotonic::ORIGIN.after(Duration::from_secs(601))).0.families[0].strikes >= 9
    );
}

#[test]
fn what_an_operator_did_does_not_degrade() {
    let families = Families::builder().family(Family::new("vendor")).build().unwrap();
    let at = |seconds| Monotonic::ORIGIN.after(Duration::from_secs(seconds));
    let gate = &families.named("vendor").unwrap().gate;
    let _ = gate.cool(Duration::from_secs(7_200), Operator::new("alice", ""), at(1));
    assert!(Health::of(&families, at(3_600)).0.degraded().next().is_none());
}

#[test]
fn a_family_that_nobody_asks_for_is_not_degraded() {
    let families = Families::builder().family(Family::new("vendor")).build().unwrap();
    let gate = &families.named("vendor").unwrap().gate;
    let at = |minute: u64| Monotonic::ORIGIN.after(Duration::from_secs(60 * minute));
    let signal = Signal::new(Class::Throttled, StatusCode::TOO_MANY_REQUESTS).delay(Duration::from_secs(5));
    let _ = gate.observe(&gate.foreign(at(1)), Outcome::Bad(&signal, "/"), at(1));
    let degraded = |minute| Health::of(&families, at(minute)).0.degraded().count() == 1;
    assert!((1..120).all(|minute| !degraded(minute)));
    // The vendor cannot be reached, and now somebody minds.
    let (Decision::Go(probe), _) = gate.admit(&Ask::new(at(120)), at(120)) else { panic!("no probe") };
    let _ = gate.observe(&probe, Outcome::Neutral, at(120));
    assert!(degraded(120) && degraded(134) && !degraded(135));
}

#[test]
fn hosts_and_parts_that_nobody_asks_for_any_more_are_left_out() {
    let families = Families::builder().family(Family::new("vendor")).build().unwrap();
    let at = |minute: u64| Monotonic::ORIGIN.after(Duration::from_secs(60 * minute));
    let signal = Signal::new(Class::Throttled, StatusCode::TOO_MANY_REQUESTS).delay(Duration::from_secs(5));
    let host = families.id().member_for(&"http://once.test".parse().unwrap(), at(1)).unwrap();
    let part = families.named("vendor").unwrap().gate.partition_for(Partition::of("x"), at(1));
    for gate in [&host.gate, &part] {
        let _ = gate.observe(&gate.foreign(at(1)), Outcome::Bad(&signal, "/"), at(1));
    }
    let shown = |minute| {
        let health = Health::of(&families, at(minute)).0;
        (health.families.len(), health.families[0].closed_partitions)
    };
    assert_eq!((shown(2), shown(15), shown(16)), ((2, 1), (2, 1), (1, 0)));
    // They are what they were: who comes is the probe, and shown.
    for gate in [&host.gate, &part] {
        let (Decision::Go(probe), _) = gate.admit(&Ask::new(at(60)), at(60)) else { panic!("no probe") };
        assert!(probe.is_probe());
    }
    assert_eq!(shown(60), (2, 1));
}
