//! What a dialect of one's own can say.

use std::time::{Duration, SystemTime};

use http::StatusCode;
use http::header::{HeaderMap, HeaderName, HeaderValue};

use crate::dialect::words::{Dimension, Form, Place, Reader, Rule, Words};
use crate::dialect::{Dialect, Reading};
use crate::presets;
use crate::signal::{Class, Delay, Scope, Signal};

pub(super) fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
    lines
        .iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
        .collect()
}

pub(super) fn read(
    dialect: &Dialect,
    status: u16,
    lines: &[(&'static str, &'static str)],
    body: &str,
) -> Reading {
    let wall = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(1_795_996_800)).unwrap();
    dialect.read_body(StatusCode::from_u16(status).unwrap(), &headers(lines), body.as_bytes(), wall)
}

pub(super) fn signal(
    dialect: &Dialect,
    status: u16,
    lines: &[(&'static str, &'static str)],
    body: &str,
) -> Signal {
    read(dialect, status, lines, body).into_signal().unwrap()
}

pub(super) fn toml(text: &str) -> Dialect {
    Dialect::from_toml(&format!("name = \"acme\"\n{text}")).unwrap()
}

pub(super) fn millis(signal: &Signal) -> Option<u128> {
    signal.delay.map(|delay| delay.duration.as_millis())
}

#[test]
fn what_is_read_in_ways_of_their_own_saturates_as_other_delays_do() {
    let longest = Some(Delay { duration: Duration::from_secs(1 << 31), absolute: false });
    let usage = r#"{"1":[{"type":"pages","estimated_time_to_regain_access":99999999999999}]}"#;
    let meta = read(&presets::meta_graph().dialect(), 200, &[("x-business-use-case-usage", usage)], "");
    assert_eq!(meta.quotas[0].reset, longest);
    let cost = r#"{"errors":[{"extensions":{"code":"THROTTLED"}}],"extensions":{"cost":{"requestedQueryCost":1e15,
        "throttleStatus":{"maximumAvailable":1e15,"currentlyAvailable":0,"restoreRate":0.5}}}}"#;
    let json = [("content-type", "application/json")];
    assert_eq!(read(&presets::shopify_graphql().dialect(), 200, &json, cost).quotas[0].reset, longest);
}

