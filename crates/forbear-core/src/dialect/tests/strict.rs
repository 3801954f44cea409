//! What would be read and then do nothing is refused.

use http::StatusCode;

use super::words::{signal, toml};
use crate::dialect::Dialect;
use crate::dialect::words::{Dimension, Form, Place, Reader, Rule};
use crate::signal::Class;

#[test]
fn what_would_do_nothing_is_refused() {
    for (text, expected) in [
        ("of = \"bucket\"", "`of` is `bucket`: is the bucket of no name"),
        ("[[rule]]\nstatus = 403\nof = \"bucket\"", "`rule[0].of` is `bucket`: is the bucket of no name"),
        (
            "delay = { header = \"x\", unit = \"seconds\", prefix = \"1\" }",
            "`delay[0].prefix` is `1`: belongs to a name",
        ),
        ("reason = \"\"", "`reason[0]` is ``: is empty"),
        ("bucket = { json = \"/bucket\" }", "`bucket[0]` is `a place in the body`: is never looked at"),
        (
            "[[published]]\nper = \"ip\"\nrequests = 1\nwindow = \"day\"\nsource = \"s\"",
            "`published[0].window` is `day`",
        ),
        (
            "[[rule]]\nstatus = 403\nwhen = { header = \"x\", is = [] }",
            "`rule[0].when[0].is` is `[]`: is met by nothing",
        ),
        (
            "[[rule]]\nstatus = 403\nwhen = { header = \"x\", contains = \"\" }",
            "`rule[0].when[0].contains` is ``: is met by everything",
        ),
        (
            "[[rule]]\nstatus = 403\nwhen = { header = \"x\", starts-with = [\"a\", \"\"] }",
            "`rule[0].when[0].starts-with` is ``",
        ),
        (
            "[[rule]]\nstatus = 403\nwhen = { header = \"x\", at-most = nan }",
            "`rule[0].when[0].at-most` is `NaN`",
        ),
        (
            "[[rule]]\nstatus = 403\nwhen = { json = \"/a~2\" }",
            "`rule[0].when[0].json` is `/a~2`: is no JSON pointer: in a name",
        ),
        (
            "[[rule]]\nstatus = 403\nlimited = false\ndelay = []",
            "`rule[0].delay` is `given`: has no meaning beside",
        ),
        (
            "[[rule]]\nstatus = 403\nlimited = false\nscope = \"a\"",
            "`rule[0].scope` is `given`: has no meaning beside",
        ),
        (
            "[[rule]]\nstatus = 403\nneeds-delay = true\ndefault-delay = \"5s\"",
            "`rule[0].default-delay` is `given`: is never used",
        ),
        (
            "[[rule]]\nstatus = 403\nneeds-delay = true\ndelay = []",
            "`rule[0].delay` is `[]`: believes no delay",
        ),
        (
            "[[rule]]\nstatus = 403\nclass = \"blocked\"\nretryable = true",
            "`rule[0].retryable` is `true`: is never so of the class `blocked`",
        ),
        (
            "[[rule]]\nstatus = [403, 429]\n[[rule]]\nstatus = 403\nwhen = { header = \"x\" }",
            "`rule[1].status` is `403`: is never asked",
        ),
        (
            "[[dimension]]\nreader = \"pairs\"\nheader = \"x\"\nreset = \"y\"",
            "`dimension[0].reset` is `given`: goes with `remaining`",
        ),
        (
            "[[dimension]]\nreader = \"shopify-cost\"\nheader = \"x\"",
            "`dimension[0].header` is `x`: is not read",
        ),
        (
            "[[rule]]\nstatus = 403\nwhen = { header = \"x\", unit = \"seconds\" }",
            "`rule[0].when[0].unit` is `a unit`: has a meaning only beside",
        ),
        (
            "[[dimension]]\nremaining = \"x\"\nheader = \"y\"",
            "`dimension[0].header` is `y`: goes with `reader`",
        ),
        (
            "[[dimension]]\nremaining = \"x\"\nunit = \"seconds\"",
            "`dimension[0].unit` is `given`: is that of `reset`",
        ),
        ("[[dimension]]\nremaining = \"x\"\nreset = \"y-{}\"", "`dimension[0].reset` is `y-{}`: has `{}`"),
        (
            "[[dimension]]\nremaining = \"x-{}\"\npolicy = \"y\"",
            "`dimension[0].policy` is `given`: has no meaning",
        ),
        (
            "[[dimension]]\nremaining = \"x-{}\"\nname = \"y\"",
            "`dimension[0].name` is `given`: has no meaning",
        ),
        ("[[dimension]]\nremaining = \"{}\"", "`dimension[0].remaining` is `{}`: is every header"),
        (
            "[[dimension]]\nremaining = \"x\"\nname = { json = \"/a\" }",
            "`dimension[0].name[0]` is `a place in the body`",
        ),
    ] {
        let wrong =
            Dialect::from_toml(&format!("name = \"acme\"\n{text}")).map_err(|wrong| wrong.to_string());
        let wrong = wrong.expect_err(text);
        assert!(wrong.starts_with(&format!("dialect key {expected}")), "{text}\n  {wrong}");
    }
    let nothing: [&str; 0] = [];
    let empty = Rule::on([403]).when(Place::header("x").is(nothing));
    assert!(Dialect::builder("acme").rule(empty).build().is_err());
}

