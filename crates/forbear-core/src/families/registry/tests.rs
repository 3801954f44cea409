use std::time::Duration;

use http::StatusCode;

use super::*;
use crate::families::Unknown;
use crate::gate::{GateSettings, Operator, Outcome, Phase, Transition};
use crate::partition::Partition;
use crate::signal::{Class, Signal};
use crate::store::{CooldownEntry, CooldownKey, Part, Pause};

fn name(families: &Families, uri: &str) -> String {
    let uri: Uri = uri.parse().unwrap();
    match families.snapshot().find(&uri, None, None) {
        Found::Member(member) => member.gate.name().to_string(),
        Found::Automatic(member) => format!("auto {}", member.gate.name()),
        other => format!("{other:?}"),
    }
}

#[test]
fn a_route_wins_over_its_host_and_a_port_over_none() {
    let families = Families::builder()
        .family(Family::new("host").host("api.example.com"))
        .family(Family::new("port").host("api.example.com:8443"))
        .family(Family::new("route").route("api.example.com", "/v8/{*rest}"))
        .unknown(Unknown::Refuse)
        .build()
        .unwrap();
    assert_eq!(name(&families, "https://api.example.com/v1"), "host");
    assert_eq!(name(&families, "https://u:p@API.example.com.:443/v1?q"), "host");
    assert_eq!(name(&families, "https://api.example.com:1234/v1"), "host");
    assert_eq!(name(&families, "https://api.example.com:8443/v1"), "port");
    assert_eq!(name(&families, "https://api.example.com/v8/chart"), "route");
    assert_eq!(name(&families, "https://other.example.com/"), "Unknown");
}

#[test]
fn a_name_wins_over_the_host_and_a_wrong_one_is_refused() {
    let families = Families::builder().family(Family::new("a").host("a.example")).build().unwrap();
    let uri = Uri::from_static("https://b.example/");
    let snapshot = families.snapshot();
    let found = snapshot.find(&uri, None, Some(&FamilyName::from_static("a")));
    assert!(matches!(found, Found::Member(member) if &**member.gate.name() == "a"));
    let found = snapshot.find(&uri, None, Some(&FamilyName::from_static("b")));
    assert!(matches!(found, Found::Unknown));
}

#[test]
fn a_healthy_host_has_no_entry_until_it_signals() {
    let families = Families::builder().build().unwrap();
    let uri = Uri::from_static("http://h.example:8080/x");
    assert_eq!(name(&families, "http://h.example:8080/x"), "Healthy");
    let member = families.id().member_for(&uri, Monotonic::ORIGIN).unwrap();
    assert!(member.automatic);
    assert_eq!(name(&families, "http://H.example:8080/y"), "auto h.example:8080");
    assert_eq!(name(&families, "http://h.example/"), "Healthy");
    let id = families.id();
    drop(families);
    assert!(id.member_for(&uri, Monotonic::ORIGIN).is_none());
}

#[test]
fn a_relative_uri_is_matched_by_its_host_field() {
    let families = Families::builder().family(Family::new("a").host("a.example")).build().unwrap();
    let uri = Uri::from_static("/path");
    let snapshot = families.snapshot();
    assert!(matches!(snapshot.find(&uri, Some("a.example"), None), Found::Member(_)));
    assert!(matches!(snapshot.find(&uri, None, None), Found::PassThrough));
}

#[test]
fn a_suffix_holds_for_all_hosts_under_it_and_the_longest_wins() {
    let families = Families::builder()
        .family(Family::new("all").host_suffix("*.example.com"))
        .family(Family::new("eu").host_suffix("EU.example.com."))
        .family(Family::new("port").host_suffix("example.com:8443"))
        .family(Family::new("one").host("one.example.com").route("paths.example.com", "/v1"))
        .unknown(Unknown::Refuse)
        .build()
        .unwrap();
    for (uri, family) in [
        ("https://example.com/", "all"),
        ("https://a.example.com/", "all"),
        ("https://A.b.Example.com.:443/", "all"),
        ("https://eu.example.com/", "eu"),
        ("https://x.y.eu.example.com/", "eu"),
        ("https://a.example.com:8443/", "port"),
        ("https://a.example.com:9999/", "all"),
        ("https://one.example.com/", "one"),
        ("https://two.one.example.com/", "all"),
        ("https://paths.example.com/v1", "one"),
        ("https://paths.example.com/v2", "all"),
        ("https://badexample.com/", "Unknown"),
        ("https://com/", "Unknown"),
        ("https://[::1]/", "Unknown"),
    ] {
        assert_eq!(name(&families, uri), family, "{uri}");
    }
}

