//! Where a word may stand, and which of several counts.

use super::words::{millis, read, signal, toml};
use crate::dialect::Dialect;

#[test]
fn an_attribute_is_read_as_the_words_of_an_element_are() {
    let dialect = toml(r#"reason = { xml = "api/error/@code" }"#);
    let reason = |body: &str| signal(&dialect, 429, &[], body).reason.to_string();
    for body in [
        r#"<api><error code="slow"/></api>"#,
        r#"<?xml version="1.0"?><api><error info='x' code='slow'>words</error></api>"#,
        r#"<api><other/><error/><error code="slow"/></api>"#,
        r#"<api><error code="slow">"#,
    ] {
        assert_eq!(reason(body), "slow", "{body}");
    }
    assert_eq!(reason(r#"<api><error code="a&amp;b"/></api>"#), "a&b");
    for body in [
        r#"<error code="slow"/>"#,
        r#"<api><error><x code="slow"/></error></api>"#,
        "<api><error><code>slow</code></error></api>",
        r#"<api><error code="slow"#,
        r#"<api><error code=slow"/></api>"#,
    ] {
        assert_eq!(reason(body), "status-429", "{body}");
    }
}

#[test]
fn of_several_words_those_that_met_the_condition_count() {
    let dialect = toml(
        r#"
        [[rule]]
        status = 200
        when = { json = "/errors/*/code", is = ["slow", "busy"] }
        reason = { json = "/errors/*/code" }
        scope = [{ json = "/errors/*/code", prefix = "by:" }, "none"]
        "#,
    );
    let read = signal(&dialect, 200, &[], r#"{"errors":[{"code":"other"},{"code":"BUSY"},{"code":"slow"}]}"#);
    assert_eq!((read.reason.as_str(), read.limit.as_deref()), ("BUSY", Some("by:other")));
}

#[test]
fn a_name_may_stand_before_what_remains() {
    let dialect = toml(
        r#"
        [[dimension]]
        remaining = "x-left"
        name = "calls"
        "#,
    );
    let limit = |line: &'static str| signal(&dialect, 429, &[("x-left", line)], "").limit;
    assert_eq!(limit("a/Get3Min;107, a/Get30Min;0").as_deref(), Some("a/Get30Min"));
    assert_eq!(limit("0;w=60").as_deref(), Some("calls"));
    assert_eq!(limit("0;1").as_deref(), Some("calls"));
    for line in ["a;b", ";", "a;", "a"] {
        assert_eq!(limit(line), None, "{line}");
    }
}

#[test]
fn a_limit_below_zero_is_none() {
    let dialect = toml(
        r#"
        [[dimension]]
        remaining = "x-left"
        limit = "x-all"
        name = "calls"
        "#,
    );
    let limit = |all: &'static str| signal(&dialect, 429, &[("x-left", "-1"), ("x-all", all)], "").limit;
    assert_eq!(limit("-1"), None);
    assert_eq!(limit("60").as_deref(), Some("calls"));
}

#[test]
fn a_star_stands_for_elements_and_for_members() {
    let dialect = toml(r#"reason = { json = "/errors/*/code" }"#);
    for body in [
        r#"{"errors":[{"code":[]},{"code":"slow"}]}"#,
        r#"{"errors":{"field":{"code":null},"limit":{"code":"slow"}}}"#,
    ] {
        assert_eq!(signal(&dialect, 429, &[], body).reason.as_str(), "slow", "{body}");
    }
}

#[test]
fn a_condition_asks_for_the_whole_the_start_or_a_part() {
    for (test, met) in [
        ("is = \"slow\"", [true, false, false]),
        ("starts-with = \"slow\"", [true, true, false]),
        ("contains = \"slow\"", [true, true, true]),
    ] {
        let dialect = toml(&format!("[[rule]]\nstatus = 403\nwhen = {{ json = \"/code\", {test} }}"));
        for (code, met) in ["SLOW", "slow-down", "too-slow"].into_iter().zip(met) {
            let read = read(&dialect, 403, &[], &format!("{{\"code\":\"{code}\"}}"));
            assert_eq!(read.signal().is_some(), met, "{test} {code}");
        }
    }
}

#[test]
fn the_evidence_of_a_rule_is_what_its_condition_found() {
    let dialect = toml(
        r#"
        [[rule]]
        status = 403
        when = [{ header = "x-ok", absent = true }, { json = "/codes/*", starts-with = "slow" }]
        reason = "busy"
        "#,
    );
    let read = signal(&dialect, 403, &[], r#"{"codes":["other","slow-down"]}"#);
    assert_eq!((&*read.evidence.source, &*read.evidence.value), ("/codes/*", "slow-down"));
}

#[test]
fn a_delay_is_cut_to_what_counts() {
    for (cut, line) in [
        ("after = \"in \"", "retry in 5 s"),
        ("up-to = \";\"", "5;burst"),
        ("last-of = \"=\"", "burst=1;wait=5"),
        // Lines that were folded into one, where nothing is cut.
        ("", "5, 3"),
        ("after = \"wait=\", up-to = \";\"", "wait=5;burst=1"),
    ] {
        let dialect = toml(&format!(
            "delay = {{ header = \"x-wait\", unit = \"seconds\"{}{cut} }}",
            if cut.is_empty() { "" } else { ", " }
        ));
        let delay = signal(&dialect, 429, &[("x-wait", line)], "").delay;
        assert_eq!(delay.map(|delay| delay.duration.as_secs()), Some(5), "{cut}");
    }
}

#[test]
fn of_several_delays_at_a_place_the_longest_counts_and_of_two_the_first() {
    let dialect = toml(r#"delay = { json = "/errors/*/wait", unit = "seconds" }"#);
    for (waits, seconds, evidence) in [
        (r#"{"wait":3},{"wait":7},{"wait":5}"#, Some(7), "7"),
        (r#"{"wait":"soon"},{"wait":7},{"wait":"7.0"}"#, Some(7), "7"),
        (r#"{"wait":"soon"},{"wait":"later"}"#, None, "soon"),
        (r#"{"wait":"7 seconds"}"#, None, "7 seconds"),
    ] {
        let read = signal(&dialect, 429, &[], &format!("{{\"errors\":[{waits}]}}"));
        assert_eq!(read.delay.map(|delay| delay.duration.as_secs()), seconds, "{waits}");
        assert_eq!(&*read.evidence.value, evidence, "{waits}");
    }
}

#[test]
fn what_remains_is_a_plain_number() {
    let remaining = |line| {
        let quotas = read(&Dialect::standard(), 200, &[("x-ratelimit-remaining", line)], "").quotas;
        quotas.first().map(|quota| quota.remaining.unwrap())
    };
    for (line, expected) in [
        ("7", Some(7)),
        ("7.9", Some(7)),
        ("-7", Some(0)),
        ("999999999999999", Some(999_999_999_999_999)),
        ("00000000000000000000000000000007", Some(7)),
        ("000000000000000000000000000000007", None),
        ("+7", None),
        ("7e1", None),
        ("inf", None),
        ("NaN", None),
    ] {
        assert_eq!(remaining(line), expected, "{line}");
    }
}

#[test]
fn resets_are_paired_by_their_place_where_there_are_as_many() {
    let reset = |left, resets| {
        let lines = [("x-ratelimit-remaining", left), ("x-ratelimit-reset", resets)];
        signal(&Dialect::standard(), 429, &lines, "").delay.map(|delay| delay.duration.as_secs())
    };
    assert_eq!(reset("0, 5", "7, 30"), Some(7));
    assert_eq!(reset("5, 0", "7, 30"), Some(30));
    assert_eq!(reset("0, 5", "7, 30, 60"), Some(60));
    assert_eq!(reset("0, 5, 5", "7, 30"), Some(30));
    assert_eq!(reset("0, 5", "7"), Some(7));
    // The comma of a date parts nothing.
    assert_eq!(reset("0", "Mon, 30 Nov 2026 00:00:07 GMT"), Some(7));
}

#[test]
fn the_comma_of_a_phrase_is_a_part_of_it() {
    let dialect = toml("[[dimension]]\nremaining = \"x-left\"\nreset = \"x-reset\"\nunit = \"phrase\"");
    let lines = [("x-left", "0"), ("x-reset", "5 seconds, 9 minutes at most")];
    let delay = signal(&dialect, 429, &lines, "").delay;
    assert_eq!(delay.map(|delay| delay.duration.as_secs()), Some(5));
}

#[test]
fn white_space_around_words_is_no_part_of_them() {
    let delay = toml("delay = { xml = \"e/wait\", unit = \"seconds\" }");
    let waited = signal(&delay, 429, &[], "<e><wait>\n  7\n</wait></e>").delay;
    assert_eq!(waited.map(|delay| delay.duration.as_secs()), Some(7));
    let named = toml("scope = { json = \"/kind\", prefix = \"kind:\" }");
    assert_eq!(signal(&named, 429, &[], "{\"kind\":\" search \"}").limit.as_deref(), Some("kind:search"));
    let any = toml("[[rule]]\nstatus = 403\nwhen = { text = true }");
    assert!(read(&any, 403, &[], " \r\n\t").signal().is_none());
    assert!(read(&any, 403, &[], " \r\n\tx").signal().is_some());
}

#[test]
fn a_number_is_a_word_as_it_was_written() {
    let dialect = toml("reason = { json = \"/code\" }");
    for code in ["17", "12345678901234567", "-1.5", "0.1"] {
        assert_eq!(signal(&dialect, 429, &[], &format!("{{\"code\":{code}}}")).reason.as_str(), code);
    }
}

#[test]
fn a_pattern_finds_its_headers_in_any_letters_and_pairs_them_by_their_names() {
    let dialect = toml("[[dimension]]\nremaining = \"X-Left-{}-Now\"\nlimit = \"X-Most-{}\"");
    let lines = [
        ("x-left-reads-now", "1"),
        ("x-left-posts-now", "2"),
        ("x-most-reads", "10"),
        ("x-most-posts", "20"),
    ];
    let mut told: Vec<_> = read(&dialect, 200, &lines, "")
        .quotas
        .into_iter()
        .map(|quota| (quota.name.unwrap().into_string(), quota.remaining.unwrap(), quota.limit))
        .collect();
    told.sort();
    assert_eq!(told, [("posts".to_owned(), 2, Some(20)), ("reads".to_owned(), 1, Some(10))]);
}

#[test]
fn what_has_an_empty_name_has_none() {
    let dialect = toml("[[dimension]]\nremaining = \"x-left\"\npolicy = \"x-policy\"");
    let names = |lines: &[(&'static str, &'static str)]| {
        let quotas = read(&dialect, 200, lines, "").quotas;
        quotas.into_iter().map(|quota| quota.name.map(Into::into)).collect::<Vec<Option<String>>>()
    };
    assert_eq!(names(&[("x-left", "1, 2"), ("x-policy", "calls, ")]), [Some("calls".to_owned()), None]);
    assert_eq!(names(&[("x-left", ";1, a;2")]), [None, Some("a".to_owned())]);
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
