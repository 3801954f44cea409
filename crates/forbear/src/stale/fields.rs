use bytes::Bytes;
use http::header::AGE;
use http::{HeaderMap, HeaderName, HeaderValue};

use super::headers::{CACHE_STATUS, number};

/// The fields of a stored response, with places for what is said when it is served: so a copy of them need not grow for it.
pub(super) struct Fields {
    fields: HeaderMap,
    /// The age that the vendor, or a cache before it, gave; in seconds.
    age: Option<u64>,
    /// Whether there is a place for `Cache-Status`; there is none where a cache before wrote one.
    has_place: bool,
}

impl Fields {
    /// Of a response whose `Age` is one that can be counted with.
    pub(super) fn of(mut fields: HeaderMap) -> Self {
        let age = fields.get(AGE).and_then(|age| age.to_str().ok()?.parse().ok());
        let place = HeaderValue::from_static("0");
        fields.insert(AGE, place.clone());
        let has_place = !fields.contains_key(CACHE_STATUS);
        if has_place {
            fields.insert(CACHE_STATUS, place);
        }
        Self { fields: packed(&fields), age, has_place }
    }

    /// As they came.
    pub(super) fn plain(&self) -> HeaderMap {
        let mut fields = self.fields.clone();
        match self.age {
            Some(age) => fields.insert(AGE, age.into()),
            None => fields.remove(AGE),
        };
        if self.has_place {
            fields.remove(CACHE_STATUS);
        }
        fields
    }

    /// As they are served.
    pub(super) fn served(&self, age: u64, told: HeaderValue) -> HeaderMap {
        let mut fields = self.fields.clone();
        if let Some(place) = fields.get_mut(AGE) {
            *place = number(age);
        }
        match fields.get_mut(CACHE_STATUS) {
            Some(place) if self.has_place => *place = told,
            _ => {
                fields.append(CACHE_STATUS, told);
            }
        }
        fields
    }

    /// The age that it came with, in seconds.
    pub(super) fn age(&self) -> u64 {
        self.age.unwrap_or_default()
    }

    pub(super) fn get(&self, name: HeaderName) -> Option<&HeaderValue> {
        self.fields.get(name)
    }

    /// How many bytes of memory they take, about.
    pub(super) fn weight(&self) -> usize {
        weight(&self.fields)
    }
}

/// The same fields in memory of their own, all values in one piece: those that arrive are slices of what was read from the wire, and hold all of that.
pub(super) fn packed(fields: &HeaderMap) -> HeaderMap {
    let mut all = Vec::with_capacity(fields.values().map(HeaderValue::len).sum());
    fields.values().for_each(|value| all.extend_from_slice(value.as_bytes()));
    let mut all = Bytes::from(all);
    let mut packed = HeaderMap::with_capacity(fields.len());
    for (name, value) in fields {
        let own = HeaderValue::from_maybe_shared(all.split_to(value.len()));
        let mut own = own.unwrap_or_else(|_| value.clone());
        own.set_sensitive(value.is_sensitive());
        packed.append(name, own);
    }
    // A copy has no room to spare.
    packed.clone()
}

/// How many bytes of memory packed fields take, about: a place in the map and one in its index, name and value.
pub(super) fn weight(fields: &HeaderMap) -> usize {
    if fields.is_empty() {
        return 0;
    }
    let each = fields.iter().map(|(name, value)| name.as_str().len() + value.len() + PLACE);
    each.sum::<usize>() + 4 * (fields.len() * 4 / 3).next_power_of_two() + PIECE
}

/// A field in a map.
const PLACE: usize = 104;
/// What all values together cost beside their bytes.
const PIECE: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut fields = HeaderMap::new();
        for (name, value) in pairs {
            fields.append(*name, value.parse().unwrap());
        }
        fields
    }

    #[test]
    fn packed_fields_are_the_same_in_memory_of_their_own() {
        let wire = Bytes::from(vec![b'x'; 100_000]);
        let mut fields = HeaderMap::new();
        for (name, value) in
            [("set-cookie", 0..5), ("x-empty", 7..7), ("set-cookie", 9..14), ("etag", 20..29)]
        {
            fields.append(name, HeaderValue::from_maybe_shared(wire.slice(value)).unwrap());
        }
        fields.insert("x-key", HeaderValue::from_static("secret"));
        fields.get_mut("x-key").unwrap().set_sensitive(true);
        let packed = packed(&fields);
        assert_eq!(packed, fields);
        assert!(packed["x-key"].is_sensitive() && !packed["etag"].is_sensitive());
        drop(fields);
        assert!(wire.is_unique());
    }

    #[test]
    fn what_is_told_stands_behind_what_other_caches_told_and_what_came_is_kept() {
        for came in [
            of(&[("etag", "1")]),
            of(&[("etag", "1"), ("age", "7")]),
            of(&[("age", "0"), ("cache-status", "one; hit"), ("cache-status", "two; hit")]),
        ] {
            let fields = Fields::of(came.clone());
            assert_eq!(fields.plain(), came);
            let mut expected = came.clone();
            expected.insert("age", "9".parse().unwrap());
            expected.append("cache-status", "us; hit".parse().unwrap());
            assert_eq!(fields.served(9, HeaderValue::from_static("us; hit")), expected);
            let said = came.get("age").map_or(0, |age| age.to_str().unwrap().parse().unwrap());
            assert_eq!(fields.age(), said);
        }
    }
}
