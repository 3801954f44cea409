//! What a dialect of one's own can say, and what is refused.

use std::time::{Duration, SystemTime};

use http::StatusCode;
use http::header::{HeaderMap, HeaderName, HeaderValue};

use crate::dialect::words::{Dimension, Form, Place, Reader, Rule, Words};
use crate::dialect::{Dialect, Reading};
use crate::presets;
use crate::signal::{Class, Delay, Scope, Signal};

fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
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

fn millis(signal: &Signal) -> Option<u128> {
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
fn a_place_is_cut_to_what_counts() {
    let dialect = toml(
        r##"
        reason = { json = "/type", up-to = ":", last-of = "#" }
        scope = { header = "x-account", prefix = "account:", lower-case = true }
        delay = [{ json = "/text", after = "retry in ", unit = "phrase" }]
        "##,
    );
    let body = r##"{"type":"com.acme#Slow:http://acme","text":"Too fast, Retry in 2 minutes or so."}"##;
    let read = signal(&dialect, 429, &[("x-account", "A-17")], body);
    assert_eq!(
        (read.reason.as_str(), read.limit.as_deref(), millis(&read)),
        ("Slow", Some("account:a-17"), Some(120_000))
    );
    let bare = signal(&dialect, 429, &[], r#"{"type":"Slow","text":"Too fast"}"#);
    assert_eq!((bare.reason.as_str(), bare.limit.as_deref(), millis(&bare)), ("Slow", None, None));
}

#[test]
fn xml_is_read_by_the_end_of_a_path() {
    let dialect = toml(
        r#"
        reason = { xml = "Error/Code" }
        delay = [{ xml = "Error/Wait", unit = "seconds" }]
        "#,
    );
    let reason = |body: &str| {
        let signal = signal(&dialect, 429, &[], body);
        (signal.reason.to_string(), millis(&signal))
    };
    let slow = |wait| ("Slow".to_owned(), wait);
    assert_eq!(reason("<Error><Code>Slow</Code><Wait>7</Wait></Error>"), slow(Some(7_000)));
    assert_eq!(
        reason(
            "<?xml version=\"1.0\"?>\n<a:R xmlns:a=\"u\"><a:Error><a:Code><![CDATA[Slow]]></a:Code></a:Error></a:R>"
        ),
        slow(None)
    );
    assert_eq!(reason("<R><Error><Code>Slow</Code><Wait>7"), slow(None), "cut off");
    for body in [
        "<Code>Slow</Code>",
        "<Error><Detail><Code>Slow</Code></Detail></Error>",
        "<Error><Code>Slow",
        "Error/Code Slow",
        "<<<>>>",
        "<Error></Other><Code>x</Code></Error>",
    ] {
        assert_eq!(reason(body), ("status-429".to_owned(), None), "{body}");
    }
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
fn a_stream_of_events_is_looked_into_where_one_asks() {
    let event = "event: error\r\ndata: {\"type\":\"error\",\r\ndata: \"error\":{\"type\":\"overloaded_error\"}}\r\n\r\n";
    let plain = "data: {\"type\":\"message_start\"}\n\n";
    let lines = [("content-type", "text/event-stream; charset=utf-8")];
    let rule =
        Rule::on([200]).when(Place::json("/error/type").is(["overloaded_error"])).class(Class::Overloaded);
    let deaf = Dialect::builder("acme").rule(rule.clone()).build().unwrap();
    let asked = Dialect::builder("acme").rule(rule).event_streams().build().unwrap();
    let wants = |dialect: &Dialect| {
        dialect.wants_body(&dialect.read_head(StatusCode::OK, &headers(&lines), SystemTime::UNIX_EPOCH))
    };
    assert_eq!((wants(&deaf), wants(&asked)), (false, true));
    let limited = |dialect: &Dialect, body: &str| read(dialect, 200, &lines, body).signal().is_some();
    assert!(limited(&asked, event) && limited(&asked, &format!(": hello\n\n{event}{plain}")));
    assert!(!limited(&deaf, event), "not asked");
    assert!(!limited(&asked, &format!("{plain}{event}")), "the first event alone");
    assert!(!limited(&asked, event.trim_end()), "an event that is not whole is none");
}

#[test]
fn enough_of_a_stream_of_events_is_its_first() {
    let enough = |kind: &'static str, seen: &str| {
        Dialect::enough(&headers(&[("content-type", kind)]))(seen.as_bytes())
    };
    assert!(enough("text/event-stream", "data: {}\n\n"));
    assert!(enough("Text/Event-Stream; charset=utf-8", ": hello\n\ndata: {}\r\n\r\n"));
    assert!(!enough("text/event-stream", "data: {}\n"));
    assert!(!enough("text/event-stream", ": hello\n\nevent: x\n\n"));
    assert!(!enough("application/json", "data: {}\n\n"));
    assert!(!Dialect::enough(&HeaderMap::new())(b"data: {}\n\n"));
}

#[test]
fn the_lines_of_an_event_are_lines_of_its_data() {
    let dialect = toml(
        "event-streams = true\n[[rule]]\nstatus = 200\nwhen = { text = true, starts-with = \"slow\\ndown\" }",
    );
    let lines = [("content-type", "text/event-stream")];
    let limited = |body: &str| read(&dialect, 200, &lines, body).signal().is_some();
    assert!(limited("data: slow\ndata: down\n\n") && limited("data:slow\r\ndata:down\r\n\r\n"));
    assert!(!limited("data: slowdown\n\n") && !limited("data: slow\n\ndata: down\n\n"));
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
fn a_wrong_dialect_names_the_key_the_value_and_what_is_allowed() {
    for (text, expected) in [
        (
            "delay = \"soon\"",
            "dialect key `delay[0]` is `soon`: use `retry-after`, `dimension`, or a place with a unit",
        ),
        ("delay = { header = \"x-wait\" }", "dialect key `delay[0].unit` is ``: is missing: name one"),
        ("reason = { header = \"x wait\" }", "dialect key `reason[0].header` is `x wait`: is no header name"),
        ("reason = { json = \"code\" }", "dialect key `reason[0].json` is `code`: is no JSON pointer"),
        (
            "reason = { xml = \"Error//Code\" }",
            "dialect key `reason[0].xml` is `Error//Code`: is no path of elements",
        ),
        (
            "reason = { header = \"a\", is = \"b\" }",
            "dialect key `reason[0]` is `a test`: belongs to a condition",
        ),
        (
            "reason = { header = \"a\", unit = \"seconds\" }",
            "dialect key `reason[0].unit` is `a unit`: belongs to a delay",
        ),
        ("reason = { header = \"a\", after = \"\" }", "dialect key `reason[0].after` is ``: is empty"),
        ("reason = { header = \"a\", title = true }", "dialect key `reason[0]` is `several places`"),
        ("reason = { after = \"a\" }", "dialect key `reason[0]` is ``: says no place"),
        ("[[rule]]\nstatus = []", "dialect key `rule[0].status` is `[]`: name at least one status"),
        ("[[rule]]\nstatus = 99", "dialect key `rule[0].status` is `99`: a status lies between 100 and 999"),
        ("[[rule]]\nstatus = 429\nwhen = \"x\"", "dialect key `rule[0].when[0]` is `x`: is always the same"),
        (
            "[[rule]]\nstatus = 429\nwhen = { text = true, contains = \"limit\" }",
            "dialect key `rule[0].when[0].contains`",
        ),
        (
            "[[rule]]\nstatus = 429\nwhen = { title = true, is = \"a\", absent = true }",
            "dialect key `rule[0].when[0]` is `several tests`",
        ),
        (
            "[[rule]]\nstatus = 429\nlimited = false\nclass = \"blocked\"",
            "dialect key `rule[0].class` is `given`: has no meaning beside `limited = false`",
        ),
        (
            "[[rule]]\nstatus = 429\ndefault-delay = \"30\"",
            "dialect key `rule[0].default-delay` is `30`: is no duration",
        ),
        ("[[dimension]]\nreset = \"x\"", "dialect key `dimension[0]` is `neither`"),
        ("[[dimension]]\nreader = \"pairs\"", "dialect key `dimension[0].header` is ``: is missing"),
        (
            "[[dimension]]\nremaining = \"x {}\"",
            "dialect key `dimension[0].remaining` is `x {}`: is no header name",
        ),
    ] {
        let wrong = Dialect::from_toml(&format!("name = \"acme\"\n{text}")).unwrap_err().to_string();
        assert!(wrong.starts_with(expected), "{text}\n  {wrong}");
    }
    let nameless = Dialect::builder("a b").build().unwrap_err().to_string();
    assert_eq!(
        nameless,
        "dialect key `name` is `a b`: use 1 to 64 bytes without white space, such as `acme-api`"
    );
}

#[test]
fn the_name_of_a_dialect_has_1_to_64_bytes() {
    for (length, allowed) in [(0, false), (1, true), (64, true), (65, false)] {
        let built = Dialect::builder("a".repeat(length)).build();
        assert_eq!(built.is_ok(), allowed, "{length}");
    }
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
fn toml_that_cannot_be_read_says_where() {
    for (text, expected) in [
        ("colour = 1", "unknown field `colour`"),
        ("[[rule]]\nstatus = \"often\"", "expected a status such as 429, or a list of them"),
        ("[[rule]]\nstatus = 429\nclass = \"angry\"", "unknown variant `angry`"),
        ("[[rule]]\nstatus = 429\nwhen = { heather = \"x\" }", "unknown field `heather`"),
        ("delay = { header = \"x\", unit = \"fortnights\" }", "unknown variant `fortnights`"),
        ("reason = 7.5", "expected a string, a table such as"),
        ("reason = ", "TOML parse error at line 2"),
    ] {
        let wrong = Dialect::from_toml(&format!("name = \"acme\"\n{text}")).unwrap_err().to_string();
        assert!(
            wrong.starts_with("dialect cannot be read: ") && wrong.contains("line "),
            "{text}\n  {wrong}"
        );
        assert!(wrong.contains(expected), "{text}\n  {wrong}");
    }
    let nameless = Dialect::from_toml("").unwrap_err().to_string();
    assert!(nameless.contains("missing field `name`"), "{nameless}");
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
