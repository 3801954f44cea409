//! Where a word may stand, and which of several counts.

use super::words::{signal, toml};

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
