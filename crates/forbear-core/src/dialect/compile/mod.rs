//! From words to rules, checked.

mod place;
mod rules;

use std::time::Duration;

use place::{conditions, header_name, values, waits};
use rules::Statuses;
pub(super) use rules::{
    At, Condition, Dimension, Field, Path, Pointer, Rule, Rules, Segment, Test, Told, Value, Wait,
};

use super::InvalidDialect;
use super::words::{self, Form, Reader, Words};
use crate::signal::Scope;
use crate::signal::hint::go_duration;

/// The longest name of a dialect, in bytes.
const LONGEST_NAME: usize = 64;

pub(super) fn compile(words: &Words) -> Result<Rules, InvalidDialect> {
    let name = &words.name;
    if name.is_empty()
        || name.len() > LONGEST_NAME
        || name.contains(|c: char| c.is_control() || c.is_whitespace())
    {
        return Err(InvalidDialect::new(
            "name",
            name,
            "use 1 to 64 bytes without white space, such as `acme-api`",
        ));
    }
    let mut rules = Vec::new();
    let mut dimensions = Vec::new();
    for (at, words) in words.rules.iter().enumerate() {
        rules.push(rule(words, &format!("rule[{at}]"))?);
    }
    for (at, words) in words.dimensions.iter().enumerate() {
        dimensions.push(dimension(words, &format!("dimension[{at}]"))?);
    }
    let mut reason = values(&words.reason, "reason")?.into_vec();
    if words.standard {
        let standard = super::standard::words();
        for words in &standard.rules {
            rules.push(rule(words, "standard")?);
        }
        // A header that the dialect reads itself means what the dialect says.
        let own = |header: &Option<String>| {
            let own = |words: &words::Dimension| words.remaining == *header || words.header == *header;
            header.is_some() && words.dimensions.iter().any(own)
        };
        let standard_alone =
            standard.dimensions.iter().filter(|words| !own(&words.remaining) && !own(&words.header));
        for words in standard_alone {
            dimensions.push(dimension(words, "standard")?);
        }
        reason.extend(values(&standard.reason, "standard")?);
    }
    let delay = match &words.delay {
        Some(delay) => waits(delay, "delay")?,
        None => Box::new([Wait::RetryAfter, Wait::Dimension]),
    };
    let of = rules.iter().map(|rule| rule.of).chain([words.of]);
    let names_buckets = of.flatten().any(|of| matches!(of, Scope::Bucket | Scope::Route));
    Ok(Rules {
        names_buckets,
        name: name.as_str().into(),
        statuses: Statuses::of(
            rules.iter().filter(|rule| rule.limited).flat_map(|rule| rule.statuses.iter().copied()),
        ),
        rules: rules.into(),
        dimensions: dimensions.into(),
        delay,
        longest: words.longest,
        reason: reason.into(),
        scope: values(&words.scope, "scope")?,
        of: words.of,
        bucket: values(&words.bucket, "bucket")?,
        exhausted_beyond: duration(words.exhausted_beyond.as_deref(), "exhausted-beyond")?,
        event_streams: words.event_streams,
    })
}

fn rule(words: &words::Rule, key: &str) -> Result<Rule, InvalidDialect> {
    if words.status.0.is_empty() {
        return Err(InvalidDialect::new(
            format!("{key}.status"),
            "[]",
            "name at least one status, such as 429",
        ));
    }
    if let Some(status) = words.status.0.iter().find(|status| !(100..1000).contains(*status)) {
        return Err(InvalidDialect::new(
            format!("{key}.status"),
            status.to_string(),
            "a status lies between 100 and 999",
        ));
    }
    if !words.limited {
        let meaningless = [
            ("class", words.class.is_some()),
            ("retryable", words.retryable.is_some()),
            ("not-executed", words.not_executed.is_some()),
            ("of", words.of.is_some()),
            ("default-delay", words.default_delay.is_some()),
            ("needs-delay", words.needs_delay),
        ];
        if let Some((name, _)) = meaningless.iter().find(|(_, given)| *given) {
            return Err(InvalidDialect::new(
                format!("{key}.{name}"),
                "given",
                "has no meaning beside `limited = false`: leave one of them out",
            ));
        }
    }
    let delay = words.delay.as_ref().map(|delay| waits(delay, &format!("{key}.delay"))).transpose()?;
    let when = conditions(&words.when, &format!("{key}.when"))?;
    Ok(Rule {
        statuses: words.status.0.as_slice().into(),
        needs_body: when.iter().any(|when| when.value.in_body() && !matches!(when.test, Test::Absent)),
        when,
        exhausted: words.exhausted,
        limited: words.limited,
        needs_delay: words.needs_delay,
        class: words.class,
        reason: values(&words.reason, &format!("{key}.reason"))?,
        scope: values(&words.scope, &format!("{key}.scope"))?,
        of: words.of,
        retryable: words.retryable,
        not_executed: words.not_executed,
        delay,
        default_delay: duration(words.default_delay.as_deref(), &format!("{key}.default-delay"))?,
    })
}

fn dimension(words: &words::Dimension, key: &str) -> Result<Dimension, InvalidDialect> {
    let name = values(&words.name, &format!("{key}.name"))?;
    let field = |name: &str, part: &str| field(name, &format!("{key}.{part}"));
    let told = match (&words.remaining, words.reader) {
        (Some(remaining), None) => {
            if let Some(header) = &words.header {
                return Err(InvalidDialect::new(
                    format!("{key}.header"),
                    header,
                    "goes with `reader`, not with `remaining`",
                ));
            }
            let unit = words.unit.unwrap_or(Form::Reset);
            Told::Fields {
                remaining: field(remaining, "remaining")?,
                limit: words.limit.as_deref().map(|name| field(name, "limit")).transpose()?,
                reset: words.reset.as_deref().map(|name| Ok((field(name, "reset")?, unit))).transpose()?,
                policy: words
                    .policy
                    .as_deref()
                    .map(|name| header_name(name, &format!("{key}.policy")))
                    .transpose()?,
            }
        }
        (None, Some(Reader::ShopifyCost)) => Told::Reader(Reader::ShopifyCost, Field::Nowhere),
        (None, Some(reader)) => match &words.header {
            Some(header) => Told::Reader(reader, field(header, "header")?),
            None => {
                return Err(InvalidDialect::new(
                    format!("{key}.header"),
                    "",
                    "is missing: say which header it reads",
                ));
            }
        },
        (Some(_), Some(_)) => {
            return Err(InvalidDialect::new(key, "both", "give `remaining`, or `reader` with `header`"));
        }
        (None, None) => {
            return Err(InvalidDialect::new(
                key,
                "neither",
                "give `remaining`, the header that says what is left, or `reader` with `header`",
            ));
        }
    };
    Ok(Dimension { name, told })
}

fn field(name: &str, key: &str) -> Result<Field, InvalidDialect> {
    let Some((before, behind)) = name.split_once("{}") else {
        return header_name(name, key).map(Field::Named);
    };
    // With something in the hole it must be a name; compared in lower case, as header names are.
    header_name(&format!("{before}x{behind}"), key)?;
    Ok(Field::Pattern {
        before: before.to_ascii_lowercase().into(),
        behind: behind.to_ascii_lowercase().into(),
    })
}

fn duration(text: Option<&str>, key: &str) -> Result<Option<Duration>, InvalidDialect> {
    let Some(text) = text else {
        return Ok(None);
    };
    let duration = go_duration(text.as_bytes());
    duration
        .map(Some)
        .ok_or_else(|| InvalidDialect::new(key, text, "is no duration: write `30s`, `10m` or `1h30m`"))
}
