use http::StatusCode;
use http::header::{self, HeaderName};

use crate::signal::Class;
use crate::signal::hint::Form;

/// A dialect as data.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) name: &'static str,
    /// The statuses that may be signals, in ascending order.
    pub(super) limits: &'static [Limit],
    /// Where a delay may stand, in the order in which the places are asked.
    pub(super) delays: &'static [Source],
    /// JSON pointers (RFC 6901) to where a reason code may stand, in order.
    pub(super) reasons: &'static [&'static str],
}

impl Rules {
    /// The first status that may be a signal: one comparison settles what lies below it, and so all success.
    #[inline]
    pub(super) fn from(&self) -> StatusCode {
        self.limits.first().map_or(StatusCode::OK, |limit| limit.status)
    }

    pub(super) fn limit(&self, status: StatusCode) -> Option<&Limit> {
        self.limits.iter().take_while(|limit| limit.status <= status).find(|limit| limit.status == status)
    }
}

/// A status that may be a signal.
#[derive(Debug)]
pub(super) struct Limit {
    pub(super) status: StatusCode,
    pub(super) class: Class,
    /// Whether it is one only where a delay can be read.
    pub(super) needs_delay: bool,
    /// Whether a readable hint is the reason, rather than the status.
    pub(super) hint_is_reason: bool,
    /// Whether the body may say more.
    pub(super) body: bool,
}

/// A header that advertises a delay.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) field: HeaderName,
    pub(super) form: Form,
}

pub(super) static STANDARD: Rules = Rules {
    name: "generic-http",
    limits: &[
        Limit {
            status: StatusCode::TOO_MANY_REQUESTS,
            class: Class::Throttled,
            needs_delay: false,
            hint_is_reason: true,
            body: true,
        },
        // Without a delay a 503 is any outage, and byte for byte what some proxies limit with.
        Limit {
            status: StatusCode::SERVICE_UNAVAILABLE,
            class: Class::Overloaded,
            needs_delay: true,
            hint_is_reason: false,
            body: true,
        },
        Limit {
            status: SITE_OVERLOADED,
            class: Class::Overloaded,
            needs_delay: false,
            hint_is_reason: false,
            body: false,
        },
    ],
    delays: &DELAYS,
    reasons: &["/details/reason", "/data/reason", "/reason"],
};

/// 529, which is not registered but in use.
const SITE_OVERLOADED: StatusCode = match StatusCode::from_u16(529) {
    Ok(status) => status,
    Err(_) => StatusCode::SERVICE_UNAVAILABLE,
};

static DELAYS: [Source; 4] = [
    Source { field: HeaderName::from_static("retry-after-ms"), form: Form::Milliseconds },
    Source { field: HeaderName::from_static("x-ms-retry-after-ms"), form: Form::Milliseconds },
    Source { field: HeaderName::from_static("x-amz-retry-after"), form: Form::Milliseconds },
    Source { field: header::RETRY_AFTER, form: Form::SecondsOrDate },
];
