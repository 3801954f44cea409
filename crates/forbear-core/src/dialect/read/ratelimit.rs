//! The `RateLimit` field of draft-ietf-httpapi-ratelimit-headers.

use std::fmt::Write;
use std::time::Duration;

use http::header::HeaderName;
use sfv::{BareItem, Dictionary, Item, List, ListEntry, Parameters, Parser};

use super::dimensions::{LONGEST_NAME, line};
use super::find::Seen;
use crate::dialect::Quota;
use crate::signal::clean;
use crate::signal::hint::trim_ows;

/// One quota for every policy in the list. An item that is none as the draft has it, with a name that is a string, and
/// numbers that are integers and not negative, is left out; a field that is no list is tried as the dictionary that drafts
/// before the eighth had.
pub(super) fn read(header: &HeaderName, seen: &Seen<'_>, quotas: &mut Vec<Quota>) {
    let Some(field) = folded(header, seen) else {
        return;
    };
    match Parser::new(&field).parse::<List>() {
        Ok(list) => quotas.extend(list.iter().filter_map(|entry| policy(entry, header, seen))),
        Err(_) => quotas
            .extend(Parser::new(&field).parse().ok().and_then(|fields| dictionary(&fields, header, seen))),
    }
    windows(quotas, seen);
}

/// All lines of a field as one (RFC 9651 section 4.2); `None` where there is none.
fn folded(header: &HeaderName, seen: &Seen<'_>) -> Option<Vec<u8>> {
    let lines: Vec<&[u8]> =
        seen.headers.get_all(header).iter().map(|line| trim_ows(line.as_bytes())).collect();
    (!lines.is_empty()).then(|| lines.join(b", ".as_slice()))
}

fn policy(entry: &ListEntry, header: &HeaderName, seen: &Seen<'_>) -> Option<Quota> {
    let ListEntry::Item(Item { bare_item: BareItem::String(name), params }) = entry else {
        return None;
    };
    let remaining = integer(params, "r")?;
    let reset = integer(params, "t")?;
    let mut name = clean(name.as_str(), LONGEST_NAME);
    if let Some(BareItem::ByteSequence(key)) = params.get("pk") {
        let _ = write!(name, ";pk={}", base64(key));
    }
    Some(Quota {
        name: Some(name.into()),
        limit: None,
        remaining,
        reset: reset.map(|reset| seen.receipt.relative(Duration::from_secs(reset))),
        window: None,
        exhausted: remaining == Some(0),
        reason: None,
        evidence: line(seen.headers.get(header), header),
        reset_told: None,
    })
}

/// `limit=100, remaining=0, reset=30`.
fn dictionary(fields: &Dictionary, header: &HeaderName, seen: &Seen<'_>) -> Option<Quota> {
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
        evidence: line(seen.headers.get(header), header),
        reset_told: None,
    })
}

/// Adds what `RateLimit-Policy` says of the policies by their names: the limit, and the window.
fn windows(quotas: &mut [Quota], seen: &Seen<'_>) {
    let Some(policies) = folded(&HeaderName::from_static("ratelimit-policy"), seen) else {
        return;
    };
    let Ok(policies) = Parser::new(&policies).parse::<List>() else {
        return;
    };
    for entry in &policies {
        let ListEntry::Item(Item { bare_item: BareItem::String(name), params }) = entry else {
            continue;
        };
        for quota in quotas.iter_mut().filter(|quota| quota.name.as_deref() == Some(name.as_str())) {
            quota.limit = integer(params, "q").flatten();
            quota.window = integer(params, "w").flatten().map(Duration::from_secs);
        }
    }
}

/// The integer of this name, `Some(None)` where there is none; `None` where it is something else, or negative.
fn integer(params: &Parameters, name: &str) -> Option<Option<u64>> {
    match params.get(name) {
        None => Some(None),
        Some(BareItem::Integer(number)) => u64::try_from(i64::from(*number)).ok().map(Some),
        Some(_) => None,
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
