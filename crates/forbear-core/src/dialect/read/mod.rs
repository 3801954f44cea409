//! What a response means, by a dialect's rules.

mod body;
mod delay;
mod dimensions;
mod find;
mod policies;
mod ratelimit;
mod readers;

use std::hash::{BuildHasher, Hasher};
use std::sync::OnceLock;
use std::time::SystemTime;

use http::StatusCode;
use http::header::{self, HeaderMap};

use body::Body;
pub(super) use body::first_event;
use delay::{Found, advertised};
use dimensions::LONGEST_NAME;
use find::Seen;

use super::compile::{At, Condition, Rule, Rules, Value, Wait};
use super::{Quota, Reading, Verdict};
use crate::signal::hint::Receipt;
use crate::signal::{Class, Delay, Evidence, Reason, Scope, Signal, clean};

/// Reads a response: its head alone, or, with a `body`, all of it anew.
pub(super) fn read(
    rules: &Rules,
    status: StatusCode,
    headers: &HeaderMap,
    body: Option<&[u8]>,
    wall: SystemTime,
) -> Reading {
    let stream = is_event_stream(headers);
    let event = body.filter(|_| stream && rules.event_streams).and_then(first_event);
    let bytes = if stream { event.as_deref() } else { body };
    let seen = Seen { headers, body: Body::new(bytes), receipt: Receipt::new(headers, wall) };
    let quotas = dimensions::read(&rules.dimensions, &seen);
    let may_look = body.is_none() && (!stream || rules.event_streams);
    let mut reading = by_rules(rules, status, &seen, quotas);
    reading.look = may_look && wants_body(rules, status, &seen, &reading.quotas);
    reading
}

fn by_rules(rules: &Rules, status: StatusCode, seen: &Seen<'_>, quotas: Vec<Quota>) -> Reading {
    let exhausted = quotas.iter().any(|quota| quota.exhausted);
    for rule in rules.rules.iter().filter(|rule| rule.statuses.contains(&status.as_u16())) {
        if rule.exhausted.is_some_and(|wanted| wanted != exhausted)
            || rule.needs_body && seen.body.is_none()
            || !rule.when.iter().all(|when| seen.holds(when))
        {
            continue;
        }
        let found = advertised(rule.delay.as_deref().unwrap_or(&rules.delay), rules.longest, &quotas, seen);
        if rule.needs_delay && found.as_ref().is_none_or(|found| found.delay.is_none()) {
            continue;
        }
        if rule.limited {
            return limited(rules, rule, status, seen, quotas, found);
        }
        let reason = seen.name(&rule.reason, &rule.when, Reason::MAX).map(Reason::of_clean);
        return unlimited(rules, status, seen, quotas, reason);
    }
    unlimited(rules, status, seen, quotas, None)
}

fn limited(
    rules: &Rules,
    rule: &Rule,
    status: StatusCode,
    seen: &Seen<'_>,
    quotas: Vec<Quota>,
    found: Option<Found>,
) -> Reading {
    let own = if rule.reason.is_empty() { &rules.reason } else { &rule.reason };
    let mut evidence = Vec::new();
    let reason = match seen.first(own, &rule.when, Reason::MAX) {
        Some((reason, stood)) => {
            evidence.extend(stood);
            Some(Reason::of_clean(reason))
        }
        None => told_reason(&quotas),
    };
    let reason = reason.unwrap_or_else(|| by_default(status, found.as_ref(), &quotas));
    let mut delay = rule.default_delay.map(|duration| Delay { duration, absolute: false });
    if let Some(found) = found {
        delay = found.delay.or(delay);
        tell(&mut evidence, [found.evidence]);
    }
    tell(&mut evidence, seen.told(&rule.when));
    tell(&mut evidence, exhausted(&quotas).map(|quota| quota.stood.evidence()));
    let class = rule.class.unwrap_or_else(|| by_length(rules, &reason, delay));
    let mut signal = Signal::new(class, status);
    signal.delay = delay;
    signal.scope = rule.of.or(rules.of).unwrap_or_default();
    signal.limit = limit(rules, &rule.scope, &rule.when, seen, &quotas);
    if signal.limit.is_none() && signal.scope == Scope::Bucket {
        // Good answers are learned from by this name too.
        signal.limit = seen.name(&rules.bucket, &[], LONGEST_NAME).map(Into::into);
    }
    signal.reason = reason;
    signal.retryable = rule.retryable.unwrap_or(signal.retryable);
    signal.not_executed = rule.not_executed.unwrap_or(signal.not_executed);
    signal.aged = seen.receipt.aged();
    if let Some(first) = evidence.first() {
        signal.evidence = first.clone();
    } else {
        evidence.push(signal.evidence.clone());
    }
    Reading {
        verdict: Verdict::Bad(signal),
        information: None,
        reason: None,
        limit: None,
        quotas,
        evidence,
        look: false,
    }
}

