//! What no dialect can say: the error names it.

use crate::dialect::Dialect;

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