#[test]
fn a_test_belongs_to_a_condition() {
    for test in [
        "is = \"a\"",
        "starts-with = \"a\"",
        "contains = \"a\"",
        "at-most = 1",
        "absent = true",
        "unreadable = true",
        "unreadable = true, unit = \"seconds\"",
    ] {
        for key in ["reason", "scope", "bucket", "delay"] {
            let wrong = Dialect::from_toml(&format!("name = \"acme\"\n{key} = {{ header = \"x\", {test} }}"));
            let wrong = wrong.map_err(|wrong| wrong.to_string()).expect_err(test);
            let expected = format!("dialect key `{key}[0]` is `a test`: belongs to a condition in `when`");
            assert_eq!(wrong, expected, "{test}");
        }
    }
}

#[test]
fn a_path_of_elements_has_names_alone() {
    for path in
        ["", "/a", "a/", "a//b", "a b", "a\tb", "<a>", "*", "@a", "a@b", "a/@", "a/@b c", "a/@b/@c", "a/@b/c"]
    {
        let text = format!("name = \"acme\"\nreason = {{ xml = {path:?} }}");
        let wrong = Dialect::from_toml(&text).map_err(|wrong| wrong.to_string()).expect_err(path);
        assert!(wrong.contains("is no path of elements"), "{path}\n  {wrong}");
    }
    for path in ["a", "a/b", "a/@b", "a-1/b.c/@d"] {
        let _ = toml(&format!("reason = {{ xml = {path:?} }}"));
    }
}

#[test]
fn the_whole_text_is_searched_for_words_in_no_way() {
    for search in [
        "contains = \"limit\"",
        "after = \"limit\"",
        "after = \"limit\", is = \"ed\"",
        "last-of = \" \", is = \"limit\"",
    ] {
        let text = format!("name = \"acme\"\n[[rule]]\nstatus = 403\nwhen = {{ text = true, {search} }}");
        let wrong = Dialect::from_toml(&text).expect_err(search).to_string();
        assert!(wrong.contains("would be met by any page"), "{search}\n  {wrong}");
    }
}

#[test]
fn what_may_stand_alone_may_stand_in_a_list() {
    let dialect = toml(
        "[[rule]]\nstatus = [\"403\", 402]\nwhen = { json = \"/code\", is = [17, \"busy\", true, 1.5] }\nreason = { json = \"/code\" }",
    );
    for (code, reason) in
        [("17", "17"), ("\"17\"", "17"), ("\"BUSY\"", "BUSY"), ("true", "true"), ("1.5", "1.5")]
    {
        assert_eq!(signal(&dialect, 402, &[], &format!("{{\"code\":{code}}}")).reason.as_str(), reason);
    }
    let alone = toml("[[rule]]\nstatus = 403\nwhen = { json = \"/ok\", is = false }");
    assert_eq!(signal(&alone, 403, &[], "{\"ok\":false}").class, Class::Throttled);
    for status in ["[429, true]", "[[429]]"] {
        let text = format!("name = \"acme\"\n[[rule]]\nstatus = {status}");
        let wrong = Dialect::from_toml(&text).map_err(|wrong| wrong.to_string()).expect_err(status);
        assert!(wrong.contains("expected a status such as 429"), "{status}\n  {wrong}");
    }
}

#[test]
fn the_buckets_name_need_not_be_told_twice() {
    let dialect = toml("of = \"bucket\"\nbucket = { header = \"x-bucket\" }\n[[rule]]\nstatus = 403");
    let of = |lines: &[(&'static str, &'static str)]| signal(&dialect, 403, lines, "").limit;
    assert_eq!(of(&[("x-bucket", "tiles")]).as_deref(), Some("tiles"));
    assert_eq!(of(&[]), None);
}

#[test]
fn the_buckets_name_may_be_told_by_a_rule_alone() {
    let rules = |scope: &str| {
        format!("name = \"acme\"\nof = \"bucket\"\n[[rule]]\nstatus = 403\n{scope}[[rule]]\nstatus = 402")
    };
    assert!(Dialect::from_toml(&rules("scope = { json = \"/kind\" }\n")).is_ok());
    let wrong = Dialect::from_toml(&rules("")).unwrap_err().to_string();
    assert!(wrong.starts_with("dialect key `of` is `bucket`: is the bucket of no name"), "{wrong}");
}

#[test]
fn what_is_no_limit_makes_no_status_one_that_may_limit() {
    let dialect = toml(
        "[[rule]]\nstatus = [404, 420]\nwhen = { header = \"x\" }\nlimited = false\n[[rule]]\nstatus = 420",
    );
    let may = |status| dialect.may_limit(StatusCode::from_u16(status).unwrap());
    assert!(!may(404) && may(420) && may(429));
}

#[test]
fn every_status_may_be_the_one_that_limits() {
    for status in 100..=999 {
        let dialect = Dialect::builder("acme").without_standard().rule(Rule::on([status])).build().unwrap();
        let may = |other| dialect.may_limit(StatusCode::from_u16(other).unwrap());
        let found: Vec<u16> = (100..=999).filter(|other| may(*other)).collect();
        assert_eq!(found, [status]);
    }
}

#[test]
fn a_rule_is_asked_for_what_others_leave() {
    for text in [
        "[[rule]]\nstatus = 403\n[[rule]]\nstatus = [403, 429]",
        "[[rule]]\nstatus = 403\nexhausted = true\n[[rule]]\nstatus = 403",
        "[[rule]]\nstatus = 403\nneeds-delay = true\n[[rule]]\nstatus = 403",
        // Those of the standard dialect come last, and may be taken whole.
        "[[rule]]\nstatus = [429, 503, 529]",
    ] {
        let _ = toml(text);
    }
    let words = Dialect::builder("acme")
        .dimension(Dimension::read_by(Reader::ShopifyCost, "").name(Place::json("/a")))
        .dimension(Dimension::remaining("x-{}-left").reset("x-reset", Form::Seconds));
    assert!(words.build().is_ok());
}
