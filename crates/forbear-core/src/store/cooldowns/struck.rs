//! What closed a gate, as text.

use std::time::Duration;

use http::StatusCode;
use serde::{Deserialize, Serialize};

use crate::gate::Struck;
use crate::signal::{Class, Delay, Evidence, Reason, Scope, Signal, clean};
use crate::time::Monotonic;

#[derive(Serialize, Deserialize)]
struct Told<'a> {
    class: Class,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "is_false")]
    absolute: bool,
    #[serde(default)]
    scope: Scope,
    #[serde(default, skip_serializing_if = "Option::is_none", borrow)]
    limit: Option<std::borrow::Cow<'a, str>>,
    #[serde(default, borrow)]
    reason: std::borrow::Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(default, skip_serializing_if = "is_false")]
    retryable: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    not_executed: bool,
    #[serde(default, borrow)]
    source: std::borrow::Cow<'a, str>,
    #[serde(default, borrow)]
    value: std::borrow::Cow<'a, str>,
    #[serde(default, borrow)]
    route: std::borrow::Cow<'a, str>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_false(value: &bool) -> bool {
    !value
}

/// So much of a route is kept.
const ROUTE: usize = 256;

/// What closed a gate, for a store to keep: one object of JSON, below 1 KiB. It holds what health shows, and no more.
#[must_use]
pub fn struck_to_json(struck: &Struck) -> String {
    let Signal { class, delay, scope, limit, reason, status, retryable, not_executed, evidence, .. } =
        &struck.signal;
    let told = Told {
        class: *class,
        delay_ms: delay.map(|delay| u64::try_from(delay.duration.as_millis()).unwrap_or(u64::MAX)),
        absolute: delay.is_some_and(|delay| delay.absolute),
        scope: *scope,
        limit: limit.as_deref().map(Into::into),
        reason: reason.as_str().into(),
        status: status.map(|status| status.as_u16()),
        retryable: *retryable,
        not_executed: *not_executed,
        source: evidence.source.as_ref().into(),
        value: evidence.value.as_ref().into(),
        route: clean(&struck.route, ROUTE).into(),
    };
    // Plain numbers and texts: it cannot fail.
    serde_json::to_string(&told).unwrap_or_default()
}

/// What a store kept; `None` where it cannot be read. Its time says nothing.
#[must_use]
pub fn struck_from_json(json: &str) -> Option<Struck> {
    let told: Told<'_> = serde_json::from_str(json).ok()?;
    let delay = told
        .delay_ms
        .map(|millis| Delay { duration: Duration::from_millis(millis), absolute: told.absolute });
    let signal = Signal {
        class: told.class,
        delay,
        scope: told.scope,
        limit: told.limit.map(|limit| clean(&limit, Reason::MAX).into()),
        reason: Reason::cleaned(&told.reason).unwrap_or_else(|| Reason::from_static(told.class.as_str())),
        status: told.status.and_then(|status| StatusCode::from_u16(status).ok()),
        retryable: told.retryable && told.class.retryable(),
        not_executed: told.not_executed,
        aged: false,
        evidence: Evidence {
            source: clean(&told.source, Reason::MAX).into(),
            value: clean(&told.value, Reason::MAX).into(),
        },
    };
    Some(Struck { signal, route: clean(&told.route, ROUTE).into(), at: Monotonic::ORIGIN })
}
