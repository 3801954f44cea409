//! What vendors send that nobody expects, and what would make work.

use std::fmt::Write;
use std::time::{Duration, SystemTime};

use http::StatusCode;
use http::header::{HeaderMap, HeaderName, HeaderValue};

use super::words::{signal, toml};
use crate::dialect::words::{Dimension, Form};
use crate::dialect::{Dialect, Reading};
use crate::presets;

fn whole(dialect: &Dialect, status: u16, body: &[u8]) -> Reading {
    let wall = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(1_795_996_800)).unwrap();
    dialect.read_body(StatusCode::from_u16(status).unwrap(), &HeaderMap::new(), body, wall)
}

fn reason(dialect: &Dialect, body: &[u8]) -> Option<String> {
    whole(dialect, 403, body).into_signal().map(|signal| signal.reason.to_string())
}

#[test]
fn a_mark_of_utf_8_hides_no_body() {
    let dialect = toml(
        "reason = [{ json = \"/code\" }, { xml = \"e/code\" }, { text = true }]\n[[rule]]\nstatus = 403",
    );
    for (body, expected) in
        [("{\"code\":\"busy\"}", "busy"), ("<e><code>busy</code></e>", "busy"), ("slow down", "slow down")]
    {
        assert_eq!(
            reason(&dialect, format!("\u{feff}{body}").as_bytes()).as_deref(),
            Some(expected),
            "{body}"
        );
    }
}

#[test]
fn a_message_in_another_charset_hides_no_code() {
    let dialect = toml("reason = [{ json = \"/code\" }, { xml = \"e/code\" }]\n[[rule]]\nstatus = 403");
    for body in [
        &b"{\"message\":\"zu h\xe4ufig\",\"code\":\"busy\"}"[..],
        b"<e><message>zu h\xe4ufig</message><code>busy</code></e>",
    ] {
        assert_eq!(reason(&dialect, body).as_deref(), Some("busy"), "{}", String::from_utf8_lossy(body));
    }
    let text = toml("[[rule]]\nstatus = 403\nwhen = { text = true, starts-with = \"slow\" }");
    assert!(reason(&text, b"slow, h\xe4ufig").is_some());
}

#[test]
fn text_that_is_cut_within_a_character_is_text() {
    let dialect = toml("[[rule]]\nstatus = 403\nwhen = { text = true, starts-with = \"slow\" }");
    for start in ["slow", "slow."] {
        let body = format!("{start}{}", "\u{e4}".repeat(Dialect::MAX_BODY));
        assert!(reason(&dialect, body.as_bytes()).is_some(), "{start}");
    }
}

#[test]
fn references_in_xml_stand_for_what_they_stand_for() {
    let dialect = toml("reason = { xml = \"e/code\" }\n[[rule]]\nstatus = 403");
    for (code, expected) in [
        ("Slow&amp;Down", "Slow&Down"),
        ("Slow&#68;ow&#x6e;", "SlowDown"),
        // What a document declares for itself is not followed.
        ("Slow&down;", "Slow&down;"),
        ("Slow&#0;", "Slow&#0;"),
    ] {
        let body = format!("<e><code>{code}</code></e>");
        assert_eq!(reason(&dialect, body.as_bytes()).as_deref(), Some(expected), "{code}");
    }
    let bare = b"<e><message>wait & see</message><code>busy</code></e>";
    assert_eq!(reason(&dialect, bare).as_deref(), Some("busy"));
}

#[test]
fn a_number_may_have_an_exponent() {
    let dialect = toml("delay = { json = \"/wait\", unit = \"seconds\" }");
    let longest = 1_000 << 31;
    for (wait, millis) in [
        ("1e3", 1_000_000),
        ("1e-9", 1),
        ("1.5E1", 15_000),
        ("1e300", longest),
        ("123456789012345678901234567890", longest),
    ] {
        let delay = signal(&dialect, 429, &[], &format!("{{\"wait\":{wait}}}")).delay;
        assert_eq!(delay.map(|delay| delay.duration.as_millis()), Some(millis), "{wait}");
    }
}

