//! Whether and when a logical request is sent again.

use std::time::Duration;

use http::{HeaderMap, Method};

use crate::budget::Budget;
use crate::signal::Signal;
use crate::time::Monotonic;

/// The wait before a second attempt that no vendor asked for; it doubles with every limited answer.
const FLOOR: Duration = Duration::from_millis(250);
/// Where the doubling ends.
const HIGHEST_FLOOR: Duration = Duration::from_secs(8);

/// What one logical request has been through.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct History {
    limited: u32,
    first_wait: Option<Monotonic>,
}

/// What is done with a limited answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// The caller gets it.
    Return(Ended),
    /// It is let go, and the request sent again at `until` or later (plus jitter that fits).
    Retry {
        /// The latest of the hint, the floor and the family's own deadline.
        until: Monotonic,
        /// The latest of the hint and the floor: what holds for this request whatever its family does.
        own: Monotonic,
    },
}

/// Why a logical request is not sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ended {
    /// The vendor says that it will not help: an exhausted quota, a ban, an explicit do-not-retry.
    NotRetryable,
    /// It may have been carried out, and repeating it is not safe.
    NotSafe,
    /// The wait does not fit the budget, or the 60 s of a request without one.
    DoesNotFit,
}

impl History {
    /// A logical request that was not sent yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { limited: 0, first_wait: None }
    }

    /// How many limited answers it got.
    #[must_use]
    pub const fn limited(&self) -> u32 {
        self.limited
    }

    /// Decides about a limited answer. `safe` says whether the request may be repeated even if it was carried out,
    /// `retry_at` is when its family is called again.
    #[must_use]
    pub fn after(
        &mut self,
        signal: &Signal,
        safe: bool,
        budget: &Budget,
        retry_at: Option<Monotonic>,
        now: Monotonic,
    ) -> After {
        let floor =
            FLOOR.saturating_mul(1_u32.checked_shl(self.limited).unwrap_or(u32::MAX)).min(HIGHEST_FLOOR);
        self.limited = self.limited.saturating_add(1);
        if !signal.retryable {
            return After::Return(Ended::NotRetryable);
        }
        if !safe && !signal.not_executed {
            return After::Return(Ended::NotSafe);
        }
        let hint = signal.delay.map_or(Duration::ZERO, |delay| delay.duration);
        let own = now.after(hint.max(floor));
        let until = own.max(retry_at.unwrap_or(now));
        if self.wait_limit(budget, now).fits(until) {
            After::Retry { until, own }
        } else {
            After::Return(Ended::DoesNotFit)
        }
    }

    /// Until when this logical request may wait: its budget, or 60 s from its first wait where it has none.
    #[must_use]
    pub fn wait_limit(&mut self, budget: &Budget, now: Monotonic) -> Budget {
        match budget.deadline() {
            Some(_) => *budget,
            None => Budget::until(self.first_wait.get_or_insert(now).after(Budget::WAIT_WITHOUT)),
        }
    }
}

/// When a wait until `until` ends for one of many waiters. Jitter only adds: `draw`, in 0..1, of a tenth of the wait, at
/// most 1 s, and at most half of what is left of the budget after it, so that a late timer costs no attempt.
#[must_use]
pub fn jittered(until: Monotonic, draw: f64, deadline: Option<Monotonic>, now: Monotonic) -> Monotonic {
    let room = deadline.unwrap_or(Monotonic::NEVER).since(until).checked_div(2).unwrap_or_default();
    let most = until.since(now).checked_div(10).unwrap_or_default().min(Duration::from_secs(1)).min(room);
    until.after(most.mul_f64(draw.clamp(0.0, 1.0)))
}

/// Whether a request may be repeated even if it was carried out: the method is idempotent (RFC 9110 section 9.2.2), or
/// it carries an `Idempotency-Key`.
#[must_use]
pub fn is_safe_to_repeat(method: &Method, headers: &HeaderMap) -> bool {
    method.is_idempotent() || headers.contains_key("idempotency-key")
}

