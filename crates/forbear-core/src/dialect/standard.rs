//! What most vendors have in common.

use super::STANDARD;
use super::words::{Dimension, Form, Place, Reader, Rule, Words};
use crate::signal::Class;

/// The dialect of RFC 9110, RFC 6585, draft-ietf-httpapi-ratelimit-headers and what most vendors have in common. Other
/// dialects fall back to it.
pub(super) fn words() -> Words {
    let problem = |name: &str| {
        Place::json("/type").is([format!("https://iana.org/assignments/http-problem-types#{name}")])
    };
    // So that no other 503 is looked into.
    let is_problem = || Place::header("content-type").starts_with(["application/problem+json"]);
    let policies = || Place::json("/violated-policies/*");
    let code = || Place::json("/type").last_of("#");
    Words::new(STANDARD)
        .without_standard()
        // The problem types of draft-ietf-httpapi-ratelimit-headers.
        .rule(
            Rule::on([429, 503])
                .when(is_problem())
                .when(problem("temporary-reduced-capacity"))
                .class(Class::Overloaded)
                .reason(code())
                .scope(policies()),
        )
        .rule(
            Rule::on([429])
                .when(is_problem())
                .when(problem("abnormal-usage-detected"))
                .class(Class::Blocked)
                .reason(code())
                .scope(policies()),
        )
        .rule(
            Rule::on([429])
                .when(is_problem())
                .when(problem("quota-exceeded"))
                .reason(code())
                .scope(policies()),
        )
        .rule(Rule::on([429]))
        // Without a delay a 503 is any outage, and byte for byte what some proxies limit with.
        .rule(Rule::on([503]).class(Class::Overloaded).needs_delay())
        // 529 is not registered but in use.
        .rule(Rule::on([529]).class(Class::Overloaded).reason("status-529"))
        .reason(Place::json("/details/reason"))
        .reason(Place::json("/data/reason"))
        .reason(Place::json("/reason"))
        .dimension(Dimension::read_by(Reader::RateLimit, "ratelimit"))
        .dimension(
            Dimension::remaining("ratelimit-remaining")
                .reset("ratelimit-reset", Form::Reset)
                .limit("ratelimit-limit"),
        )
        .dimension(
            Dimension::remaining("x-ratelimit-remaining")
                .reset("x-ratelimit-reset", Form::Reset)
                .limit("x-ratelimit-limit"),
        )
        .dimension(
            Dimension::remaining("x-rate-limit-remaining")
                .reset("x-rate-limit-reset", Form::Reset)
                .limit("x-rate-limit-limit"),
        )
}
