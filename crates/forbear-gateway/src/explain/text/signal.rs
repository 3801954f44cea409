//! What a signal says, in sentences.

use std::time::SystemTime;

use forbear_core::signal::{Class, Scope, Signal};

use super::outcome::Consequence;
use super::rows::Rows;
use super::when::{Length, until};

pub(super) fn limit(rows: &mut Rows, signal: &Signal, now: SystemTime) {
    rows.row("limit", &format!("{}: {}", signal.class, meaning(signal.class)));
    rows.row("reason", signal.reason.as_str());
    rows.row("wait", &wait(signal, now));
    rows.row("scope", &scope(signal));
    rows.row("send again", again(signal));
}

/// What forbear does with it.
pub(super) fn consequence(signal: &Signal) -> Vec<String> {
    let Consequence { closed, again } = Consequence::of(signal);
    let what = match signal.scope {
        Scope::Bucket if signal.limit.is_some() => "the routes of this bucket",
        Scope::Route => "this route",
        Scope::Partition => "this part of the family",
        _ => "the family",
    };
    let first = match closed {
        Some(closed) => {
            format!("closes {what} for {}, then lets one probe out", Length(closed))
        }
        None if signal.aged => {
            "closes nothing: the answer came out of a cache, and is no news of the vendor".to_owned()
        }
        None => "closes nothing: the limit is for this request alone".to_owned(),
    };
    let second = match again {
        Some(again) if signal.not_executed => {
            format!("sends the request again after {}, if its budget has room for that", Length(again))
        }
        Some(again) => format!(
            "sends an idempotent request again after {}, if its budget has room for that",
            Length(again)
        ),
        None => "hands the answer to the caller at once".to_owned(),
    };
    vec![first, second]
}

fn meaning(class: Class) -> &'static str {
    match class {
        Class::Throttled => "slow down",
        Class::Overloaded => "the vendor is in trouble, or has too much in flight",
        Class::Exhausted => "a quota is used up and will not come back soon",
        Class::Blocked => "a ban",
        _ => "a limit",
    }
}

fn wait(signal: &Signal, now: SystemTime) -> String {
    match signal.delay {
        Some(delay) if delay.absolute => {
            format!("{} (a point in time)", until(delay, now))
        }
        Some(delay) => until(delay, now),
        None => "the vendor does not say how long".to_owned(),
    }
}

fn scope(signal: &Signal) -> String {
    let much = match signal.scope {
        Scope::Request => "this request alone",
        Scope::Route => "this method and path",
        Scope::Bucket if signal.limit.is_none() => "the whole family: the answer names no bucket",
        Scope::Bucket => "a bucket of the vendor's: the routes whose answers name it",
        Scope::Partition => "a credential, or another part that the program counts by itself",
        Scope::Family => "the whole family",
        _ => "the whole family, or the credential where each has a limit of its own (not stated)",
    };
    match &signal.limit {
        Some(limit) => format!("`{limit}`: {much}"),
        None => much.to_owned(),
    }
}

fn again(signal: &Signal) -> &'static str {
    match (signal.retryable, signal.class) {
        (false, Class::Exhausted) => "never: until the quota comes back the answer stays the same",
        (false, Class::Blocked) => "never: each further request may prolong the ban",
        (false, _) => "never: the vendor says not to",
        (true, _) if signal.not_executed => "any method: the request was not carried out",
        (true, _) => "idempotent methods, or an Idempotency-Key: the request may have been carried out",
    }
}
