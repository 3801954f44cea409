use std::time::Duration;

use crate::dialect::words::Words;
use crate::dialect::{Dialect, InvalidDialect};
use crate::families::Family;
use crate::pacing::Pacing;
use crate::signal::hint::go_duration;

/// A known vendor.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    compiled: &'static Compiled,
}

#[derive(Debug)]
pub(super) struct Compiled {
    name: &'static str,
    text: &'static str,
    words: Words,
    dialect: Dialect,
}

/// A limit that a vendor publishes: at most `requests` in any `window`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PublishedLimit {
    /// What it is counted for: `token`, `ip`.
    pub per: String,
    /// How many.
    pub requests: u32,
    /// In which time.
    pub window: Duration,
    /// Where that stands, and when it was read.
    pub source: String,
    /// Whether it was read there. One that was not is never applied by itself.
    pub verified: bool,
}

impl Compiled {
    /// A file that cannot be compiled, which a test rules out, leaves the standard dialect and no hosts.
    pub(super) fn of(name: &'static str, text: &'static str) -> Self {
        Self::compile(name, text).unwrap_or_else(|_| Self {
            name,
            text,
            words: Dialect::builder(name),
            dialect: Dialect::standard(),
        })
    }

    fn compile(name: &'static str, text: &'static str) -> Result<Self, InvalidDialect> {
        let words = Words::from_toml(text)?;
        let dialect = words.build()?;
        Ok(Self { name, text, words, dialect })
    }
}

impl Preset {
    pub(super) fn of(compiled: &'static Compiled) -> Self {
        Self { compiled }
    }

    /// The vendor's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.compiled.name
    }

    /// How it phrases signals.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.compiled.dialect.clone()
    }

    /// The same, looking into streams of server-sent events as well: at the first event of each, which is waited for as any
    /// [look at a body](Dialect) is.
    #[must_use]
    pub fn event_streams(&self) -> Dialect {
        self.compiled.words.clone().event_streams().build().unwrap_or_else(|_| self.dialect())
    }

    /// Its hosts. None where they are the user's own, as a proxy's or a shop's are.
    pub fn hosts(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.compiled.words.hosts.0.iter().map(String::as_str)
    }

    /// The domains under which its hosts lie.
    pub fn host_suffixes(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.compiled.words.host_suffixes.0.iter().map(String::as_str)
    }

    /// Where all that was read.
    pub fn sources(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.compiled.words.source.0.iter().map(String::as_str)
    }

    /// The limits that it publishes.
    #[must_use]
    pub fn published(&self) -> Vec<PublishedLimit> {
        let limits = self.compiled.words.published.iter();
        limits
            .filter_map(|limit| {
                Some(PublishedLimit {
                    per: limit.per.clone(),
                    requests: limit.requests,
                    window: go_duration(limit.window.as_bytes())?,
                    source: limit.source.clone(),
                    verified: limit.verified,
                })
            })
            .collect()
    }

    /// The limits that it publishes and that were [verified](PublishedLimit::verified), as pacing; `None` where there are
    /// none. They hold for the whole family, whatever each is counted for: safe where one credential is used, slower than need
    /// be where there are several. Then [`Pacing::per_partition`] is for those. A vendor that counts weights or tokens needs each
    /// attempt's [cost](crate::pacing::Entry::cost).
    #[must_use]
    pub fn pacing(&self) -> Option<Pacing> {
        let limits = self.published().into_iter().filter(|limit| limit.verified);
        limits.fold(None, |pacing, limit| {
            Some(pacing.unwrap_or_default().at_most(limit.requests, limit.window))
        })
    }

    /// The family, paced by the vendor's [verified limits](Self::pacing) where it has any. Not done by itself: what a vendor
    /// publishes may be for another plan than yours.
    #[must_use]
    pub fn paced(&self) -> Family {
        match self.pacing() {
            Some(pacing) => self.family().pacing(pacing),
            None => self.family(),
        }
    }

    /// The file, to copy and change.
    #[must_use]
    pub fn toml(&self) -> &'static str {
        self.compiled.text
    }

    /// A family of the vendor's name with its hosts and its dialect.
    #[must_use]
    pub fn family(&self) -> Family {
        let family = self.hosts().fold(Family::new(self.name()), Family::host);
        self.host_suffixes().fold(family, Family::host_suffix).dialect(self.dialect())
    }
}

impl From<Preset> for Family {
    fn from(preset: Preset) -> Self {
        preset.family()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{NAMES, all};
    use super::*;

    #[test]
    fn every_file_compiles_under_its_own_name() {
        for preset in all() {
            let compiled = Compiled::compile(preset.name(), preset.toml());
            assert_eq!(compiled.map(|compiled| compiled.words.name), Ok(preset.name().to_owned()));
            assert_eq!(preset.dialect().name(), preset.name());
            assert_eq!(preset.published().len(), preset.compiled.words.published.len(), "{}", preset.name());
        }
        assert!(NAMES.is_sorted());
    }

    #[test]
    fn a_preset_says_whose_it_is_and_where_that_was_read() {
        let (mut hosts, mut suffixes) = (0, 0);
        for preset in all() {
            let written = |values: Vec<&str>| {
                let is_written = |value: &&str| preset.toml().contains(&format!("\"{value}\""));
                assert!(values.iter().all(is_written), "{}: {values:?}", preset.name());
                values.len()
            };
            hosts += written(preset.hosts().collect());
            suffixes += written(preset.host_suffixes().collect());
            assert_ne!(written(preset.sources().collect()), 0, "{}", preset.name());
        }
        assert!(hosts > 20 && suffixes > 3, "{hosts} {suffixes}");
    }
}
