use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use super::list::{List, Single};
use crate::signal::hint::Form;

/// Where a word of a response stands, and what of it counts.
///
/// It plays three parts: a *value* (a reason, the name of a scope), a *delay* (then it has a [unit](Place::unit)), and a
/// *condition* (then it has a test, such as [`is`](Place::is); without one it asks whether there is anything).
/// In TOML a bare string stands for itself: `reason = "primary"`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Place {
    pub(crate) constant: Option<String>,
    pub(crate) keys: Keys,
}

/// The keys of a place, as a dialect file has them.
#[derive(Debug, Clone, PartialEq, Default, serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Keys {
    pub(crate) header: Option<String>,
    pub(crate) json: Option<String>,
    pub(crate) xml: Option<String>,
    pub(crate) title: bool,
    pub(crate) text: bool,
    pub(crate) after: Option<String>,
    pub(crate) up_to: Option<String>,
    pub(crate) last_of: Option<String>,
    pub(crate) prefix: Option<String>,
    pub(crate) lower_case: bool,
    pub(crate) unit: Option<Form>,
    pub(crate) is: Option<List<String>>,
    pub(crate) starts_with: Option<List<String>>,
    pub(crate) contains: Option<List<String>>,
    pub(crate) at_most: Option<f64>,
    pub(crate) absent: bool,
    pub(crate) unreadable: bool,
}

impl Place {
    /// These words themselves, whatever the response says.
    #[must_use]
    pub fn constant(words: impl Into<String>) -> Self {
        Self { constant: Some(words.into()), keys: Keys::default() }
    }

    /// A header: the first of its lines that will do.
    #[must_use]
    pub fn header(name: impl Into<String>) -> Self {
        Self::of(Keys { header: Some(name.into()), ..Keys::default() })
    }

    /// A string, number or boolean of a JSON body at this pointer (RFC 6901). A segment `*` stands for every element of a
    /// list and every member of an object: `/errors/*/code`.
    #[must_use]
    pub fn json(pointer: impl Into<String>) -> Self {
        Self::of(Keys { json: Some(pointer.into()), ..Keys::default() })
    }

    /// The same in a header that holds JSON.
    #[must_use]
    pub fn json_in_header(name: impl Into<String>, pointer: impl Into<String>) -> Self {
        Self::of(Keys { header: Some(name.into()), json: Some(pointer.into()), ..Keys::default() })
    }

    /// The text of an element of an XML body, by the end of its path: `Error/Code` is every `Code` in an `Error`, and
    /// `Error/@code` the attribute of that name.
    #[must_use]
    pub fn xml(path: impl Into<String>) -> Self {
        Self::of(Keys { xml: Some(path.into()), ..Keys::default() })
    }

    /// The title of an HTML page.
    #[must_use]
    pub fn title() -> Self {
        Self::of(Keys { title: true, ..Keys::default() })
    }

    /// The whole body as text, without white space around it.
    #[must_use]
    pub fn text() -> Self {
        Self::of(Keys { text: true, ..Keys::default() })
    }

    fn of(keys: Keys) -> Self {
        Self { constant: None, keys }
    }

    /// Only what follows these words; nothing where they do not stand there.
    #[must_use]
    pub fn after(mut self, words: impl Into<String>) -> Self {
        self.keys.after = Some(words.into());
        self
    }

    /// Only what stands before these words; all of it where they do not stand there.
    #[must_use]
    pub fn up_to(mut self, words: impl Into<String>) -> Self {
        self.keys.up_to = Some(words.into());
        self
    }

    /// Only what follows the last of these separators: `com.example#Slow` has `Slow` as the last of `#`.
    #[must_use]
    pub fn last_of(mut self, separator: impl Into<String>) -> Self {
        self.keys.last_of = Some(separator.into());
        self
    }

    /// With these words put before it.
    #[must_use]
    pub fn prefix(mut self, words: impl Into<String>) -> Self {
        self.keys.prefix = Some(words.into());
        self
    }

    /// In lower case.
    #[must_use]
    pub fn lower_case(mut self) -> Self {
        self.keys.lower_case = true;
        self
    }

    /// The unit, which makes it a delay.
    #[must_use]
    pub fn unit(mut self, unit: Form) -> Self {
        self.keys.unit = Some(unit);
        self
    }

    /// A condition: it is one of these, in any case of letters.
    #[must_use]
    pub fn is<W: Into<String>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.keys.is.get_or_insert_default().0.extend(words.into_iter().map(Into::into));
        self
    }

    /// A condition: it starts with one of these, in any case of letters.
    #[must_use]
    pub fn starts_with<W: Into<String>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.keys.starts_with.get_or_insert_default().0.extend(words.into_iter().map(Into::into));
        self
    }

    /// A condition: it contains one of these, in any case of letters. Not for the whole text of a body, where a page that
    /// writes about limits would meet it.
    #[must_use]
    pub fn contains<W: Into<String>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.keys.contains.get_or_insert_default().0.extend(words.into_iter().map(Into::into));
        self
    }

    /// A condition: it is a number of at most this.
    #[must_use]
    pub fn at_most(mut self, number: f64) -> Self {
        self.keys.at_most = Some(number);
        self
    }

    /// A condition: there is no such place.
    #[must_use]
    pub fn absent(mut self) -> Self {
        self.keys.absent = true;
        self
    }

    /// A condition: there is something, and it cannot be read in the [unit](Place::unit).
    #[must_use]
    pub fn unreadable(mut self) -> Self {
        self.keys.unreadable = true;
        self
    }
}

impl From<&str> for Place {
    fn from(words: &str) -> Self {
        Self::constant(words)
    }
}

impl Single for Place {
    const ALLOWED: &'static str =
        "a string, a table such as { header = \"…\" } or { json = \"/…\" }, or a list of them";

    fn from_word(word: &str) -> Option<Self> {
        Some(Self::constant(word))
    }
}

impl<'de> Deserialize<'de> for Place {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PlaceVisitor)
    }
}

struct PlaceVisitor;

impl<'de> Visitor<'de> for PlaceVisitor {
    type Value = Place;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Place::ALLOWED)
    }

    fn visit_str<E: Error>(self, words: &str) -> Result<Place, E> {
        Ok(Place::constant(words))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Place, A::Error> {
        Keys::deserialize(MapAccessDeserializer::new(map)).map(Place::of)
    }
}
