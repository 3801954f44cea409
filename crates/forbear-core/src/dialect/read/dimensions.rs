use std::time::Duration;

use http::HeaderValue;
use http::header::HeaderName;

use super::find::Seen;
use super::readers;
use crate::dialect::Quota;
use crate::dialect::compile::{Dimension, Field, Told};
use crate::dialect::words::Form;
use crate::signal::hint::{elements, trim_ows};
use crate::signal::{Delay, Evidence, Reason, clean};

/// The longest name of a dimension, in bytes.
pub(super) const LONGEST_NAME: usize = 128;

/// What every dimension of a dialect tells in a response. Nothing where it comes out of a cache: what was left then is not
/// what is left now (draft-ietf-httpapi-ratelimit-headers section 6).
pub(super) fn read(dimensions: &[Dimension], seen: &Seen<'_>) -> Vec<Quota> {
    let mut quotas = Vec::new();
    if !seen.receipt.aged() {
        for dimension in dimensions {
            read_one(dimension, seen, &mut quotas);
        }
    }
    quotas
}

fn read_one(dimension: &Dimension, seen: &Seen<'_>, quotas: &mut Vec<Quota>) {
    match &dimension.told {
        Told::Reader(reader, field) => {
            let before = quotas.len();
            readers::read(*reader, field, seen, quotas);
            if let Some((name, _)) = seen.first(&dimension.name, &[], LONGEST_NAME) {
                for quota in quotas.iter_mut().skip(before) {
                    quota.name = Some(name.as_str().into());
                }
            }
        }
        Told::Fields { remaining: Field::Named(remaining), limit, reset, policy } => {
            let limit = named(limit.as_ref());
            let reset = reset.as_ref().and_then(|(field, form)| Some((named(Some(field))?, *form)));
            let name = seen.first(&dimension.name, &[], LONGEST_NAME).map(|(name, _)| name);
            fields(seen, remaining, limit, reset, policy.as_ref(), name.as_deref(), quotas);
        }
        Told::Fields { remaining: Field::Pattern { before, behind }, limit, reset, .. } => {
            for header in seen.headers.keys() {
                let Some(hole) = hole(header, before, behind) else {
                    continue;
                };
                let limit = limit.as_ref().and_then(|field| filled(field, hole));
                let reset = reset.as_ref().and_then(|(field, form)| Some((filled(field, hole)?, *form)));
                let name = clean(hole, LONGEST_NAME);
                fields(
                    seen,
                    header,
                    limit.as_ref(),
                    reset.as_ref().map(|(name, form)| (name, *form)),
                    None,
                    Some(&name),
                    quotas,
                );
            }
        }
        Told::Fields { remaining: Field::Nowhere, .. } => {}
    }
}

fn named(field: Option<&Field>) -> Option<&HeaderName> {
    match field? {
        Field::Named(name) => Some(name),
        _ => None,
    }
}

/// What stands in the hole of a pattern.
pub(super) fn hole<'h>(header: &'h HeaderName, before: &str, behind: &str) -> Option<&'h str> {
    header.as_str().strip_prefix(before)?.strip_suffix(behind).filter(|hole| !hole.is_empty())
}

fn filled(field: &Field, hole: &str) -> Option<HeaderName> {
    match field {
        Field::Named(name) => Some(name.clone()),
        Field::Pattern { before, behind } => HeaderName::try_from(format!("{before}{hole}{behind}")).ok(),
        Field::Nowhere => None,
    }
}