#[test]
fn the_reason_is_that_of_what_is_waited_for() {
    let sentry = presets::sentry().dialect();
    let lines = |value| [("x-sentry-rate-limits", value)];
    let first =
        signal(&sentry, 429, &lines("60:error:project:short, 2700:transaction:organization:long"), "");
    assert_eq!((first.reason.as_str(), first.delay.unwrap().duration.as_secs()), ("long", 2700));
    let last = signal(&sentry, 429, &lines("60:error:project:first, 60:session:project:second"), "");
    assert_eq!(last.reason.as_str(), "first");
    let silent = signal(&sentry, 429, &lines("60:error:project:why, 2700:transaction"), "");
    assert_eq!((silent.reason.as_str(), silent.delay.unwrap().duration.as_secs()), ("why", 2700));
    // Without words of its own it is that of its scope.
    for line in ["60:error:key", "60:error:key:"] {
        assert_eq!(signal(&sentry, 429, &lines(line), "").reason.as_str(), "key", "{line}");
    }
}

#[test]
fn a_partition_key_hides_neither_limit_nor_window() {
    let quotas = |policies: &'static str| {
        let headers = HeaderMap::from_iter([
            (
                HeaderName::from_static("ratelimit"),
                HeaderValue::from_static("\"user\";r=0;t=7;pk=:YQ==:, \"all\";r=3;t=7"),
            ),
            (HeaderName::from_static("ratelimit-policy"), HeaderValue::from_static(policies)),
        ]);
        let read = Dialect::standard().read_head(StatusCode::OK, &headers, SystemTime::UNIX_EPOCH);
        let told = |at: usize| (read.quotas[at].limit, read.quotas[at].window.map(|window| window.as_secs()));
        (told(0), told(1))
    };
    let none = (None, None);
    assert_eq!(quotas("\"user\";q=100;w=60;pk=:YQ==:"), ((Some(100), Some(60)), none));
    assert_eq!(quotas("\"user\";q=100;w=60"), ((Some(100), Some(60)), none));
    assert_eq!(quotas("\" user \";q=100;w=60"), ((Some(100), Some(60)), none));
    assert_eq!(quotas("\"use\";q=100;w=60, \"a\";q=9;w=2"), (none, none), "the start of a name");
    assert_eq!(quotas("\"user\";q=100;w=60;pk=:Yg==:"), (none, none), "another's");
    let own = quotas("\"user\";q=7;w=1;pk=:YQ==:, \"user\";q=100;w=60, \"all\";q=9;w=2;pk=:Yg==:");
    assert_eq!(
        own,
        ((Some(7), Some(1)), (Some(9), Some(2))),
        "what is for one key overrides what is for all"
    );
}

/// Lines of a head of some hundred KiB, as much as clients take: the time that it takes follows its length.
#[test]
fn a_head_that_tells_of_thousands_makes_no_work() {
    let listed = |item: fn(usize) -> String| {
        let list: Vec<String> = (0..20_000).map(item).collect();
        HeaderValue::from_str(&list.join(",")).unwrap()
    };
    let name = HeaderName::from_static;
    let mut named = HeaderMap::new();
    for at in 0..4_000 {
        let mut header = String::new();
        let _ = write!(header, "x-left-{at}");
        named.append(HeaderName::try_from(header).unwrap(), HeaderValue::from_static("0"));
    }
    let own = Dialect::builder("acme")
        .dimension(Dimension::remaining("x-left-{}").reset("x-back-{}", Form::Seconds))
        .build()
        .unwrap();
    for (dialect, headers) in [
        (
            Dialect::standard(),
            HeaderMap::from_iter([
                (name("ratelimit"), listed(|at| format!("\"{at}\";r=0;t=7"))),
                (name("ratelimit-policy"), listed(|at| format!("\"{at}\";q=1;w=7"))),
            ]),
        ),
        (
            Dialect::standard(),
            HeaderMap::from_iter([
                (name("x-ratelimit-remaining"), listed(|_| "0".to_owned())),
                (name("x-ratelimit-reset"), listed(|_| "7".to_owned())),
            ]),
        ),
        (
            presets::sentry().dialect(),
            HeaderMap::from_iter([(name("x-sentry-rate-limits"), listed(|_| "7:error:org".to_owned()))]),
        ),
        (own, named),
    ] {
        let read = dialect.read_head(StatusCode::TOO_MANY_REQUESTS, &headers, SystemTime::UNIX_EPOCH);
        assert_eq!(read.quotas.len(), 128, "{dialect:?}");
        assert!(read.quotas.iter().all(|quota| quota.exhausted), "{dialect:?}");
    }
}
