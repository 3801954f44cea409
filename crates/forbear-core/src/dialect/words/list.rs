use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, Expected, MapAccess, SeqAccess, Unexpected, Visitor};

/// One thing, or a list of them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// What a single value, not in a list, may be read from beside a table.
pub(crate) trait Single: Sized {
    /// What is allowed, for an error.
    const ALLOWED: &'static str;

    fn from_word(word: &str) -> Option<Self>;

    /// From a decimal, `true` or `false`.
    fn from_other(_word: &str) -> Option<Self> {
        None
    }
}

impl Single for String {
    const ALLOWED: &'static str = "a string, a number, `true` or `false`, or a list of them";

    fn from_word(word: &str) -> Option<Self> {
        Some(word.to_owned())
    }

    fn from_other(word: &str) -> Option<Self> {
        Self::from_word(word)
    }
}

impl Single for u16 {
    const ALLOWED: &'static str = "a status such as 429, or a list of them";

    fn from_word(word: &str) -> Option<Self> {
        word.parse().ok()
    }
}

impl<'de, T: Single + Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Listed(PhantomData))
    }
}

struct Listed<T>(PhantomData<T>);

impl<'de, T: Single + Deserialize<'de>> Visitor<'de> for Listed<T> {
    type Value = List<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::ALLOWED)
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Self::Value, E> {
        self.one(T::from_word(word), Unexpected::Str(word))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        self.one(T::from_word(&number.to_string()), Unexpected::Signed(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        self.one(T::from_other(&number.to_string()), Unexpected::Float(number))
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<Self::Value, E> {
        self.one(T::from_other(if truth { "true" } else { "false" }), Unexpected::Bool(truth))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        Ok(List(vec![T::deserialize(MapAccessDeserializer::new(map))?]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        // What may stand alone may stand in the list, in the same form.
        while let Some(List(some)) = list.next_element::<Element<T>>()?.map(|element| element.0) {
            all.extend(some);
        }
        Ok(List(all))
    }
}

impl<T: Single> Listed<T> {
    fn one<E: Error>(&self, one: Option<T>, found: Unexpected<'_>) -> Result<List<T>, E>
    where
        Self: Expected,
    {
        one.map(|one| List(vec![one])).ok_or_else(|| E::invalid_value(found, self))
    }
}

/// One of a list: all that may stand alone, but no list.
struct Element<T>(List<T>);

impl<'de, T: Single + Deserialize<'de>> Deserialize<'de> for Element<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Alone(Listed(PhantomData))).map(Self)
    }
}

struct Alone<T>(Listed<T>);

impl<'de, T: Single + Deserialize<'de>> Visitor<'de> for Alone<T> {
    type Value = List<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::ALLOWED)
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Self::Value, E> {
        self.0.visit_str(word)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        self.0.visit_i64(number)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        self.0.visit_f64(number)
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<Self::Value, E> {
        self.0.visit_bool(truth)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        self.0.visit_map(map)
    }
}
