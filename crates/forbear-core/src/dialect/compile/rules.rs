use std::time::Duration;

use http::header::HeaderName;

use crate::dialect::words::{Form, Reader};
use crate::signal::{Class, Scope};

/// A dialect, compiled.
#[derive(Debug, Default)]
pub(in crate::dialect) struct Rules {
    pub(in crate::dialect) name: Box<str>,
    /// The statuses that may be signals.
    pub(in crate::dialect) statuses: Statuses,
    pub(in crate::dialect) rules: Box<[Rule]>,
    pub(in crate::dialect) dimensions: Box<[Dimension]>,
    pub(in crate::dialect) delay: Box<[Wait]>,
    /// Whether the longest delay counts rather than the first.
    pub(in crate::dialect) longest: bool,
    pub(in crate::dialect) reason: Box<[Value]>,
    pub(in crate::dialect) scope: Box<[Value]>,
    pub(in crate::dialect) of: Option<Scope>,
    pub(in crate::dialect) bucket: Box<[Value]>,
    /// Whether some limit is for a bucket or a route.
    pub(in crate::dialect) names_buckets: bool,
    pub(in crate::dialect) exhausted_beyond: Option<Duration>,
    pub(in crate::dialect) event_streams: bool,
}

/// A set of statuses: one comparison settles what lies below all of them, and so, for most dialects, all success.
#[derive(Debug, Clone, Default)]
pub(in crate::dialect) struct Statuses {
    lowest: u16,
    bits: [u64; 16],
}

impl Statuses {
    pub(super) fn of(statuses: impl Iterator<Item = u16>) -> Self {
        let mut set = Self { lowest: u16::MAX, bits: [0; 16] };
        for status in statuses {
            set.lowest = set.lowest.min(status);
            if let Some(bits) = set.bits.get_mut(usize::from(status / 64)) {
                *bits |= 1 << (status % 64);
            }
        }
        set
    }

    #[inline]
    pub(in crate::dialect) fn contains(&self, status: u16) -> bool {
        self.lowest <= status
            && self.bits.get(usize::from(status / 64)).is_some_and(|bits| bits >> (status % 64) & 1 == 1)
    }
}

#[derive(Debug)]
pub(in crate::dialect) struct Rule {
    pub(in crate::dialect) statuses: Box<[u16]>,
    pub(in crate::dialect) when: Box<[Condition]>,
    /// Whether it holds only where there is a body.
    pub(in crate::dialect) needs_body: bool,
    pub(in crate::dialect) exhausted: Option<bool>,
    pub(in crate::dialect) limited: bool,
    pub(in crate::dialect) needs_delay: bool,
    /// `None`: throttled, unless the reason tells of too much in flight.
    pub(in crate::dialect) class: Option<Class>,
    /// Empty: the dialect's.
    pub(in crate::dialect) reason: Box<[Value]>,
    pub(in crate::dialect) scope: Box<[Value]>,
    pub(in crate::dialect) of: Option<Scope>,
    pub(in crate::dialect) retryable: Option<bool>,
    pub(in crate::dialect) not_executed: Option<bool>,
    /// `None`: the dialect's.
    pub(in crate::dialect) delay: Option<Box<[Wait]>>,
    pub(in crate::dialect) default_delay: Option<Duration>,
}

#[derive(Debug)]
pub(in crate::dialect) struct Condition {
    pub(in crate::dialect) value: Value,
    pub(in crate::dialect) test: Test,
}

#[derive(Debug)]
pub(in crate::dialect) enum Test {
    Present,
    Absent,
    Is(Box<[Box<str>]>),
    StartsWith(Box<[Box<str>]>),
    Contains(Box<[Box<str>]>),
    AtMost(f64),
    Unreadable(Form),
}

/// Where a word stands.
#[derive(Debug, PartialEq)]
pub(in crate::dialect) struct Value {
    pub(in crate::dialect) place: At,
    pub(in crate::dialect) after: Option<Box<str>>,
    pub(in crate::dialect) up_to: Option<Box<str>>,
    pub(in crate::dialect) last_of: Option<Box<str>>,
    pub(in crate::dialect) prefix: Option<Box<str>>,
    pub(in crate::dialect) lower_case: bool,
}

#[derive(Debug, PartialEq)]
pub(in crate::dialect) enum At {
    Constant(Box<str>),
    Header(HeaderName),
    Json(Pointer),
    JsonInHeader(HeaderName, Pointer),
    Xml(Path),
    Title,
    Text,
}

impl Value {
    /// Whether it stands in the body.
    pub(in crate::dialect) fn in_body(&self) -> bool {
        matches!(self.place, At::Json(_) | At::Xml(_) | At::Title | At::Text)
    }
}

/// A JSON pointer whose segment `*` is any.
#[derive(Debug, PartialEq)]
pub(in crate::dialect) struct Pointer {
    /// As it was written, for evidence.
    pub(in crate::dialect) text: Box<str>,
    pub(in crate::dialect) segments: Box<[Segment]>,
}

#[derive(Debug, PartialEq)]
pub(in crate::dialect) enum Segment {
    Any,
    Key(Box<str>),
}

/// The end of a path of elements.
#[derive(Debug, PartialEq)]
pub(in crate::dialect) struct Path {
    pub(in crate::dialect) text: Box<str>,
    pub(in crate::dialect) names: Box<[Box<str>]>,
    /// An attribute of the last element, rather than its words.
    pub(in crate::dialect) attribute: Option<Box<str>>,
}

/// Where a delay may stand.
#[derive(Debug)]
pub(in crate::dialect) enum Wait {
    /// The standard headers.
    RetryAfter,
    /// The reset of the exhausted dimension.
    Dimension,
    Value(Value, Form),
}

impl Wait {
    pub(in crate::dialect) fn in_body(&self) -> bool {
        matches!(self, Self::Value(value, _) if value.in_body())
    }
}

#[derive(Debug)]
pub(in crate::dialect) struct Dimension {
    pub(in crate::dialect) name: Box<[Value]>,
    pub(in crate::dialect) told: Told,
}

/// Where a dimension's numbers stand.
#[derive(Debug)]
pub(in crate::dialect) enum Told {
    Fields {
        remaining: Field,
        limit: Option<Field>,
        reset: Option<(Field, Form)>,
        policy: Option<HeaderName>,
    },
    Reader(Reader, Field),
}

/// A header, or every header of a pattern with one hole.
#[derive(Debug)]
pub(in crate::dialect) enum Field {
    Named(HeaderName),
    Pattern {
        before: Box<str>,
        behind: Box<str>,
    },
    /// The dimension stands in the body.
    Nowhere,
}
