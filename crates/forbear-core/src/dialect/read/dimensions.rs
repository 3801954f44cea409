use std::time::Duration;

use http::HeaderValue;
use http::header::{GetAll, HeaderMap, HeaderName};

use super::find::Seen;
use super::readers;
use crate::dialect::compile::{Dimension, Field, Told};
use crate::dialect::quota::{Quota, Stood};
use crate::dialect::words::Form;
use crate::signal::hint::elements;
use crate::signal::{Delay, clean, lossy};

/// The longest name of a dimension, in bytes.
pub(super) const LONGEST_NAME: usize = 128;

/// The most quotas that are read of one response. Vendors tell of a handful; what lies makes no work by telling of more.
pub(super) const MOST: usize = 128;

/// How many more may be read.
pub(super) fn room(quotas: &[Quota]) -> usize {
    MOST.saturating_sub(quotas.len())
}

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
            if let Some(name) = seen.name(&dimension.name, &[], LONGEST_NAME) {
                for quota in quotas.iter_mut().skip(before) {
                    quota.name = Some(name.as_str().into());
                }
            }
        }
        Told::Fields { remaining: Field::Named(remaining), limit, reset, policy } => {
            let limit = named(limit.as_ref());
            let reset = reset.as_ref().and_then(|(field, form)| Some((named(Some(field))?, *form)));
            if !seen.headers.contains_key(remaining) {
                return;
            }
            let name = seen.name(&dimension.name, &[], LONGEST_NAME);
            fields(seen, remaining, limit, reset, policy.as_ref(), name.as_deref(), quotas);
        }
        Told::Fields { remaining: Field::Pattern { before, behind }, limit, reset, .. } => {
            for header in seen.headers.keys() {
                let Some(hole) = hole(header, before, behind) else {
                    continue;
                };
                if room(quotas) == 0 {
                    break;
                }
                let limit = limit.as_ref().and_then(|field| filled(field, hole, seen.headers));
                let reset = reset
                    .as_ref()
                    .and_then(|(field, form)| Some((filled(field, hole, seen.headers)?, *form)));
                // A header's name needs no cleaning.
                let name = hole.get(..LONGEST_NAME).unwrap_or(hole);
                fields(seen, header, limit, reset, None, Some(name), quotas);
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
    let name = header.as_str();
    // Most headers are too short, which is seen sooner than that they begin otherwise.
    if name.len() <= before.len().saturating_add(behind.len()) {
        return None;
    }
    let (start, rest) = name.split_at_checked(before.len())?;
    let (hole, end) = rest.split_at_checked(rest.len().saturating_sub(behind.len()))?;
    (is(start, before) && is(end, behind)).then_some(hole)
}

/// Byte by byte: names are short, and differ soon where they do. A vectorised comparison reads on, and stumbles at the end of
/// a page.
fn is(name: &str, wanted: &str) -> bool {
    name.len() == wanted.len() && name.bytes().zip(wanted.bytes()).all(|(is, wanted)| is == wanted)
}

/// The header that is there and has `hole` in the hole.
fn filled<'s>(field: &'s Field, wanted: &str, headers: &'s HeaderMap) -> Option<&'s HeaderName> {
    match field {
        Field::Named(name) => Some(name),
        Field::Pattern { before, behind } => {
            let length = before.len().saturating_add(wanted.len()).saturating_add(behind.len());
            let mut fitting = headers.keys().filter(|header| header.as_str().len() == length);
            fitting.find(|header| hole(header, before, behind).is_some_and(|hole| is(hole, wanted)))
        }
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
    let left = seen.headers.get_all(remaining);
    let of = |header: Option<&HeaderName>| {
        header.map(|header| elements(&seen.headers.get_all(header))).into_iter().flatten()
    };
    let (mut limits, mut policies) = (of(limit), of(policy));
    let reset = reset.map(|(header, form)| (header, seen.headers.get_all(header), form));
    let resets = reset.as_ref().map_or(Resets::One(None), |(_, lines, form)| resets(seen, lines, *form));
    let resets = resets.paired_with(elements(&left).count());
    for (at, element) in elements(&left).enumerate() {
        if room(quotas) == 0 {
            break;
        }
        let (limit, policy) = (limits.next(), policies.next());
        let named = name_and_number(element);
        let element = named.as_ref().map_or(element, |(_, numbers)| *numbers);
        let told = named.map(|(told, _)| told);
        let Some((remaining_number, window)) = number(element) else {
            continue;
        };
        let limit = limit.and_then(number);
        // A limit below zero is a vendor that does not know.
        if limit.is_some_and(|(limit, _)| limit < 0.0) {
            continue;
        }
        let reset_at = match &resets {
            Resets::One(reset) => *reset,
            Resets::Many(resets) => resets.get(at).copied().flatten(),
        };
        let policy = policy.map(|policy| clean(&lossy(policy), LONGEST_NAME));
        let exhausted = remaining_number <= 0.0;
        let reset_told = reset.as_ref().filter(|_| exhausted && reset_at.is_some());
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
            exhausted,
            reason: None,
            stood: stood(left.iter().next(), remaining),
            reset_stood: reset_told.map(|(header, lines, _)| stood(lines.iter().next(), header)),
        });
    }
}

