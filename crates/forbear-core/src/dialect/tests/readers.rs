//! What headers, and one body, tell of dimensions in ways of their own.

use super::words::{read, toml};
use crate::dialect::Dialect;

/// Name, limit, what remains, seconds until the reset, and whether nothing is left.
type Told<'a> = (Option<&'a str>, Option<u64>, Option<u64>, Option<u64>, bool);

fn dialect(reader: &str, header: &str) -> Dialect {
    toml(&format!("[[dimension]]\nreader = \"{reader}\"{header}"))
}

fn check(dialect: &Dialect, lines: &[(&'static str, &'static str)], body: &str, expected: &[Told<'_>]) {
    let quotas = read(dialect, 200, lines, body).quotas;
    let told: Vec<Told<'_>> = quotas
        .iter()
        .map(|quota| {
            let reset = quota.reset.map(|reset| reset.duration.as_secs());
            (quota.name.as_deref(), quota.limit, quota.remaining, reset, quota.exhausted)
        })
        .collect();
    assert_eq!(told, expected, "{lines:?} {body}");
}

#[test]
fn used_of_limit_tells_both() {
    let dialect = dialect("used-of-limit", "\nheader = \"x-used\"");
    check(&dialect, &[("x-used", "39/40")], "", &[(None, Some(40), Some(1), None, false)]);
    check(&dialect, &[("x-used", "40/40")], "", &[(None, Some(40), Some(0), None, true)]);
}

#[test]
fn pairs_have_the_name_of_their_header() {
    let dialect = dialect("pairs", "\nheader = \"x-rate-{}\"");
    for (line, told) in [
        ("total=100; remaining=7; resets=41", (Some(100), Some(7), Some(41), false)),
        ("Limit=100;Reset=41;Remaining=0", (Some(100), Some(0), Some(41), true)),
        ("remaining=7", (None, Some(7), None, false)),
    ] {
        let (limit, remaining, reset, exhausted) = told;
        let expected = [(Some("calls"), limit, remaining, reset, exhausted)];
        check(&dialect, &[("x-rate-calls", line)], "", &expected);
    }
    check(&dialect, &[("x-rate-calls", "total=100; resets=41")], "", &[]);
}

#[test]
fn what_sentry_names_is_closed() {
    let dialect = dialect("sentry", "\nheader = \"x-limits\"");
    let closed = |name, reset| (Some(name), None, Some(0), Some(reset), true);
    let lines = [("x-limits", "60:error;transaction:organization, 5::key")];
    check(&dialect, &lines, "", &[closed("category:error;transaction", 60), closed("category:*", 5)]);
}

#[test]
fn meta_tells_by_account_how_long_access_is_lost() {
    let dialect = dialect("meta-usage", "\nheader = \"x-usage\"");
    let usage = r#"{"17":[{"type":"pages","estimated_time_to_regain_access":2},
        {"type":"ads","estimated_time_to_regain_access":0}]}"#;
    let usage: &str = Box::leak(usage.replace('\n', "").into_boxed_str());
    let expected =
        [(Some("pages:17"), None, None, Some(120), true), (Some("ads:17"), None, None, None, false)];
    check(&dialect, &[("x-usage", usage)], "", &expected);
}

#[test]
fn of_what_meta_tells_no_more_is_read_than_of_others() {
    let usage = vec!["{\"estimated_time_to_regain_access\":1}"; 200].join(",");
    let usage: &str = Box::leak(format!("{{\"17\":[{usage}]}}").into_boxed_str());
    let dialect = dialect("meta-usage", "\nheader = \"x-usage\"");
    assert_eq!(read(&dialect, 200, &[("x-usage", usage)], "").quotas.len(), 128);
}

#[test]
fn shopify_tells_what_a_query_costs_and_what_comes_back() {
    let dialect = toml(
        "[[dimension]]\nreader = \"shopify-cost\"\n\
        [[rule]]\nstatus = 200\nwhen = { json = \"/throttled\" }",
    );
    let body = |requested: f64, there: f64, rate: f64| {
        format!(
            r#"{{"extensions":{{"cost":{{"requestedQueryCost":{requested},"throttleStatus":
            {{"maximumAvailable":1000.0,"currentlyAvailable":{there},"restoreRate":{rate}}}}}}}}}"#
        )
    };
    for (requested, there, rate, told) in [
        (200.0, 150.5, 50.0, Some((150, Some(0), true))),
        (1_000.0, 0.0, 50.0, Some((0, Some(20), true))),
        (150.0, 150.0, 50.0, Some((150, None, false))),
        // Dearer than all there can ever be.
        (1_001.0, 0.0, 50.0, Some((0, None, true))),
        (1_000.0, 0.0, 1.0, Some((0, Some(1_000), true))),
        (200.0, 150.0, 0.0, None),
        (200.0, -1.0, 50.0, None),
    ] {
        let told =
            told.map(|(remaining, reset, exhausted)| (None, Some(1_000), Some(remaining), reset, exhausted));
        check(&dialect, &[], &body(requested, there, rate), told.as_slice());
    }
}
