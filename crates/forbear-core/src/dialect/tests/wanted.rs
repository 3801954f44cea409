//! Whose bodies are looked at: where a rule that the head leaves open asks for that, or the one that decides has its words
//! there.

use std::time::SystemTime;

use http::StatusCode;
use http::header::{HeaderMap, HeaderName, HeaderValue};

use super::words::{signal, toml};

fn looks(text: &str, lines: &[(&'static str, &'static str)]) -> bool {
    let line = |(name, value): &(&'static str, &'static str)| {
        (HeaderName::from_static(name), HeaderValue::from_static(value))
    };
    let headers: HeaderMap = lines.iter().map(line).collect();
    let dialect = toml(text);
    let reading = dialect.read_head(StatusCode::FORBIDDEN, &headers, SystemTime::UNIX_EPOCH);
    dialect.wants_body(&reading)
}

#[test]
fn a_body_is_looked_at_where_it_can_change_something() {
    let used_up = "[[rule]]\nstatus = 403\nexhausted = true\nreason = { json = \"/code\" }\n\
        [[dimension]]\nremaining = \"x-left\"";
    let kinds = "[[rule]]\nstatus = 403\nwhen = [{ header = \"x-kind\", is = \"limit\" }, { json = \"/code\" }]\n\
        [[rule]]\nstatus = 403\nlimited = false";
    let in_head = "[[rule]]\nstatus = 403\nwhen = { header = \"x-kind\", is = \"limit\" }\nreason = \"a\"\n\
        [[rule]]\nstatus = 403\nexhausted = true\nreason = \"b\"\n\
        [[rule]]\nstatus = 403\nreason = \"c\"";
    for (text, lines, expected) in [
        (used_up, &[("x-left", "0")][..], true),
        (used_up, &[("x-left", "1")], false),
        (used_up, &[], false),
        (kinds, &[("x-kind", "limit")], true),
        (kinds, &[("x-kind", "right")], false),
        (in_head, &[], false),
        (in_head, &[("x-kind", "limit")], false),
    ] {
        assert_eq!(looks(text, lines), expected, "{text}\n{lines:?}");
    }
}

#[test]
fn a_rule_for_what_is_used_up_holds_there_alone() {
    let dialect = toml(
        "[[rule]]\nstatus = 403\nexhausted = true\nreason = \"used-up\"\n\
        [[rule]]\nstatus = 403\nexhausted = false\nreason = \"something-left\"\n\
        [[dimension]]\nremaining = \"x-left\"",
    );
    for (lines, expected) in
        [(&[("x-left", "0")][..], "used-up"), (&[("x-left", "1")], "something-left"), (&[], "something-left")]
    {
        assert_eq!(signal(&dialect, 403, lines, "").reason.as_str(), expected, "{lines:?}");
    }
}

#[test]
fn what_is_absent_from_a_body_that_is_not_there_is_absent() {
    let text = "[[rule]]\nstatus = 403\nwhen = { json = \"/allowed\", absent = true }";
    let dialect = toml(text);
    let head = dialect.read_head(StatusCode::FORBIDDEN, &HeaderMap::new(), SystemTime::UNIX_EPOCH);
    assert!(head.signal().is_some() && dialect.wants_body(&head));
    assert_eq!(signal(&dialect, 403, &[], "{}").reason.as_str(), "status-403");
    let allowed = dialect.read_body(
        StatusCode::FORBIDDEN,
        &HeaderMap::new(),
        b"{\"allowed\":true}",
        SystemTime::UNIX_EPOCH,
    );
    assert!(allowed.signal().is_none());
}