/// One quota for every element of the lines of `remaining`, paired by its place with those of the other headers.
fn fields(
    seen: &Seen<'_>,
    remaining: &HeaderName,
    limit: Option<&HeaderName>,
    reset: Option<(&HeaderName, Form)>,
    policy: Option<&HeaderName>,
    name: Option<&str>,
    quotas: &mut Vec<Quota>,
) {
    let left: Vec<&[u8]> = elements(seen.headers, remaining).collect();
    let limits: Vec<&[u8]> = limit.map(|limit| elements(seen.headers, limit).collect()).unwrap_or_default();
    let policies: Vec<&[u8]> =
        policy.map(|policy| elements(seen.headers, policy).collect()).unwrap_or_default();
    let resets = reset.map(|(reset, form)| resets(seen, reset, form)).unwrap_or_default();
    for (at, element) in left.iter().enumerate() {
        let named = name_and_number(element);
        let element = named.as_ref().map_or(*element, |(_, numbers)| *numbers);
        let told = named.map(|(told, _)| told);
        let Some((remaining_number, window)) = number(element) else {
            continue;
        };
        let limit = limits.get(at).and_then(|element| number(element));
        // A limit below zero is a vendor that does not know.
        if limit.is_some_and(|(limit, _)| limit < 0.0) {
            continue;
        }
        let reset_at = if resets.len() == left.len() {
            resets.get(at).copied().flatten()
        } else {
            resets.iter().copied().flatten().max()
        };
        let policy = policies.get(at).map(|policy| clean(&String::from_utf8_lossy(policy), LONGEST_NAME));
        let reset_told =
            reset.filter(|_| reset_at.is_some()).map(|(header, _)| line(seen.headers.get(header), header));
        quotas.push(Quota {
            name: told
                .as_deref()
                .or(policy.as_deref())
                .or(name)
                .filter(|name| !name.is_empty())
                .map(Into::into),
            limit: limit.map(|(limit, _)| whole(limit)),
            remaining: Some(whole(remaining_number)),
            reset: reset_at,
            window: window.or(limit.and_then(|(_, window)| window)),
            exhausted: remaining_number <= 0.0,
            reason: None,
            evidence: line(seen.headers.get(remaining), remaining),
            reset_told,
        });
    }
}

fn resets(seen: &Seen<'_>, header: &HeaderName, form: Form) -> Vec<Option<Delay>> {
    if form.has_no_comma() {
        // A date in a form that has commas is read whole below.
        let read: Vec<_> =
            elements(seen.headers, header).map(|element| form.read(element, &seen.receipt)).collect();
        if read.iter().any(Option::is_some) {
            return read;
        }
    }
    seen.headers.get_all(header).iter().map(|line| form.read(line.as_bytes(), &seen.receipt)).collect()
}

/// `Microsoft.Compute/HighCostGet3Min;107`, where the name stands before the number.
fn name_and_number(element: &[u8]) -> Option<(String, &[u8])> {
    let at = element.iter().position(|byte| *byte == b';')?;
    let (name, behind) = element.split_at_checked(at)?;
    let numbers = behind.get(1..)?;
    if number(name).is_some() || number(numbers).is_none() {
        return None;
    }
    Some((clean(&String::from_utf8_lossy(name), LONGEST_NAME), numbers))
}

/// A decimal, negative too, and the window in seconds behind it: `100;w=21600`.
fn number(element: &[u8]) -> Option<(f64, Option<Duration>)> {
    let text = std::str::from_utf8(element).ok()?;
    let mut parts = text.split(';').map(str::trim);
    let number = parts.next()?;
    let digits = number.strip_prefix('-').unwrap_or(number);
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && digits.len() <= 32;
    let number = number.parse::<f64>().ok().filter(|number| plain && number.is_finite())?;
    let window = parts.find_map(|part| crate::signal::hint::seconds(part.strip_prefix("w=")?.as_bytes()));
    Some((number, window))
}

/// Rounded down, zero where it is negative.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast from a float saturates")]
fn whole(number: f64) -> u64 {
    number as u64
}

pub(super) fn line(line: Option<&HeaderValue>, header: &HeaderName) -> Evidence {
    let value = line.map(|line| clean(&String::from_utf8_lossy(trim_ows(line.as_bytes())), Reason::MAX));
    Evidence { source: header.as_str().to_owned().into(), value: value.unwrap_or_default().into() }
}
