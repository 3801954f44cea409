//! The `RateLimit` field of draft-ietf-httpapi-ratelimit-headers.

use std::borrow::Cow;
use std::fmt::Write;
use std::time::Duration;

use http::header::HeaderName;
use sfv::{BareItem, Dictionary, ListEntry, Parser};

use super::dimensions::{LONGEST_NAME, room, stood};
use super::find::Seen;
use super::policies::{Policy, policies};
use crate::dialect::quota::{Quota, Stood};
use crate::signal::clean;
use crate::signal::hint::trim_ows;

/// One quota for every policy in the list. An item that is none as the draft has it, with a name that is a string, and
/// numbers that are integers and not negative, is left out; a field that is no list is tried as the dictionary that drafts
/// before the eighth had.
pub(super) fn read(header: &HeaderName, seen: &Seen<'_>, quotas: &mut Vec<Quota>) {
    let Some(field) = folded(header, seen) else {
        return;
    };
    let stood = stood(seen.headers.get(header), header);
    match policies(&field, ["r", "t"]) {
        Some(policies) => {
            let room = room(quotas);
            quotas.extend(policies.iter().filter_map(|one| policy(one, &stood, seen)).take(room));
        }
        None => quotas
            .extend(Parser::new(&field).parse().ok().and_then(|fields| dictionary(&fields, stood, seen))),
    }
    windows(quotas, seen);
}

/// All lines of a field as one (RFC 9651 section 4.2); `None` where there is none.
fn folded<'s>(header: &HeaderName, seen: &Seen<'s>) -> Option<Cow<'s, [u8]>> {
    let mut lines = seen.headers.get_all(header).iter().map(|line| trim_ows(line.as_bytes()));
    let first = lines.next()?;
    Some(lines.fold(Cow::Borrowed(first), |mut field, line| {
        field.to_mut().extend_from_slice(b", ");
        field.to_mut().extend_from_slice(line);
        field
    }))
}

fn policy(policy: &Policy<'_>, stood: &Stood, seen: &Seen<'_>) -> Option<Quota> {
    let [remaining, reset] = policy.numbers;
    let (remaining, reset) = (remaining.right()?, reset.right()?);
    let name = name(policy);
    Some(Quota {
        name: (!name.is_empty()).then(|| name.into()),
        limit: None,
        remaining,
        reset: reset.map(|reset| seen.receipt.relative(Duration::from_secs(reset))),
        window: None,
        exhausted: remaining == Some(0),
        reason: None,
        stood: stood.clone(),
        reset_stood: None,
    })
}

/// The name of a policy, with its partition key.
fn name(policy: &Policy<'_>) -> String {
    let mut name = clean(policy.name.as_str(), LONGEST_NAME);
    if let Some(key) = &policy.pk {
        let _ = write!(name, ";pk={}", base64(key));
        // All of it is ASCII.
        name.truncate(LONGEST_NAME);
    }
    name
}

/// `limit=100, remaining=0, reset=30`.
fn dictionary(fields: &Dictionary, stood: Stood, seen: &Seen<'_>) -> Option<Quota> {
    let member = |name: &str| match fields.get(name)? {
        ListEntry::Item(item) => match item.bare_item {
            BareItem::Integer(number) => u64::try_from(i64::from(number)).ok(),
            _ => None,
        },
        ListEntry::InnerList(_) => None,
    };
    let remaining = member("remaining")?;
    Some(Quota {
        name: None,
        limit: member("limit"),
        remaining: Some(remaining),
        reset: member("reset").map(|reset| seen.receipt.relative(Duration::from_secs(reset))),
        window: None,
        exhausted: remaining == 0,
        reason: None,
        stood,
        reset_stood: None,
    })
}

/// Adds what `RateLimit-Policy` says of the policies by their names: the limit, and the window. One that has a partition key
/// is that key's, and one that has none is for every key.
fn windows(quotas: &mut [Quota], seen: &Seen<'_>) {
    let Some(folded) = folded(&HeaderName::from_static("ratelimit-policy"), seen) else {
        return;
    };
    let mut policies = policies(&folded, ["q", "w"]).unwrap_or_default();
    // What is for one key overrides what is for all.
    policies.sort_by_key(|policy| policy.pk.is_some());
    for policy in policies {
        let [limit, window] = policy.numbers;
        // As the names of quotas are cleaned; a string of a structured field is ASCII that shows itself.
        let alone = policy.name.as_str().trim();
        let alone = alone.get(..LONGEST_NAME).unwrap_or(alone);
        let whole = policy.pk.is_some().then(|| name(&policy));
        let of_any_key = |name: &str| {
            whole.is_none() && name.strip_prefix(alone).is_some_and(|key| key.starts_with(";pk="))
        };
        for quota in quotas.iter_mut() {
            let name = quota.name.as_deref().unwrap_or_default();
            if name == alone || whole.as_deref() == Some(name) || of_any_key(name) {
                quota.limit = limit.value();
                quota.window = window.value().map(Duration::from_secs);
            }
        }
    }
}

/// As the field had it (RFC 4648 section 4).
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3).take(LONGEST_NAME) {
        let word = chunk.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
        let word = word << 3_usize.saturating_sub(chunk.len()).saturating_mul(8);
        for place in (0..=chunk.len()).map(|nth| 18_usize.saturating_sub(nth.saturating_mul(6))) {
            let letter = usize::try_from(word >> place & 63).ok().and_then(|at| ALPHABET.get(at));
            text.extend(letter.map(|letter| char::from(*letter)));
        }
        text.extend(std::iter::repeat_n('=', 3_usize.saturating_sub(chunk.len())));
    }
    text
}