fn at(seconds: u64) -> Monotonic {
    Monotonic::ORIGIN.after(Duration::from_secs(seconds))
}

/// Strikes the family of `uri` for a minute.
fn strike(families: &Families, uri: &str) {
    strike_for(60, families, uri);
}

fn strike_for(seconds: u64, families: &Families, uri: &str) {
    let member = families.id().member_for(&uri.parse().unwrap(), at(1)).unwrap();
    let signal =
        Signal::new(Class::Throttled, StatusCode::TOO_MANY_REQUESTS).delay(Duration::from_secs(seconds));
    let _ = member.gate.observe(&member.gate.foreign(at(1)), Outcome::Bad(&signal, "/"), at(1));
}

fn cools(families: &Families, uri: &str) -> bool {
    families.id().existing(&uri.parse().unwrap()).is_some_and(|member| !member.gate.is_open())
}

#[test]
fn a_replaced_family_keeps_where_it_stands() {
    let families =
        Families::builder().family(Family::new("a").host("a.example")).family(Family::new("b")).build();
    let families = families.unwrap();
    strike(&families, "http://a.example");
    let mut service = families.snapshot();
    let moved = Family::new("a").host("moved.example").gate(GateSettings::registered().max_waiters(1));
    families.replace(moved, at(2)).unwrap();
    assert!(cools(&families, "http://moved.example") && !cools(&families, "http://a.example"));
    let to = |snapshot: &Snapshot, uri| {
        matches!(snapshot.find(&Uri::from_static(uri), None, None), Found::Member(_))
    };
    assert!(to(&service, "http://a.example") && !to(&service, "http://moved.example"));
    service.refresh();
    assert!(!to(&service, "http://a.example") && to(&service, "http://moved.example"));
    let gate = &families.named("a").unwrap().gate;
    assert_eq!((gate.max_advertised(), gate.name().as_ref()), (Duration::from_secs(86_400), "a"));
    let nobody = families.replace(Family::new("c"), at(2)).unwrap_err();
    assert_eq!(nobody.to_string(), "family \"c\": is not registered; register it, or correct the name");
}

