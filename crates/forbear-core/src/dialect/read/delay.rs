use http::header::{self, HeaderName};

use super::find::{Seen, evidence};
use crate::dialect::Quota;
use crate::dialect::compile::{At, Value, Wait};
use crate::dialect::words::Form;
use crate::signal::hint::{self, trim_ows};
use crate::signal::{Delay, Evidence, Reason, clean, lossy};

/// The standard headers, in the order in which they are asked.
static HEADERS: [(HeaderName, Form); 4] = [
    (HeaderName::from_static("retry-after-ms"), Form::Milliseconds),
    (HeaderName::from_static("x-ms-retry-after-ms"), Form::Milliseconds),
    (HeaderName::from_static("x-amz-retry-after"), Form::Milliseconds),
    (header::RETRY_AFTER, Form::RetryAfter),
];

/// What one place says of a delay.
#[derive(Debug)]
pub(super) struct Found {
    /// `None` where there is something that cannot be read.
    pub(super) delay: Option<Delay>,
    /// Whether it stood in a standard header.
    pub(super) standard: bool,
    /// Whether it is the reset of an exhausted dimension.
    pub(super) dimension: bool,
    pub(super) evidence: Evidence,
}

impl Found {
    fn is_above_zero(&self) -> bool {
        self.delay.is_some_and(|delay| !delay.duration.is_zero())
    }
}

/// The first place with a delay above zero, or the longest where the dialect asks for that; else the first that can be
/// read, which is zero; else the first that is there.
pub(super) fn advertised(waits: &[Wait], longest: bool, quotas: &[Quota], seen: &Seen<'_>) -> Option<Found> {
    let mut best: Option<Found> = None;
    let mut consider = |found: Found| {
        let done = found.is_above_zero() && !longest;
        let better = match &best {
            None => true,
            // A zero may take the place of what cannot be read.
            Some(best) if best.is_above_zero() => longest && found.delay > best.delay,
            Some(best) => found.is_above_zero() || best.delay.is_none() && found.delay.is_some(),
        };
        if better {
            best = Some(found);
        }
        done
    };
    for wait in waits {
        let done = match wait {
            Wait::RetryAfter => HEADERS
                .iter()
                .filter_map(|(field, form)| in_header(field, *form, true, seen))
                .any(&mut consider),
            Wait::Dimension => exhausted(quotas).into_iter().any(&mut consider),
            Wait::Value(value, form) => in_place(value, *form, seen).into_iter().any(&mut consider),
        };
        if done {
            break;
        }
    }
    best
}

fn in_header(field: &HeaderName, form: Form, standard: bool, seen: &Seen<'_>) -> Option<Found> {
    let hint = hint::read(field, form, &seen.receipt)?;
    let value = clean(&lossy(trim_ows(hint.line.as_bytes())), Reason::MAX);
    let source = if standard { field_name(field) } else { field.as_str().to_owned().into() };
    Some(Found {
        delay: hint.delay,
        standard,
        dimension: false,
        evidence: Evidence { source, value: value.into() },
    })
}

fn field_name(field: &HeaderName) -> std::borrow::Cow<'static, str> {
    HEADERS
        .iter()
        .find(|(name, _)| name == field)
        .map_or_else(|| field.as_str().to_owned().into(), |(name, _)| name.as_str().into())
}

/// The longest reset of what is exhausted.
fn exhausted(quotas: &[Quota]) -> Option<Found> {
    let quota = quotas
        .iter()
        .filter(|quota| quota.exhausted && quota.reset.is_some())
        .max_by_key(|quota| quota.reset)?;
    Some(Found {
        delay: quota.reset,
        standard: false,
        dimension: true,
        evidence: quota.reset_stood.as_ref().unwrap_or(&quota.stood).evidence(),
    })
}

/// The longest delay among what stands at a place.
fn in_place(value: &Value, form: Form, seen: &Seen<'_>) -> Option<Found> {
    let cut = value.after.is_some() || value.up_to.is_some() || value.last_of.is_some();
    if let (At::Header(field), false) = (&value.place, cut) {
        return in_header(field, form, false, seen);
    }
    let mut best: Option<Found> = None;
    let _ = seen.each(value, |words| {
        let delay = if cut {
            form.read_leading(words.as_bytes(), &seen.receipt)
        } else {
            form.read(words.as_bytes(), &seen.receipt)
        };
        if best.as_ref().is_none_or(|best| delay > best.delay) {
            best = Some(Found { delay, standard: false, dimension: false, evidence: evidence(value, words) });
        }
        None::<()>
    });
    best
}
