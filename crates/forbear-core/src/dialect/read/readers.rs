//! Headers, and one body, that tell of dimensions in ways of their own.

use std::time::Duration;

use http::header::HeaderName;
use serde_json::Value;

use super::dimensions::{LONGEST_NAME, hole, room, stood};
use super::find::Seen;
use super::ratelimit;
use crate::dialect::compile::Field;
use crate::dialect::quota::{Quota, Stood};
use crate::dialect::words::{Form, Reader};
use crate::signal::hint::seconds;
use crate::signal::{Evidence, Reason, clean};

pub(super) fn read(reader: Reader, field: &Field, seen: &Seen<'_>, quotas: &mut Vec<Quota>) {
    if reader == Reader::ShopifyCost {
        quotas.extend(shopify_cost(seen));
        return;
    }
    match field {
        Field::Named(header) => read_header(reader, header, None, seen, quotas),
        Field::Pattern { before, behind } => {
            for header in seen.headers.keys() {
                if let Some(hole) = hole(header, before, behind) {
                    read_header(reader, header, Some(hole), seen, quotas);
                }
            }
        }
        Field::Nowhere => {}
    }
}

fn read_header(
    reader: Reader,
    header: &HeaderName,
    hole: Option<&str>,
    seen: &Seen<'_>,
    quotas: &mut Vec<Quota>,
) {
    if reader == Reader::RateLimit {
        ratelimit::read(header, seen, quotas);
        return;
    }
    for value in seen.headers.get_all(header) {
        let Ok(text) = std::str::from_utf8(value.as_bytes()) else {
            continue;
        };
        let stood = stood(Some(value), header);
        let room = room(quotas);
        match reader {
            Reader::UsedOfLimit => quotas.extend(used_of_limit(text, stood).into_iter().take(room)),
            Reader::Pairs => quotas.extend(pairs(text, hole, seen, stood).into_iter().take(room)),
            Reader::Sentry => {
                quotas.extend(text.split(',').filter_map(|item| sentry(item, seen, &stood)).take(room));
            }
            Reader::MetaUsage => meta_usage(text, seen, &stood, quotas),
            Reader::RateLimit | Reader::ShopifyCost => {}
        }
    }
}

fn quota(stood: Stood) -> Quota {
    Quota {
        name: None,
        limit: None,
        remaining: None,
        reset: None,
        window: None,
        exhausted: false,
        reason: None,
        stood,
        reset_stood: None,
    }
}

fn name(words: &str) -> Option<Box<str>> {
    let name = clean(words, LONGEST_NAME);
    (!name.is_empty()).then(|| name.into())
}

/// `39/40` has one left.
fn used_of_limit(text: &str, stood: Stood) -> Option<Quota> {
    let (used, limit) = text.split_once('/')?;
    let (used, limit): (u64, u64) = (used.trim().parse().ok()?, limit.trim().parse().ok()?);
    let remaining = limit.saturating_sub(used);
    Some(Quota { limit: Some(limit), remaining: Some(remaining), exhausted: remaining == 0, ..quota(stood) })
}

/// `total=100; remaining=0; resets=41`.
fn pairs(text: &str, hole: Option<&str>, seen: &Seen<'_>, stood: Stood) -> Option<Quota> {
    let value = |keys: &[&str]| {
        text.split(';').find_map(|pair| {
            let (key, value) = pair.split_once('=')?;
            keys.iter().any(|wanted| key.trim().eq_ignore_ascii_case(wanted)).then(|| value.trim())
        })
    };
    let remaining: u64 = value(&["remaining"])?.parse().ok()?;
    Some(Quota {
        name: hole.and_then(name),
        limit: value(&["total", "limit"]).and_then(|limit| limit.parse().ok()),
        remaining: Some(remaining),
        reset: value(&["resets", "reset"])
            .and_then(|reset| Form::Reset.read(reset.as_bytes(), &seen.receipt)),
        exhausted: remaining == 0,
        ..quota(stood)
    })
}

/// `60.5:error;transaction:organization:reason`: seconds, categories (none: all of them), scope, reason. What stands in it
/// is closed. The reason is the vendor's, else the scope.
fn sentry(item: &str, seen: &Seen<'_>, stood: &Stood) -> Option<Quota> {
    let mut parts = item.split(':').map(str::trim);
    let delay = seconds(parts.next()?.as_bytes())?;
    let categories = match parts.next()? {
        "" => "*",
        categories => categories,
    };
    let scope = parts.next().unwrap_or_default();
    let reason = parts.next().filter(|reason| !reason.is_empty()).unwrap_or(scope);
    Some(Quota {
        name: name(&format!("category:{categories}")),
        remaining: Some(0),
        reset: Some(seen.receipt.relative(delay)),
        exhausted: true,
        reason: Reason::cleaned(reason),
        ..quota(stood.clone())
    })
}

/// By account a list of uses, each with `estimated_time_to_regain_access` in minutes; above zero it is closed.
fn meta_usage(text: &str, seen: &Seen<'_>, stood: &Stood, quotas: &mut Vec<Quota>) {
    let Ok(Value::Object(accounts)) = serde_json::from_str(text) else {
        return;
    };
    for (account, uses) in &accounts {
        for usage in uses.as_array().into_iter().flatten() {
            if room(quotas) == 0 {
                return;
            }
            let minutes =
                usage.get("estimated_time_to_regain_access").and_then(Value::as_u64).unwrap_or_default();
            let kind = usage.get("type").and_then(Value::as_str).unwrap_or("usage");
            let delay = Duration::from_secs(minutes.saturating_mul(60));
            quotas.push(Quota {
                name: name(&format!("{kind}:{account}")),
                reset: (minutes > 0).then(|| seen.receipt.relative(delay)),
                exhausted: minutes > 0,
                ..quota(stood.clone())
            });
        }
    }
}

/// What a query costs, what is there, and what comes back a second. A query dearer than all there can ever be has no reset.
fn shopify_cost(seen: &Seen<'_>) -> Option<Quota> {
    let cost = seen.body.json()?.pointer("/extensions/cost")?;
    let number =
        |pointer: &str| cost.pointer(pointer).and_then(Value::as_f64).filter(|number| *number >= 0.0);
    let requested = number("/requestedQueryCost")?;
    let most = number("/throttleStatus/maximumAvailable")?;
    let there = number("/throttleStatus/currentlyAvailable")?;
    let rate = number("/throttleStatus/restoreRate").filter(|rate| *rate > 0.0)?;
    let exhausted = requested > there;
    let wait = Duration::try_from_secs_f64(((requested - there) / rate * 1000.0).ceil() / 1000.0).ok();
    let value = format!("{there} of {requested}");
    Some(Quota {
        limit: Some(whole(most)),
        remaining: Some(whole(there)),
        reset: wait
            .filter(|_| exhausted && requested <= most)
            .map(rounded)
            .map(|wait| seen.receipt.relative(wait)),
        exhausted,
        ..quota(Stood::Place(Evidence { source: "/extensions/cost".into(), value: value.into() }))
    })
}

/// To the millisecond, without what a float leaves behind it.
fn rounded(duration: Duration) -> Duration {
    let millis = duration.as_nanos().saturating_add(499_999).checked_div(1_000_000).unwrap_or_default();
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast from a float saturates")]
fn whole(number: f64) -> u64 {
    number as u64
}