fn unlimited(
    rules: &Rules,
    status: StatusCode,
    seen: &Seen<'_>,
    quotas: Vec<Quota>,
    reason: Option<Reason>,
) -> Reading {
    let found = advertised(&[Wait::RetryAfter, Wait::Dimension], false, &quotas, seen);
    let delay = found.as_ref().and_then(|found| found.delay);
    let by_dimension = found.as_ref().is_some_and(|found| found.dimension);
    let reason = reason.or_else(|| {
        if by_dimension || found.is_none() {
            exhausted(&quotas).next()?;
            return told_reason(&quotas).or(Some(Reason::from_static("quota-exhausted")));
        }
        (status == StatusCode::ACCEPTED && delay.is_some()).then(|| Reason::from_static("poll-interval"))
    });
    let verdict = if seen.receipt.aged() { Verdict::Neutral } else { Verdict::unclassified(status) };
    let limit = if quotas.is_empty() { None } else { limit(rules, &[], &[], seen, &quotas) };
    let mut evidence: Vec<Evidence> = found.into_iter().map(|found| found.evidence).collect();
    tell(&mut evidence, quotas.iter().map(|quota| quota.stood.evidence()));
    Reading { verdict, information: delay, reason, limit, quotas, evidence, look: false }
}

/// Each once, where it stands first.
fn tell(evidence: &mut Vec<Evidence>, told: impl IntoIterator<Item = Evidence>) {
    for one in told {
        if !evidence.contains(&one) {
            evidence.push(one);
        }
    }
}

fn exhausted(quotas: &[Quota]) -> impl Iterator<Item = &Quota> {
    quotas.iter().filter(|quota| quota.exhausted)
}

/// Why nothing is left, where what is exhausted says so: of that which is waited for, whose reset is the longest.
fn told_reason(quotas: &[Quota]) -> Option<Reason> {
    let telling = exhausted(quotas).filter(|quota| quota.reason.is_some());
    telling.reduce(|kept, next| if next.reset > kept.reset { next } else { kept })?.reason.clone()
}

/// The reason of a limit that has none in words.
fn by_default(status: StatusCode, found: Option<&Found>, quotas: &[Quota]) -> Reason {
    // Of a 503 the delay is what makes it a limit, not the reason for it.
    if status == StatusCode::SERVICE_UNAVAILABLE {
        return Reason::of_status(status);
    }
    match found {
        Some(found) if found.standard && found.delay.is_some() => Reason::from_static("retry-after"),
        _ if exhausted(quotas).next().is_some() => Reason::from_static("quota-exhausted"),
        Some(found) if found.delay.is_some() => Reason::from_static("retry-after"),
        Some(found) if found.standard => Reason::from_static("malformed-retry-after"),
        _ => Reason::of_status(status),
    }
}

fn by_length(rules: &Rules, reason: &Reason, delay: Option<Delay>) -> Class {
    if reason.is_concurrency() {
        return Class::Overloaded;
    }
    match (rules.exhausted_beyond, delay) {
        (Some(beyond), Some(delay)) if delay.duration > beyond => Class::Exhausted,
        _ => Class::Throttled,
    }
}

