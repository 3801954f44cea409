use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

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
}

impl Single for String {
    const ALLOWED: &'static str = "a string, a number, or a list of them";

    fn from_word(word: &str) -> Option<Self> {
        Some(word.to_owned())
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
        let one =
            T::from_word(word).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(word), &self))?;
        Ok(List(vec![one]))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        let one = T::from_word(&number.to_string());
        one.map(|one| List(vec![one]))
            .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Signed(number), &self))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        Ok(List(vec![T::deserialize(MapAccessDeserializer::new(map))?]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(List)
    }
}