#[test]
fn a_change_that_cannot_be_changes_nothing() {
    let families = Families::builder()
        .family(Family::new("a").host("a.example"))
        .family(Family::new("b").host("b.example"))
        .requires("https://b.example/v1")
        .build()
        .unwrap();
    let text = |changed: Result<(), InvalidFamilies>| changed.unwrap_err().to_string();
    assert!(text(families.register(Family::new("a"), at(1))).contains("replace it"));
    let stolen = text(families.register(Family::new("c").host("A.example"), at(1)));
    assert!(stolen.contains("\"a\"") && stolen.contains("\"c\""), "{stolen}");
    let required = text(families.remove("b", at(1)));
    assert!(required.contains("https://b.example/v1 belongs to no family"), "{required}");
    assert!(text(families.remove("c", at(1))).contains("not registered"));
    let bad = Family::new("b").gate(GateSettings::registered().attempt_timeout(Duration::ZERO));
    assert!(text(families.set([bad], at(1))).contains("attempt_timeout"));
    let names: Vec<_> = families.members().iter().map(|member| member.gate.name().to_string()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(name(&families, "http://b.example"), "b");
}

#[test]
fn a_host_takes_its_cool_down_along_when_it_changes_hands() {
    let families = Families::builder().build().unwrap();
    strike(&families, "http://h.example");
    assert_eq!(name(&families, "http://h.example"), "auto h.example");
    families.register(Family::new("h").host("h.example"), at(2)).unwrap();
    assert_eq!(
        (name(&families, "http://h.example").as_str(), cools(&families, "http://h.example")),
        ("h", true)
    );
    assert_eq!(families.members().len(), 1);
    families.remove("h", at(3)).unwrap();
    assert_eq!(name(&families, "http://h.example"), "auto h.example");
    assert!(cools(&families, "http://h.example"));
    // One that rests leaves nothing behind.
    families.register(Family::new("i").host("i.example"), at(3)).unwrap();
    families.remove("i", at(4)).unwrap();
    assert_eq!(name(&families, "http://i.example"), "Healthy");
}

#[test]
fn a_whole_set_is_exchanged_at_once() {
    let families = Families::builder()
        .family(Family::new("a").host("a.example"))
        .family(Family::new("b").host("b.example"))
        .unknown(Unknown::Refuse)
        .build()
        .unwrap();
    strike(&families, "http://b.example");
    let next = [Family::new("b").host("a.example"), Family::new("c").host("b.example")];
    families.set(next, at(2)).unwrap();
    assert_eq!(name(&families, "http://a.example"), "b");
    assert!(cools(&families, "http://a.example") && !cools(&families, "http://b.example"));
}

#[test]
fn a_renamed_family_goes_on_cooling() {
    for unknown in [Unknown::PerHost, Unknown::Refuse] {
        let families =
            Families::builder().family(Family::new("a").host("a.example")).unknown(unknown).build();
        let families = families.unwrap();
        strike(&families, "http://a.example");
        families.set([Family::new("b").host("A.example")], at(2)).unwrap();
        assert_eq!(name(&families, "http://a.example"), "b");
        assert!(cools(&families, "http://a.example"), "{unknown:?}");
        assert_eq!(families.members().len(), 1, "{unknown:?}");
    }
}

#[test]
fn a_pause_changes_hands_with_its_host() {
    let families = Families::builder().family(Family::new("a").host("h.example")).build().unwrap();
    let by = Operator::new("alice", "contract ended");
    let _ = families.named("a").unwrap().gate.pause(by.clone(), at(1));
    let paused = |step: &str| {
        let member = families.id().existing(&Uri::from_static("http://h.example")).expect(step);
        let (view, _) = member.gate.view(at(2));
        assert_eq!(view.phase, Phase::Paused, "{step}");
        assert_eq!(view.acted.map(|acted| acted.by.clone()), Some(by.clone()), "{step}");
    };
    families.set([Family::new("b").host("h.example")], at(2)).unwrap();
    paused("renamed");
    families.remove("b", at(2)).unwrap();
    paused("removed");
    families.register(Family::new("c").host("h.example"), at(2)).unwrap();
    paused("registered");
    let _ = families.named("c").unwrap().gate.resume(by.clone(), at(3));
    families.remove("c", at(4)).unwrap();
    assert_eq!(name(&families, "http://h.example"), "Healthy");
}

#[test]
fn a_snapshot_outlives_its_families_and_still_learns() {
    let families = Families::builder().build().unwrap();
    let mut snapshot = families.snapshot();
    drop(families);
    snapshot.refresh();
    let uri = Uri::from_static("http://h.example/");
    assert!(matches!(snapshot.find(&uri, None, None), Found::Healthy));
    assert!(snapshot.id().member_for(&uri, at(1)).is_some());
    assert!(matches!(snapshot.find(&uri, None, None), Found::Automatic(_)));
}

/// Whatever of a host's name a family is registered by, the host is not called while it cools, and leaves nothing behind.
#[test]
fn a_host_brings_its_cool_down_along_to_a_suffix_a_port_and_a_route() {
    let cases = [
        (Family::new("v").host_suffix("v.test"), "http://api.v.test/a", 1),
        (Family::new("v").host("api.v.test"), "http://api.v.test:8080/a", 1),
        (Family::new("v").host_suffix("v.test"), "http://api.v.test:8080/a", 1),
        // The rest of the host is nobody's still.
        (Family::new("v").route("api.v.test", "/a"), "http://api.v.test/a", 2),
        (Family::new("v").route("api.v.test", "/a"), "http://api.v.test:8080/a", 2),
        (Family::new("v").route("api.v.test", "/a").host("api.v.test"), "http://api.v.test/a", 1),
    ];
    for (family, uri, left) in cases {
        let families = Families::builder().build().unwrap();
        strike(&families, uri);
        families.register(family.clone(), at(2)).unwrap();
        assert_eq!((name(&families, uri).as_str(), cools(&families, uri)), ("v", true), "{family:?}");
        assert_eq!(families.members().len(), left, "{family:?}");
        // Another change is none of this host's.
        families.named("v").unwrap().gate.clear(Operator::new("o", ""), at(3));
        families.register(Family::new("w").host("w.test"), at(3)).unwrap();
        assert!(families.named("v").unwrap().gate.view(at(3)).0.phase == Phase::Recovering, "{family:?}");
    }
}

#[test]
fn what_a_family_had_that_is_renamed_goes_on_cooling() {
    for (shape, uri) in [
        (Family::host as fn(Family, &'static str) -> Family, "http://v.test/a"),
        (Family::host_suffix, "http://api.v.test/a"),
        (|family, host| family.route(host, "/a"), "http://v.test/a"),
    ] {
        let family = |name: &str| shape(Family::new(name), "v.test");
        let families = Families::builder().family(family("old")).build().unwrap();
        strike(&families, uri);
        families.set([family("new")], at(2)).unwrap();
        assert_eq!((name(&families, uri).as_str(), cools(&families, uri)), ("new", true), "{uri}");
        assert_eq!(families.members().len(), 1, "{uri}");
    }
}

/// Epochs and generations of two gates say nothing of each other.
#[test]
fn the_later_deadline_holds_whoever_counted_more_before() {
    let until = |families: &Families| families.named("v").unwrap().gate.view(at(2)).0.until;
    for (calm, cleared) in [("http://w.test", true), ("http://v.test", true), ("http://w.test", false)] {
        let families = Families::builder().family(Family::new("v").host("v.test")).build().unwrap();
        strike(&families, "http://v.test");
        strike(&families, "http://w.test");
        let gate = &families.id().existing(&calm.parse().unwrap()).unwrap().gate;
        if cleared {
            let _ = gate.clear(Operator::new("o", ""), at(1));
        }
        families.replace(Family::new("v").host("v.test").host("w.test"), at(2)).unwrap();
        assert_eq!(until(&families), Some(at(61)), "{calm} {cleared}");
    }
}

#[test]
fn of_two_cool_downs_that_run_the_later_deadline_holds() {
    for (own, taken) in [(60, 100), (100, 60)] {
        let families = Families::builder().family(Family::new("v").host("v.test")).build().unwrap();
        strike_for(own, &families, "http://v.test");
        strike_for(taken, &families, "http://w.test");
        families.replace(Family::new("v").host("v.test").host("w.test"), at(2)).unwrap();
        assert_eq!(families.named("v").unwrap().gate.view(at(2)).0.until, Some(at(101)), "{own} {taken}");
    }
}

/// The one that takes over has met more signals than the host, and was well.
#[test]
fn an_established_family_takes_a_cool_down_over() {
    let families = Families::builder().family(Family::new("v").host("v.test")).build().unwrap();
    strike(&families, "http://v.test");
    let gate = Arc::clone(&families.named("v").unwrap().gate);
    for _ in 0..3 {
        let _ = gate.clear(Operator::new("o", ""), at(1));
    }
    strike(&families, "http://w.test");
    families.replace(Family::new("v").host("v.test").host("w.test"), at(2)).unwrap();
    assert!(cools(&families, "http://w.test"));
    assert_eq!(gate.view(at(2)).0.struck.as_ref().map(|struck| struck.at), Some(at(1)));
}

#[test]
fn a_host_that_was_not_well_yet_is_probed_by_who_takes_it_over() {
    let families = Families::builder().family(Family::new("v").host("v.test")).build().unwrap();
    strike(&families, "http://v.test");
    // It ends just now.
    let now = at(61);
    families.remove("v", now).unwrap();
    let phase = |name: &str| families.any(name).unwrap().gate.view(now).0.phase;
    assert_eq!(phase("v.test"), Phase::Probing);
    families.register(Family::new("v").host("v.test"), now).unwrap();
    assert_eq!(phase("v"), Phase::Probing);
    // One that is well, and served, stays so.
    families.register(Family::new("w").host("w.test"), now).unwrap();
    strike(&families, "http://w.test");
    let _ = families.named("w").unwrap().gate.clear(Operator::new("o", ""), now);
    families.set([Family::new("w").host("w.test").host("v.test")], now).unwrap();
    assert_eq!(phase("w"), Phase::Recovering);
}

#[test]
fn hosts_that_find_no_room_are_counted() {
    let families = Families::builder().build().unwrap();
    let signal = Signal::new(Class::Throttled, StatusCode::TOO_MANY_REQUESTS).delay(Duration::from_secs(60));
    let now = Monotonic::ORIGIN;
    for host in 0..=crate::bounded::MOST {
        let uri = format!("https://h{host}.example/").parse().unwrap();
        let gate = &families.id().member_for(&uri, now).unwrap().gate;
        drop(gate.observe(&gate.foreign(now), Outcome::Bad(&signal, "/"), now));
    }
    assert_eq!(families.overflows(), 1);
}

#[test]
fn families_that_are_gone_free_their_place() {
    let places = (0..1000).map(|_| Families::builder().build().unwrap().id().0.place);
    assert!(places.max().unwrap() < 500);
}

#[test]
fn a_name_reads_as_it_was_given() {
    assert_eq!(FamilyName::from_static("quotes").to_string(), "quotes");
}

fn stored(family: &str, part: Option<&str>, remaining: u64) -> CooldownEntry {
    let part = part.map(|name| Part { of: Partition::of(name), label: name.into() });
    let key = CooldownKey { family: family.into(), automatic: !family.starts_with("named "), part };
    let transition = Transition {
        epoch: 0,
        generation: 1,
        level: 0,
        length: Duration::from_secs(60),
        remaining: Duration::from_secs(remaining),
        pace: None,
        struck: None,
        by: None,
        open: false,
        quiet: Duration::ZERO,
    };
    CooldownEntry { key, transition, pause: Pause::AsBefore }
}

/// What a store knew of a host is taken up where hosts have families of their own, and nothing is made for what says nothing.
#[test]
fn a_stored_host_is_a_family_where_hosts_are() {
    let restored = |unknown: Unknown, host: &str, remaining: u64| {
        let families = Families::builder().unknown(unknown).build().unwrap();
        let restored = families.restore(&stored(host, None, remaining), at(1));
        (matches!(restored, Restored::Taken { .. }), families.members().len())
    };
    assert_eq!(restored(Unknown::PerHost, "h.test", 30), (true, 1));
    for (unknown, host, remaining) in [
        (Unknown::PerHost, "h.test", 0),
        (Unknown::Refuse, "h.test", 30),
        (Unknown::PassThrough, "h.test", 30),
        // No request has such a host.
        (Unknown::PerHost, "H.test", 30),
        (Unknown::PerHost, "", 30),
    ] {
        assert_eq!(restored(unknown, host, remaining), (false, 0), "{host:?} {remaining}");
    }
}

#[test]
fn a_stored_part_that_says_nothing_makes_none() {
    let families = Families::builder().family(Family::new("named a").host("a.test")).build().unwrap();
    strike(&families, "http://a.test");
    let parts = || families.named("named a").unwrap().gate.has_partitions();
    let over = families.restore(&stored("named a", Some("key"), 0), at(1));
    assert!(matches!(over, Restored::Over) && !parts());
    let taken = families.restore(&stored("named a", Some("key"), 30), at(1));
    assert!(matches!(taken, Restored::Taken { .. }) && parts());
}
