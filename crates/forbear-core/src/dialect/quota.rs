use std::time::Duration;

use http::header::{HeaderName, HeaderValue};

use serde::Serialize;

use crate::signal::hint::trim_ows;
use crate::signal::{Delay, Evidence, Reason, clean, lossy};

/// How much of a line is looked at for evidence, in bytes.
const LONGEST_LINE: usize = 1024;

/// What a response tells of one thing that its vendor counts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quota {
    /// What is counted, in the vendor's words or its dialect's: `core`, `tokens`.
    pub name: Option<Box<str>>,
    /// How many there are in a window.
    pub limit: Option<u64>,
    /// How many are left, rounded down.
    pub remaining: Option<u64>,
    /// When there will be more.
    pub reset: Option<Delay>,
    /// The length of the window.
    pub window: Option<Duration>,
    /// Whether nothing is left.
    pub exhausted: bool,
    /// Why, where the vendor says.
    pub(super) reason: Option<Reason>,
    pub(super) stood: Stood,
    /// Where the reset stood, if not beside what remains.
    pub(super) reset_stood: Option<Stood>,
}

/// Where a quota stood. Its words are put together where they are asked for: most of what is told is not exhausted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stood {
    /// In a line of this header.
    Line(HeaderName, Option<HeaderValue>),
    /// At a place that is no header.
    Place(Evidence),
}

impl Stood {
    pub(super) fn evidence(&self) -> Evidence {
        match self {
            Self::Line(header, line) => {
                let line = trim_ows(line.as_ref().map(HeaderValue::as_bytes).unwrap_or_default());
                // A list of many is the evidence of each in it.
                let line = line.get(..LONGEST_LINE).unwrap_or(line);
                let value = clean(&lossy(line), Reason::MAX);
                Evidence { source: header.as_str().to_owned().into(), value: value.into() }
            }
            Self::Place(evidence) => evidence.clone(),
        }
    }
}

/// For people and programs: durations in milliseconds.
impl Serialize for Quota {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let mut fields = serializer.serialize_struct("Quota", 6)?;
        fields.serialize_field("name", &self.name)?;
        fields.serialize_field("limit", &self.limit)?;
        fields.serialize_field("remaining", &self.remaining)?;
        fields.serialize_field("reset_ms", &self.reset.map(|reset| millis(reset.duration)))?;
        fields.serialize_field("window_ms", &self.window.map(millis))?;
        fields.serialize_field("exhausted", &self.exhausted)?;
        fields.end()
    }
}
