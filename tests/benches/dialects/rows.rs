//! What is measured: one row of the table each.

use std::hint::black_box;
use std::time::{Duration, SystemTime};

use forbear_benches::Call;
use forbear_benches::counted::Row;
use forbear_core::dialect::Dialect;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};

type Lines = &'static [(&'static str, &'static str)];

/// What stands beside a limit in the answers of most vendors.
const OTHERS: Lines = &[
    ("date", "Mon, 30 Nov 2026 00:00:00 GMT"),
    ("content-type", "application/json; charset=utf-8"),
    ("content-length", "337"),
    ("connection", "keep-alive"),
    ("server", "cloudflare"),
    ("vary", "Accept-Encoding"),
    ("cache-control", "no-cache, no-store"),
    ("strict-transport-security", "max-age=31536000; includeSubDomains; preload"),
    ("x-content-type-options", "nosniff"),
    ("x-request-id", "req_5b5b8b7a6d0c4d2f"),
    ("access-control-allow-origin", "*"),
    ("alt-svc", "h3=\":443\"; ma=86400"),
];

const RETRY_AFTER: Lines = &[("retry-after", "120")];
const RETRY_AFTER_DATE: Lines = &[("retry-after", "Mon, 30 Nov 2026 00:02:00 GMT")];
const RATELIMIT: Lines = &[
    ("ratelimit", "\"burst\";r=0;t=30, \"daily\";r=900;t=36000"),
    ("ratelimit-policy", "\"burst\";q=100;w=60, \"daily\";q=1000;w=86400"),
];
const OPENAI: Lines = &[
    ("x-ratelimit-limit-requests", "60"),
    ("x-ratelimit-limit-tokens", "150000"),
    ("x-ratelimit-remaining-requests", "0"),
    ("x-ratelimit-remaining-tokens", "149984"),
    ("x-ratelimit-reset-requests", "1s"),
    ("x-ratelimit-reset-tokens", "6m0s"),
];
const ANTHROPIC: Lines = &[
    ("retry-after", "12"),
    ("anthropic-ratelimit-requests-limit", "50"),
    ("anthropic-ratelimit-requests-remaining", "49"),
    ("anthropic-ratelimit-requests-reset", "2026-11-30T00:00:02Z"),
    ("anthropic-ratelimit-input-tokens-limit", "40000"),
    ("anthropic-ratelimit-input-tokens-remaining", "0"),
    ("anthropic-ratelimit-input-tokens-reset", "2026-11-30T00:00:12Z"),
];
const GITHUB_PRIMARY: Lines = &[
    ("x-ratelimit-limit", "5000"),
    ("x-ratelimit-remaining", "0"),
    ("x-ratelimit-used", "5000"),
    ("x-ratelimit-reset", "1795998600"),
    ("x-ratelimit-resource", "core"),
];
const GITHUB_SECONDARY: Lines = &[
    ("retry-after", "60"),
    ("x-ratelimit-limit", "5000"),
    ("x-ratelimit-remaining", "4987"),
    ("x-ratelimit-used", "13"),
    ("x-ratelimit-reset", "1795999800"),
    ("x-ratelimit-resource", "core"),
];
const GITHUB_GOOD: Lines = &[
    ("x-ratelimit-limit", "5000"),
    ("x-ratelimit-remaining", "4987"),
    ("x-ratelimit-used", "13"),
    ("x-ratelimit-reset", "1795999800"),
    ("x-ratelimit-resource", "core"),
];

/// All rows, in the order of the table.
pub(crate) fn all() -> Vec<Row> {
    vec![
        status("floor", None, "generic-http", |_, status| status.is_success()),
        status("200, standard", Some(10), "generic-http", Dialect::may_limit),
        status("200, `openai`", Some(10), "openai", Dialect::may_limit),
        status("200, `github`: has rules for a 200", Some(16), "github", Dialect::may_limit),
        head("200 of `github`, read", 13_700, "github", 200, GITHUB_GOOD),
        head("429, standard, `Retry-After`", 5_400, "generic-http", 429, RETRY_AFTER),
        head("429, standard, `Retry-After` with a date", 9_300, "generic-http", 429, RETRY_AFTER_DATE),
        head("429, standard, `RateLimit`", 16_400, "generic-http", 429, RATELIMIT),
        head("429, `openai`", 18_300, "openai", 429, OPENAI),
        head("429, `anthropic`", 21_500, "anthropic", 429, ANTHROPIC),
        head("403, `github`, primary", 15_100, "github", 403, GITHUB_PRIMARY),
        head("403, `github`, secondary", 14_600, "github", 403, GITHUB_SECONDARY),
    ]
}

/// What can be said of a good answer by its status: whether the dialect has rules for it; or, as the floor, nothing of the
/// dialect.
fn status(
    name: &'static str,
    limit: Option<u64>,
    vendor: &'static str,
    ask: impl Fn(&Dialect, StatusCode) -> bool + Copy + 'static,
) -> Row {
    let make = move || -> Call {
        let dialect = Dialect::named(vendor).unwrap();
        let response = Response::new(());
        Box::new(move || {
            black_box(ask(black_box(&dialect), black_box(&response).status()));
        })
    };
    Row { name, limit, make: Box::new(make) }
}

/// What a head says, and whether the body can say more.
fn head(name: &'static str, limit: u64, vendor: &'static str, status: u16, lines: Lines) -> Row {
    let make = move || -> Call {
        let dialect = Dialect::named(vendor).unwrap();
        let status = StatusCode::from_u16(status).unwrap();
        let lines = OTHERS.iter().chain(lines);
        let headers: HeaderMap = lines
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        let wall = SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_996_800);
        Box::new(move || {
            let reading = black_box(&dialect).read_head(black_box(status), black_box(&headers), wall);
            black_box(dialect.wants_body(&reading));
            drop(black_box(reading));
        })
    };
    Row { name, limit: Some(limit), make: Box::new(make) }
}
