use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{HeaderName, Response};
use serde_json::{Map, Value};

use forbear_core::health::Short;

use super::kind::Kind;
use super::rfc3339::rfc3339;
use super::told::Refusal;
use crate::clock;

/// The response header `forbear-refusal` says who refused: `local`, this server, which did not call the vendor or had no
/// time left for it; `vendor`, whose limit was met. Absent where nobody refused.
pub const REFUSAL: HeaderName = HeaderName::from_static("forbear-refusal");

const PROBLEM: HeaderValue = HeaderValue::from_static("application/problem+json");

/// Response extension: made here, so what its header says is true.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told;

/// Whole seconds, rounded up; and the body with the same point in time by the wall clock.
pub(super) fn response<B: From<String>>(refusal: &Refusal) -> Response<B> {
    let left = refusal.retry_in();
    let retry_at = left.and_then(|left| clock::wall().checked_add(left)).and_then(rfc3339);
    let mut problem = Map::new();
    let mut put = |key: &str, value: Value| problem.insert(key.to_owned(), value);
    put("type", refusal.kind().uri().into());
    put("title", refusal.kind().title().into());
    put("status", refusal.status().as_u16().into());
    put("detail", detail(refusal).into());
    if let Some(family) = refusal.family() {
        put("family", family.into());
    }
    put("reason", refusal.reason().into());
    if let Some(retry_at) = retry_at {
        put("retry_at", retry_at.into());
    }

    let mut response = Response::new(B::from(Value::Object(problem).to_string()));
    *response.status_mut() = refusal.status();
    response.extensions_mut().insert(Told);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, PROBLEM);
    if let Some(left) = left {
        let seconds = left.as_secs().saturating_add(u64::from(left.subsec_nanos() > 0));
        headers.insert(RETRY_AFTER, seconds.into());
    }
    if let Some(by) = refusal.kind().by() {
        headers.insert(REFUSAL, HeaderValue::from_static(by));
    }
    response
}

/// A sentence for people. Of names it holds the family's alone.
pub(super) fn detail(refusal: &Refusal) -> String {
    let family = refusal.family().unwrap_or("the vendor");
    let what = match refusal.kind() {
        Kind::Refused => format!("{family} is not called"),
        Kind::Limited => format!("{family} limits this server"),
        Kind::BudgetExhausted => format!("the budget of this request was spent before {family} answered"),
        Kind::UnknownFamily => "this server knows no vendor for what it was to call".to_owned(),
        Kind::ClientFailed => format!("{family} could not be asked, or its answer is of no use"),
    };
    match refusal.retry_in() {
        Some(left) if !left.is_zero() => format!("{what}, retry in {}", Short(left)),
        _ => what,
    }
}
