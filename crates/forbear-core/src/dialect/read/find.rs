use std::borrow::Cow;

use http::HeaderMap;

use super::body::{Body, at_pointer};
use crate::dialect::compile::{At, Condition, Test, Value};
use crate::signal::hint::Receipt;
use crate::signal::{Evidence, Reason, clean, lossy, trim};

/// What a rule may look at.
pub(super) struct Seen<'a> {
    pub(super) headers: &'a HeaderMap,
    pub(super) body: Body<'a>,
    pub(super) receipt: Receipt<'a>,
}

impl Seen<'_> {
    /// Calls `each` with every candidate for `value`, cut as it says, until that has an answer.
    pub(super) fn each<T>(&self, value: &Value, mut each: impl FnMut(&str) -> Option<T>) -> Option<T> {
        let mut each = |words: &str| each(&cut(value, words)?);
        match &value.place {
            At::Constant(words) => each(words),
            At::Header(name) => {
                self.headers.get_all(name).iter().find_map(|line| each(&lossy(line.as_bytes())))
            }
            At::Json(pointer) => at_pointer(self.body.json()?, pointer, &mut each),
            At::JsonInHeader(name, pointer) => self.headers.get_all(name).iter().find_map(|line| {
                at_pointer(&serde_json::from_slice(line.as_bytes()).ok()?, pointer, &mut each)
            }),
            At::Xml(path) => self.body.xml(path, &mut each),
            At::Title => each(&self.body.title()?),
            At::Text => each(&self.body.text()?),
        }
    }

    /// The first words of one of `values`, cleaned, and where they stood. Of several words at a place that a condition in
    /// `when` asks for too, those that met it.
    pub(super) fn first(
        &self,
        values: &[Value],
        when: &[Condition],
        most: usize,
    ) -> Option<(String, Option<Evidence>)> {
        self.first_at(values, when, most).map(|(words, value)| {
            let stood = (!matches!(value.place, At::Constant(_))).then(|| evidence(value, &words));
            (words, stood)
        })
    }

    /// The same words alone.
    pub(super) fn name(&self, values: &[Value], when: &[Condition], most: usize) -> Option<String> {
        self.first_at(values, when, most).map(|(words, _)| words)
    }

    fn first_at<'v>(
        &self,
        values: &'v [Value],
        when: &[Condition],
        most: usize,
    ) -> Option<(String, &'v Value)> {
        values.iter().find_map(|value| {
            let condition = when.iter().find(|condition| condition.value == *value);
            self.each(value, |found| {
                let words = clean(found, most);
                let met = condition.is_none_or(|condition| self.passes(condition, found));
                (met && !words.is_empty()).then_some((words, value))
            })
        })
    }

    /// Whether a condition holds.
    pub(super) fn holds(&self, condition: &Condition) -> bool {
        let held = self.each(&condition.value, |words| self.passes(condition, words).then_some(()));
        match condition.test {
            Test::Absent => self.each(&condition.value, |_| Some(())).is_none(),
            _ => held.is_some(),
        }
    }

    /// What the first condition that stands in the response found there.
    pub(super) fn told(&self, conditions: &[Condition]) -> Option<Evidence> {
        conditions.iter().find_map(|condition| {
            self.each(&condition.value, |words| {
                self.passes(condition, words).then(|| evidence(&condition.value, words))
            })
        })
    }

    fn passes(&self, condition: &Condition, found: &str) -> bool {
        let found = trim(found);
        match &condition.test {
            Test::Present => true,
            Test::Absent => false,
            Test::Is(words) => words.iter().any(|word| found.eq_ignore_ascii_case(word)),
            Test::StartsWith(words) => words.iter().any(|word| starts_with(found, word)),
            Test::Contains(words) => words.iter().any(|word| contains(found, word)),
            Test::AtMost(most) => found.parse::<f64>().is_ok_and(|number| number <= *most),
            Test::Unreadable(form) => form.read(found.as_bytes(), &self.receipt).is_none(),
        }
    }
}

/// What stood at a place, for people.
pub(super) fn evidence(value: &Value, words: &str) -> Evidence {
    let source = match &value.place {
        At::Constant(_) => "dialect".to_owned(),
        At::Header(name) => name.as_str().to_owned(),
        At::Json(pointer) => pointer.text.to_string(),
        At::JsonInHeader(name, pointer) => format!("{name} {}", pointer.text),
        At::Xml(path) => path.text.to_string(),
        At::Title => "title".to_owned(),
        At::Text => "body".to_owned(),
    };
    Evidence { source: source.into(), value: clean(words, Reason::MAX).into() }
}

/// What of `words` a place asks for.
fn cut<'w>(value: &Value, words: &'w str) -> Option<Cow<'w, str>> {
    let mut words = words;
    if let Some(after) = &value.after {
        let at = words.to_ascii_lowercase().find(&after.to_ascii_lowercase())?;
        words = words.get(at.checked_add(after.len())?..)?;
    }
    if let Some(up_to) = &value.up_to {
        words = words.split_once(&**up_to).map_or(words, |(before, _)| before);
    }
    if let Some(separator) = &value.last_of {
        words = words.rsplit_once(&**separator).map_or(words, |(_, last)| last);
    }
    let words = if value.lower_case { Cow::Owned(words.to_lowercase()) } else { Cow::Borrowed(words) };
    Some(match &value.prefix {
        Some(prefix) => format!("{prefix}{}", words.trim()).into(),
        None => words,
    })
}

fn starts_with(found: &str, word: &str) -> bool {
    found.as_bytes().get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word.as_bytes()))
}

fn contains(found: &str, word: &str) -> bool {
    word.is_empty()
        || found.as_bytes().windows(word.len()).any(|window| window.eq_ignore_ascii_case(word.as_bytes()))
}
