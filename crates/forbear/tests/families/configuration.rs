//! What cannot work is said when it is built.

use std::time::Duration;

use forbear::{Families, FamiliesBuilder, Family, GateSettings, InvalidFamilies, Ladder};

fn invalid<const N: usize>(families: [Family; N]) -> InvalidFamilies {
    families.into_iter().fold(Families::builder(), FamiliesBuilder::family).build().unwrap_err()
}

#[test]
fn the_error_names_the_family_the_value_and_what_to_do() {
    let error = invalid([Family::new("a").host("https://x.test")]);
    assert_eq!(error.family(), "a");
    assert_eq!(
        error.to_string(),
        r#"family "a": host "https://x.test" has a scheme; write it like api.example.com or api.example.com:8443"#
    );
    let error = invalid([Family::new("a").host("x.test"), Family::new("b").host("X.test")]);
    assert_eq!(
        error.to_string(),
        r#"family "b": host "x.test" belongs to family "a" already; give it to one of the two"#
    );
}

#[test]
fn settings_that_cannot_work_are_named_by_their_key() {
    let gate = GateSettings::registered;
    for (settings, key) in [
        (gate().attempt_timeout(Duration::ZERO), "attempt_timeout"),
        (gate().max_advertised(Duration::ZERO), "max_advertised"),
        (gate().recheck(Duration::ZERO), "recheck"),
        (gate().throttled_ladder(Ladder::new([])), "throttled_ladder"),
        (gate().overloaded_ladder(Ladder::new([])), "overloaded_ladder"),
    ] {
        let error = invalid([Family::new("a").gate(settings)]);
        assert!(error.to_string().starts_with(&format!(r#"family "a": {key} "#)), "{error}");
    }
}

#[test]
fn what_can_work_is_taken() {
    let name = "n".repeat(64);
    let families = Families::builder()
        .family(Family::new(name.as_str()).host("a.test").host("a.test:8080").route("a.test", "/x"))
        .family(Family::new("Vendor ß").host("b.test.").host("[::1]"))
        .family(Family::new("gate").gate(GateSettings::registered().max_waiters(0)))
        .build()
        .unwrap();
    assert_eq!(families.health().families.len(), 3);
}