/// Whether a request tells which attempt of its caller it is, so that the caller counts them and sends again by itself:
///
/// | header | of |
/// |---|---|
/// | `forbear-attempt` | whoever wants to say so |
/// | `x-stainless-retry-count` | SDKs that Stainless generates, from the first attempt on |
/// | `amz-sdk-request` | AWS SDKs, from the first attempt on; not where it says `max=1` |
/// | `x-goog-api-client`, with `gccl-attempt-count/` in it | Google Cloud's SDKs for storage, from the first attempt on |
/// | `grpc-previous-rpc-attempts` | gRPC clients, from the second attempt on ([A6](https://github.com/grpc/proposal/blob/master/A6-client-retries.md)) |
#[must_use]
pub fn declares_attempt(headers: &HeaderMap) -> bool {
    let only_one = |value: &http::HeaderValue| {
        value.to_str().is_ok_and(|value| value.split(';').any(|part| part.trim() == "max=1"))
    };
    ["forbear-attempt", "x-stainless-retry-count", "grpc-previous-rpc-attempts"]
        .into_iter()
        .any(|name| headers.contains_key(name))
        || headers.get("amz-sdk-request").is_some_and(|value| !only_one(value))
        || headers.get_all("x-goog-api-client").iter().any(|value| {
            value
                .to_str()
                .is_ok_and(|value| value.split(' ').any(|part| part.starts_with("gccl-attempt-count/")))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::Class;
    use http::StatusCode;

    fn at(millis: u64) -> Monotonic {
        Monotonic::ORIGIN.after(Duration::from_millis(millis))
    }

    fn throttled() -> Signal {
        Signal::new(Class::Throttled, StatusCode::TOO_MANY_REQUESTS)
    }

    fn waits(signal: &Signal, answers: usize) -> Vec<u128> {
        let mut history = History::default();
        let budget = Budget::until(Monotonic::NEVER);
        (0..answers)
            .map(|_| match history.after(signal, true, &budget, None, at(0)) {
                After::Retry { until, .. } => until.since(at(0)).as_millis(),
                After::Return(ended) => panic!("{ended:?}"),
            })
            .collect()
    }

    // kubernetes/kubernetes#26871, kubernetes/kubernetes#27965: no hint is neither "never" nor "at once".
    #[test]
    fn without_a_hint_the_floor_doubles_to_eight_seconds() {
        assert_eq!(waits(&throttled(), 8), [250, 500, 1000, 2000, 4000, 8000, 8000, 8000]);
    }

    // kubescape/kubevuln#754: a hint of zero must not become a hot loop.
    #[test]
    fn a_hint_of_zero_waits_the_floor() {
        assert_eq!(waits(&throttled().delay(Duration::ZERO), 3), [250, 500, 1000]);
        assert_eq!(waits(&throttled().delay(Duration::from_secs(3)), 5), [3000, 3000, 3000, 3000, 4000]);
    }

    // hashicorp/go-retryablehttp#272, googleapis/google-cloud-rust#2307: never sleep to a deadline that cannot be met.
    #[test]
    fn a_wait_that_does_not_fit_ends_at_once() {
        let mut history = History::default();
        let budget = Budget::until(at(5000));
        let signal = throttled().delay(Duration::from_secs(10));
        assert_eq!(history.after(&signal, true, &budget, None, at(0)), After::Return(Ended::DoesNotFit));
        let mut history = History::default();
        let retry_at = Some(at(5000));
        assert_eq!(
            history.after(&throttled(), true, &budget, retry_at, at(0)),
            After::Return(Ended::DoesNotFit)
        );
    }

    #[test]
    fn without_a_budget_the_total_wait_is_a_minute() {
        let mut history = History::default();
        let signal = throttled().delay(Duration::from_secs(40));
        let first = history.after(&signal, true, &Budget::UNLIMITED, None, at(0));
        assert_eq!(first, After::Retry { until: at(40_000), own: at(40_000) });
        let second = history.after(&signal, true, &Budget::UNLIMITED, None, at(40_000));
        assert_eq!(second, After::Return(Ended::DoesNotFit));
        assert_eq!(history.limited(), 2);
    }

    // KittyCAD/kittycad.rs#1042, traefik/traefik#8990, http4s/http4s#712: a POST is not billed twice.
    #[test]
    fn only_what_was_not_carried_out_is_repeated_unsafely() {
        let mut history = History::default();
        let overloaded =
            Signal::new(Class::Overloaded, StatusCode::SERVICE_UNAVAILABLE).delay(Duration::from_secs(1));
        let budget = Budget::UNLIMITED;
        assert_eq!(history.after(&overloaded, false, &budget, None, at(0)), After::Return(Ended::NotSafe));
        assert!(matches!(history.after(&overloaded, true, &budget, None, at(0)), After::Retry { .. }));
        assert!(matches!(history.after(&throttled(), false, &budget, None, at(0)), After::Retry { .. }));
        let exhausted = Signal::new(Class::Exhausted, StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(history.after(&exhausted, true, &budget, None, at(0)), After::Return(Ended::NotRetryable));
    }

    #[test]
    fn jitter_only_adds_and_leaves_half_of_what_is_left() {
        let wait = |seconds: u64, draw, left: Option<u64>| {
            let until = at(seconds * 1000);
            let deadline = left.map(|left| at(seconds * 1000 + left));
            jittered(until, draw, deadline, at(0)).since(until).as_millis()
        };
        assert_eq!(wait(5, 0.0, None), 0);
        assert_eq!(wait(5, 1.0, None), 500);
        assert_eq!(wait(60, 1.0, None), 1000);
        assert_eq!(wait(60, 1.0, Some(10)), 5);
        assert_eq!(wait(60, 7.0, Some(0)), 0);
    }

    #[test]
    fn an_idempotency_key_makes_a_post_repeatable() {
        let mut headers = HeaderMap::new();
        assert!(is_safe_to_repeat(&Method::PUT, &headers) && !is_safe_to_repeat(&Method::POST, &headers));
        headers.insert("idempotency-key", http::HeaderValue::from_static("1"));
        assert!(is_safe_to_repeat(&Method::POST, &headers));
    }

    #[test]
    fn a_caller_that_counts_its_attempts_is_known_by_its_header() {
        let declares = |name: &'static str, value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, http::HeaderValue::from_static(value));
            declares_attempt(&headers)
        };
        assert!(declares("forbear-attempt", "2"));
        assert!(declares("x-stainless-retry-count", "0"));
        assert!(declares("grpc-previous-rpc-attempts", "1"));
        assert!(declares("amz-sdk-request", "attempt=1; max=3"));
        assert!(declares("amz-sdk-request", "ttl=20260101T000000Z; attempt=1; max=10"));
        assert!(!declares("amz-sdk-request", "attempt=1; max=1"));
        assert!(declares("x-goog-api-client", "gl-go/1.26 gccl-invocation-id/a gccl-attempt-count/1"));
        assert!(!declares("x-goog-api-client", "gl-go/1.26 gccl/1.2"));
        assert!(!declares("retry-after", "1"));
    }
}