/// What is limited: the rule's word for it, else the names of what is exhausted, else of what alone is told of, else the
/// dialect's word.
fn limit(
    rules: &Rules,
    own: &[Value],
    when: &[Condition],
    seen: &Seen<'_>,
    quotas: &[Quota],
) -> Option<Box<str>> {
    if let Some(name) = seen.name(own, when, LONGEST_NAME) {
        return Some(name.into());
    }
    let used_up = || exhausted(quotas).filter_map(|quota| quota.name.as_deref());
    let mut some = used_up();
    let alone = match (some.next(), some.next()) {
        (Some(_), Some(_)) => {
            let mut names: Vec<&str> = used_up().collect();
            names.sort_unstable();
            names.dedup();
            return Some(clean(&names.join(","), LONGEST_NAME).into());
        }
        (None, _) => {
            let mut all = quotas.iter().filter_map(|quota| quota.name.as_deref());
            all.next().filter(|_| all.next().is_none())
        }
        (name, None) => name,
    };
    match alone {
        Some(name) => Some(clean(name, LONGEST_NAME).into()),
        None => seen.name(&rules.scope, when, LONGEST_NAME).map(Into::into),
    }
}

/// Whether some rule that the head leaves open asks for the body, or the one that decides has its words there.
fn wants_body(rules: &Rules, status: StatusCode, seen: &Seen<'_>, quotas: &[Quota]) -> bool {
    let exhausted = exhausted(quotas).next().is_some();
    let of_status = || rules.rules.iter().filter(|rule| rule.statuses.contains(&status.as_u16()));
    let asks = |rule: &Rule| rule.when.iter().any(|when| when.value.in_body());
    let head_holds =
        |rule: &Rule| rule.when.iter().filter(|when| !when.value.in_body()).all(|when| seen.holds(when));
    for (at, rule) in of_status().enumerate() {
        if asks(rule) || rule.exhausted.is_some_and(|wanted| wanted != exhausted) || !head_holds(rule) {
            continue;
        }
        let waits = rule.delay.as_deref().unwrap_or(&rules.delay);
        if rule.needs_delay {
            let found = advertised(waits, rules.longest, quotas, seen);
            if found.is_none_or(|found| found.delay.is_none()) {
                if waits.iter().any(Wait::in_body) {
                    return true;
                }
                continue;
            }
        }
        let own = if rule.reason.is_empty() { &rules.reason } else { &rule.reason };
        // Mostly it asks for its words itself, and no rule before it needs to be looked at again.
        let words = own.iter().any(Value::in_body)
            || rule.scope.iter().any(Value::in_body)
            || waits.iter().any(Wait::in_body)
            || rules.scope.iter().any(Value::in_body)
                && limit(rules, &rule.scope, &rule.when, seen, quotas).is_none();
        return rule.limited && words || of_status().take(at).any(|rule| asks(rule) && head_holds(rule));
    }
    of_status().any(|rule| asks(rule) && head_holds(rule))
}

pub(super) fn is_event_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).map(http::HeaderValue::as_bytes).unwrap_or_default();
    kind.get(..17).is_some_and(|kind| kind.eq_ignore_ascii_case(b"text/event-stream"))
}

/// A fingerprint of the lines that [`bucket`] reads; `None` where there are none.
pub(super) fn bucket_told(rules: &Rules, headers: &HeaderMap) -> Option<u64> {
    static KEY: OnceLock<foldhash::fast::RandomState> = OnceLock::new();
    let mut hasher = None;
    for (at, value) in rules.bucket.iter().enumerate() {
        let (At::Header(name) | At::JsonInHeader(name, _)) = &value.place else { continue };
        for line in headers.get_all(name) {
            let hasher = hasher.get_or_insert_with(|| KEY.get_or_init(Default::default).build_hasher());
            hasher.write(line.as_bytes());
            // At another place the same line names another bucket.
            if at > 0 {
                hasher.write_usize(at);
            }
        }
    }
    hasher.map(|hasher| hasher.finish() | 1)
}

/// The bucket that the vendor counts a request in, where its dialect says where that stands.
pub(super) fn bucket(rules: &Rules, headers: &HeaderMap, wall: SystemTime) -> Option<Box<str>> {
    if rules.bucket.is_empty() {
        return None;
    }
    let seen = Seen { headers, body: Body::new(None), receipt: Receipt::new(headers, wall) };
    seen.name(&rules.bucket, &[], LONGEST_NAME).map(Into::into)
}