#[test]
fn the_dialects_name_of_what_is_limited_is_looked_for_in_the_body() {
    let dialect =
        toml("scope = { json = \"/kind\" }\n[[dimension]]\nremaining = \"x-left\"\nname = \"calls\"");
    let looks = |lines: &[(&'static str, &'static str)]| {
        let head =
            dialect.read_head(StatusCode::from_u16(529).unwrap(), &headers(lines), SystemTime::UNIX_EPOCH);
        dialect.wants_body(&head)
    };
    assert!(looks(&[]));
    assert_eq!(signal(&dialect, 529, &[], r#"{"kind":"search"}"#).limit.as_deref(), Some("search"));
    assert!(!looks(&[("x-left", "0")]), "the head has the name");
}

#[test]
fn rust_and_toml_have_the_same_words() {
    let rust = Dialect::builder("acme")
        .delay(Place::json("/wait").unit(Form::GoDuration))
        .delay("dimension")
        .rule(
            Rule::on([403])
                .when(Place::json("/error/code").is(["quota"]))
                .when(Place::header("x-kind").starts_with(["acme"]))
                .class(Class::Exhausted)
                .reason(Place::json("/error/code"))
                .scope("organisation")
                .of(Scope::Family),
        )
        .rule(
            Rule::on([403])
                .when(Place::title().contains(["slow down"]))
                .default_delay("10m")
                .not_executed(true),
        )
        .dimension(Dimension::remaining("x-left").reset("x-reset", Form::EpochSeconds).name("calls"))
        .build()
        .unwrap();
    let toml = toml(
        r#"
        delay = [{ json = "/wait", unit = "go-duration" }, "dimension"]

        [[rule]]
        status = 403
        when = [{ json = "/error/code", is = "quota" }, { header = "x-kind", starts-with = "acme" }]
        class = "exhausted"
        reason = { json = "/error/code" }
        scope = "organisation"
        of = "family"

        [[rule]]
        status = 403
        when = { title = true, contains = "slow down" }
        default-delay = "10m"
        not-executed = true

        [[dimension]]
        remaining = "x-left"
        reset = "x-reset"
        unit = "epoch-seconds"
        name = "calls"
        "#,
    );
    let quota = r#"{"error":{"code":"quota"},"wait":"1m30s"}"#;
    let page = "<html><TITLE>\n Acme | Slow  down\n</TITLE></html>";
    for (status, lines, body) in [
        (403, &[("x-kind", "ACME-1")][..], quota),
        (403, &[], quota),
        (403, &[], page),
        (429, &[("x-left", "0"), ("x-reset", "1795996860")], ""),
        (200, &[("x-left", "3"), ("x-reset", "1795996860")], ""),
    ] {
        assert_eq!(read(&rust, status, lines, body), read(&toml, status, lines, body), "{status} {body}");
    }
    let first = signal(&rust, 403, &[("x-kind", "ACME-1")], quota);
    assert_eq!((first.class, first.scope, first.retryable), (Class::Exhausted, Scope::Family, false));
    assert_eq!((millis(&first), first.reason.as_str()), (Some(90_000), "quota"));
    assert_eq!(first.limit.as_deref(), Some("organisation"));
    let second = signal(&rust, 403, &[], page);
    assert_eq!((millis(&second), second.class, second.not_executed), (Some(600_000), Class::Throttled, true));
    let third = signal(&rust, 429, &[("x-left", "0"), ("x-reset", "1795996860")], "");
    assert_eq!((millis(&third), third.limit.as_deref()), (Some(60_000), Some("calls")));
}

#[test]
fn all_that_toml_can_say_can_be_said_in_rust() {
    let rust = Dialect::builder("acme")
        .without_standard()
        .event_streams()
        .longest()
        .exhausted_beyond("24h")
        .of(Scope::Bucket)
        .bucket(Place::header("x-bucket"))
        .scope("calls")
        .delay("retry-after")
        .delay(Place::json("/wait").unit(Form::Seconds))
        .reason(Place::constant("busy"))
        .reason(Place::header("x-a").lower_case())
        .reason(Place::json("/a").after("b"))
        .reason(Place::json_in_header("x-a", "/b").up_to(";"))
        .reason(Place::xml("a/b").last_of("#"))
        .reason(Place::title().prefix("c:"))
        .reason(Place::text())
        .rule(
            Rule::on([403, 429])
                .when(Place::header("x-a").is(["a", "b"]))
                .when(Place::header("x-b").starts_with(["a"]))
                .when(Place::header("x-c").contains(["a"]))
                .when(Place::header("x-d").at_most(1.5))
                .when(Place::header("x-e").absent())
                .when(Place::header("x-f").unit(Form::Rfc3339).unreadable()),
        )
        .rule(
            Rule::on([503])
                .exhausted(true)
                .class(Class::Overloaded)
                .reason("a")
                .scope("b")
                .of(Scope::Request)
                .retryable(false)
                .not_executed(true)
                .delay("dimension")
                .default_delay("5s"),
        )
        .rule(Rule::on([402]).needs_delay())
        .rule(Rule::on([418]).no_delay())
        .rule(Rule::on([420]).no_limit())
        .dimension(Dimension::remaining("x-some").reset("x-reset", Form::Rfc3339))
        .dimension(Dimension::remaining("x-left").limit("x-limit").policy("x-policy").name("a").name("b"))
        .dimension(Dimension::read_by(Reader::Pairs, "x-{}"));
    let toml = r##"
        name = "acme"
        standard = false
        event-streams = true
        longest = true
        exhausted-beyond = "24h"
        of = "bucket"
        bucket = { header = "x-bucket" }
        scope = "calls"
        delay = ["retry-after", { json = "/wait", unit = "seconds" }]
        reason = [
            "busy",
            { header = "x-a", lower-case = true },
            { json = "/a", after = "b" },
            { header = "x-a", json = "/b", up-to = ";" },
            { xml = "a/b", last-of = "#" },
            { title = true, prefix = "c:" },
            { text = true },
        ]

        [[rule]]
        status = [403, 429]
        when = [
            { header = "x-a", is = ["a", "b"] },
            { header = "x-b", starts-with = "a" },
            { header = "x-c", contains = "a" },
            { header = "x-d", at-most = 1.5 },
            { header = "x-e", absent = true },
            { header = "x-f", unit = "rfc3339", unreadable = true },
        ]

        [[rule]]
        status = 503
        exhausted = true
        class = "overloaded"
        reason = "a"
        scope = "b"
        of = "request"
        retryable = false
        not-executed = true
        delay = "dimension"
        default-delay = "5s"

        [[rule]]
        status = 402
        needs-delay = true

        [[rule]]
        status = 418
        delay = []

        [[rule]]
        status = 420
        limited = false

        [[dimension]]
        remaining = "x-some"
        reset = "x-reset"
        unit = "rfc3339"

        [[dimension]]
        remaining = "x-left"
        limit = "x-limit"
        policy = "x-policy"
        name = ["a", "b"]

        [[dimension]]
        reader = "pairs"
        header = "x-{}"
    "##;
    assert_eq!(rust, Words::from_toml(toml).unwrap());
    assert!(rust.build().is_ok());
}

#[test]
fn a_place_alone_is_read_as_it_is_within_a_dialect() {
    let place = serde_json::from_str::<Place>;
    assert_eq!(place("\"busy\"").unwrap(), Place::constant("busy"));
    assert_eq!(place("{\"header\":\"x-a\"}").unwrap(), Place::header("x-a"));
    let wrong = place("7").unwrap_err().to_string();
    assert!(wrong.contains("expected a string, a table such as"), "{wrong}");
}

#[test]
fn the_first_rule_whose_conditions_hold_decides() {
    let dialect = toml(
        r#"
        [[rule]]
        status = [429, 503]
        when = { header = "x-kind", is = "lock" }
        limited = false
        reason = "lock"

        [[rule]]
        status = 429
        when = { header = "x-kind", absent = true }
        reason = "bare"

        [[rule]]
        status = 429
        when = { header = "x-count", at-most = 2.5 }
        reason = "few"

        [[rule]]
        status = 429
        when = { header = "x-wait", unit = "seconds", unreadable = true }
        retryable = false
        "#,
    );
    let lock = read(&dialect, 429, &[("x-kind", "Lock"), ("retry-after", "5")], "");
    assert!(lock.signal().is_none());
    assert_eq!((lock.reason.unwrap().as_str(), lock.information.unwrap().duration.as_secs()), ("lock", 5));
    assert_eq!(signal(&dialect, 429, &[], "").reason.as_str(), "bare");
    let reason =
        |count| signal(&dialect, 429, &[("x-kind", "rate"), ("x-count", count)], "").reason.to_string();
    assert_eq!(
        (reason("2"), reason("2.5"), reason("3"), reason("few")),
        ("few".into(), "few".into(), "status-429".into(), "status-429".into())
    );
    let retryable = |wait| signal(&dialect, 429, &[("x-kind", "rate"), ("x-wait", wait)], "").retryable;
    assert_eq!((retryable("5"), retryable("-1")), (true, false));
}

#[test]
fn every_dimension_of_a_pattern_is_read_and_the_longest_exhausted_reset_counts() {
    let dialect = toml(
        r#"
        [[dimension]]
        remaining = "x-left-{}"
        limit = "x-limit-{}"
        reset = "x-reset-{}"
        unit = "go-duration"
        "#,
    );
    let read = read(
        &dialect,
        429,
        &[
            ("x-left-calls", "0"),
            ("x-limit-calls", "60"),
            ("x-reset-calls", "1s"),
            ("x-left-tokens", "-3"),
            ("x-reset-tokens", "6m0s"),
            ("x-left-images", "5"),
            ("x-reset-images", "1h"),
            ("x-left-", "0"),
        ],
        "",
    );
    let signal = read.signal().unwrap();
    assert_eq!((millis(signal), signal.limit.as_deref()), (Some(360_000), Some("calls,tokens")));
    assert_eq!(signal.evidence.source, "x-reset-tokens");
    let calls = read.quotas.iter().find(|quota| quota.name.as_deref() == Some("calls")).unwrap();
    assert_eq!((calls.limit, calls.remaining, calls.exhausted), (Some(60), Some(0), true));
    assert_eq!(read.quotas.len(), 3);
}

#[test]
fn policies_tell_their_limit_and_window() {
    let lines = [
        ("ratelimit", r#""burst";r=5;t=1, "daily";r=0;t=36000"#),
        ("ratelimit-policy", r#""burst";q=10;w=1,"daily";q=5000;w=86400"#),
    ];
    let quotas = read(&Dialect::standard(), 200, &lines, "").quotas;
    let told = |name: &str| {
        let quota = quotas.iter().find(|quota| quota.name.as_deref() == Some(name)).unwrap();
        (
            quota.limit,
            quota.remaining,
            quota.reset.unwrap().duration.as_secs(),
            quota.window.unwrap().as_secs(),
        )
    };
    assert_eq!(told("burst"), (Some(10), Some(5), 1, 1));
    assert_eq!(told("daily"), (Some(5000), Some(0), 36_000, 86_400));
    let older = read(&Dialect::standard(), 200, &[("ratelimit", "limit=100, remaining=0, reset=30")], "");
    assert_eq!(older.information.unwrap().duration.as_secs(), 30);
    let three =
        [("ratelimit-limit", "100, 100;w=60"), ("ratelimit-remaining", "0"), ("ratelimit-reset", "7")];
    assert_eq!(read(&Dialect::standard(), 200, &three, "").information.unwrap().duration.as_secs(), 7);
}

#[test]
fn what_comes_out_of_a_cache_tells_no_quota() {
    let read = read(
        &Dialect::standard(),
        200,
        &[("age", "3"), ("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "9")],
        "",
    );
    assert_eq!((read.quotas.len(), read.information, read.reason), (0, None, None));
}

#[test]
fn a_header_that_a_dialect_reads_itself_is_not_read_by_the_standard_one_too() {
    let quotas = |text: &str| {
        let lines = [("ratelimit", "\"calls\";r=5;t=1"), ("x-ratelimit-remaining", "3"), ("x-left", "7")];
        let quotas = read(&toml(text), 200, &lines, "").quotas;
        quotas.into_iter().map(|quota| quota.name.unwrap_or_default().into_string()).collect::<Vec<_>>()
    };
    assert_eq!(quotas(""), ["calls", ""]);
    let own = "[[dimension]]\nname = \"own\"\n";
    assert_eq!(quotas(&format!("{own}reader = \"rate-limit\"\nheader = \"ratelimit\"")), ["own", ""]);
    assert_eq!(quotas(&format!("{own}remaining = \"x-ratelimit-remaining\"")), ["own", "calls"]);
    assert_eq!(quotas(&format!("{own}remaining = \"x-left\"")), ["own", "calls", ""]);
    assert_eq!(quotas(&format!("{own}reader = \"used-of-limit\"\nheader = \"x-left\"")), ["calls", ""]);
}

#[test]
fn a_limit_without_words_has_a_reason_by_its_delay() {
    let own = toml("delay = [\"retry-after\", { header = \"x-wait\", unit = \"seconds\" }]");
    let reason = |line| signal(&own, 429, &[line], "").reason.to_string();
    for (line, expected) in [
        (("retry-after", "5"), "retry-after"),
        (("retry-after", "soon"), "malformed-retry-after"),
        (("x-wait", "5"), "retry-after"),
        (("x-wait", "soon"), "status-429"),
        (("x-other", "5"), "status-429"),
    ] {
        assert_eq!(reason(line), expected, "{line:?}");
    }
}

#[test]
fn a_delay_that_is_longer_than_it_may_be_is_exhaustion() {
    let dialect = toml("exhausted-beyond = \"1m\"");
    let class = |wait| signal(&dialect, 429, &[("retry-after", wait)], "").class;
    assert_eq!((class("60"), class("61")), (Class::Throttled, Class::Exhausted));
}

#[test]
fn a_dialect_without_the_standard_one_knows_its_own_rules_alone() {
    let dialect = Dialect::builder("acme").without_standard().rule(Rule::on([420])).build().unwrap();
    assert!(read(&dialect, 429, &[], "").signal().is_none());
    assert!(read(&dialect, 420, &[], "").signal().is_some());
    assert!(!dialect.may_limit(StatusCode::TOO_MANY_REQUESTS));
}

#[test]
fn the_longest_of_several_delays_counts_where_one_asks() {
    let build = |longest: bool| {
        let words =
            Dialect::builder("acme").delay("retry-after").delay(Place::json("/wait").unit(Form::Seconds));
        if longest { words.longest() } else { words }.build().unwrap()
    };
    let wait = |dialect: &Dialect, body: &str| millis(&signal(dialect, 429, &[("retry-after", "5")], body));
    assert_eq!(wait(&build(false), r#"{"wait":30}"#), Some(5_000));
    assert_eq!(wait(&build(true), r#"{"wait":30}"#), Some(30_000));
    assert_eq!(wait(&build(true), r#"{"wait":0}"#), Some(5_000));
    assert_eq!(wait(&build(true), r#"{"wait":3}"#), Some(5_000));
    let same = signal(&build(true), 429, &[("retry-after", "5")], r#"{"wait":5}"#);
    assert_eq!(same.evidence.source, "retry-after", "the first of two that say the same");
}

#[test]
fn a_reader_of_its_own_reads_its_header() {
    let dialect = Dialect::builder("acme")
        .dimension(Dimension::read_by(Reader::UsedOfLimit, "x-used"))
        .build()
        .unwrap();
    let left = |value: &'static str| {
        let quotas = read(&dialect, 200, &[("x-used", value)], "").quotas;
        quotas.first().map(|quota| (quota.remaining.unwrap(), quota.exhausted))
    };
    assert_eq!(
        (left("39/40"), left(" 40 / 40 "), left("41/40")),
        (Some((1, false)), Some((0, true)), Some((0, true)))
    );
    assert_eq!((left("39"), left("-1/40"), left("a/b")), (None, None, None));
}