/// What the lines of a reset say.
enum Resets {
    /// One for all.
    One(Option<Delay>),
    /// One for each place.
    Many(Vec<Option<Delay>>),
}

impl Resets {
    /// Those for so many places. Where there are more of them, or fewer, nobody knows which is whose: the longest.
    fn paired_with(self, places: usize) -> Self {
        match self {
            Self::Many(resets) if resets.len() != places => Self::One(resets.into_iter().flatten().max()),
            resets => resets,
        }
    }
}

fn resets(seen: &Seen<'_>, lines: &GetAll<'_, HeaderValue>, form: Form) -> Resets {
    let mut all = lines.iter();
    if let (Some(line), None) = (all.next(), all.next())
        && !line.as_bytes().contains(&b',')
    {
        return Resets::One(form.read(line.as_bytes(), &seen.receipt));
    }
    if form.has_no_comma() {
        // A date in a form that has commas is read whole below.
        let read: Vec<_> = elements(lines).map(|element| form.read(element, &seen.receipt)).collect();
        if read.iter().any(Option::is_some) {
            return Resets::Many(read);
        }
    }
    Resets::Many(lines.iter().map(|line| form.read(line.as_bytes(), &seen.receipt)).collect())
}

/// `Microsoft.Compute/HighCostGet3Min;107`, where the name stands before the number.
fn name_and_number(element: &[u8]) -> Option<(String, &[u8])> {
    let at = element.iter().position(|byte| *byte == b';')?;
    let (name, behind) = element.split_at_checked(at)?;
    let numbers = behind.get(1..)?;
    if number(name).is_some() || number(numbers).is_none() {
        return None;
    }
    Some((clean(&lossy(name), LONGEST_NAME), numbers))
}

/// A decimal, negative too, and the window in seconds behind it: `100;w=21600`.
fn number(element: &[u8]) -> Option<(f64, Option<Duration>)> {
    if let 1..=15 = element.len()
        && let Some(number) = small(element)
    {
        return Some((number, None));
    }
    let text = std::str::from_utf8(element).ok()?;
    let mut parts = text.split(';').map(str::trim);
    let number = parts.next()?;
    let digits = number.strip_prefix('-').unwrap_or(number);
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && digits.len() <= 32;
    let number = number.parse::<f64>().ok().filter(|number| plain && number.is_finite())?;
    let window = parts.find_map(|part| crate::signal::hint::seconds(part.strip_prefix("w=")?.as_bytes()));
    Some((number, window))
}

/// Digits alone, few enough that a float holds them.
#[expect(clippy::cast_precision_loss, reason = "fifteen digits are below 2⁵³")]
fn small(digits: &[u8]) -> Option<f64> {
    let number = digits.iter().try_fold(0_u64, |number, digit| {
        let value = digit.is_ascii_digit().then(|| u64::from(digit.saturating_sub(b'0')))?;
        Some(number.saturating_mul(10).saturating_add(value))
    });
    number.map(|number| number as f64)
}

/// Rounded down, zero where it is negative.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast from a float saturates")]
fn whole(number: f64) -> u64 {
    number as u64
}

pub(super) fn stood(line: Option<&HeaderValue>, header: &HeaderName) -> Stood {
    Stood::Line(header.clone(), line.cloned())
}
