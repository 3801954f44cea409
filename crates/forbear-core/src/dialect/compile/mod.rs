//! From words to rules, checked.

mod dimension;
mod place;
mod rules;
mod test;

use std::time::Duration;

use dimension::dimension;
use place::{conditions, values, waits};
use rules::Statuses;
pub(super) use rules::{
    At, Condition, Dimension, Field, Path, Pointer, Rule, Rules, Segment, Test, Told, Value, Wait,
};

use super::InvalidDialect;
use super::words::{self, Words};
use crate::signal::hint::go_duration;
use crate::signal::{Class, Scope};

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
    let nothing_names = words.scope.0.is_empty() && words.bucket.0.is_empty() && words.dimensions.is_empty();
    if words.of == Some(Scope::Bucket)
        && nothing_names
        && words.rules.iter().all(|rule| rule.scope.0.is_empty())
    {
        return Err(bucket_of_no_name("of"));
    }
    let mut rules = Vec::new();
    let mut dimensions = Vec::new();
    for (at, words) in words.rules.iter().enumerate() {
        let key = format!("rule[{at}]");
        let rule = rule(words, &key)?;
        asked(&rule, &rules, &key)?;
        if rule.of == Some(Scope::Bucket) && rule.scope.is_empty() && nothing_names {
            return Err(bucket_of_no_name(format!("{key}.of")));
        }
        rules.push(rule);
    }
    for (at, limit) in words.published.iter().enumerate() {
        duration(Some(&limit.window), &format!("published[{at}].window"))?;
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
        bucket: in_head(values(&words.bucket, "bucket")?, "bucket")?,
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
            ("delay", words.delay.is_some()),
            ("scope", !words.scope.0.is_empty()),
        ];
        if let Some((name, _)) = meaningless.iter().find(|(_, given)| *given) {
            return Err(InvalidDialect::new(
                format!("{key}.{name}"),
                "given",
                "has no meaning beside `limited = false`: leave one of them out",
            ));
        }
    }
    if words.needs_delay && words.default_delay.is_some() {
        return Err(InvalidDialect::new(
            format!("{key}.default-delay"),
            "given",
            "is never used beside `needs-delay = true`: leave one of them out",
        ));
    }
    if words.needs_delay && words.delay.as_ref().is_some_and(|delay| delay.0.is_empty()) {
        return Err(InvalidDialect::new(
            format!("{key}.delay"),
            "[]",
            "believes no delay, and `needs-delay = true` asks for one: leave one of them out",
        ));
    }
    if let (Some(class @ (Class::Exhausted | Class::Blocked)), Some(true)) = (words.class, words.retryable) {
        return Err(InvalidDialect::new(
            format!("{key}.retryable"),
            "true",
            format!("is never so of the class `{class}`: leave it out, or use `throttled`"),
        ));
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

fn bucket_of_no_name(key: impl Into<String>) -> InvalidDialect {
    InvalidDialect::new(
        key,
        "bucket",
        "is the bucket of no name: say where its name stands, by `scope` or `bucket`",
    )
}

/// Refuses places in the body, where the head alone is read.
fn in_head(values: Box<[Value]>, key: &str) -> Result<Box<[Value]>, InvalidDialect> {
    match values.iter().position(Value::in_body) {
        Some(at) => Err(InvalidDialect::new(
            format!("{key}[{at}]"),
            "a place in the body",
            "is never looked at: name a header; for what limits alone tell use `scope`",
        )),
        None => Ok(values),
    }
}

/// Refuses a rule that comes after those which take all its answers.
fn asked(rule: &Rule, before: &[Rule], key: &str) -> Result<(), InvalidDialect> {
    let takes_all = |other: &&Rule| other.when.is_empty() && other.exhausted.is_none() && !other.needs_delay;
    let taken = |status: &u16| before.iter().filter(takes_all).any(|other| other.statuses.contains(status));
    if rule.statuses.iter().all(taken) {
        let statuses: Vec<String> = rule.statuses.iter().map(u16::to_string).collect();
        return Err(InvalidDialect::new(
            format!("{key}.status"),
            statuses.join(", "),
            "is never asked, for a rule without conditions stands before it: put the one with conditions first",
        ));
    }
    Ok(())
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
