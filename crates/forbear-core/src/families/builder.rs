use std::fmt;

use super::family::{Family, Unknown};
use super::registry::Families;
use crate::presets::Preset;

/// Collects families. See [`Families::builder`].
#[derive(Debug, Clone, Default)]
#[must_use = "call `build` to get the families"]
pub struct FamiliesBuilder {
    pub(super) families: Vec<Family>,
    pub(super) unknown: Unknown,
    pub(super) required: Vec<String>,
}

/// Families that cannot work together, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidFamilies {
    family: String,
    problem: String,
}

impl InvalidFamilies {
    pub(super) fn new(family: &str, problem: impl Into<String>) -> Self {
        Self { family: family.to_owned(), problem: problem.into() }
    }

    /// Something that is no family's.
    #[must_use]
    pub fn of_all(problem: impl Into<String>) -> Self {
        Self::new("", problem)
    }

    /// The family it was found at; empty where it is about a URL that has none.
    #[must_use]
    pub fn family(&self) -> &str {
        &self.family
    }
}

impl fmt::Display for InvalidFamilies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.family.is_empty() && !self.problem.starts_with("has ") {
            return f.write_str(&self.problem);
        }
        write!(f, "family {:?}: {}", self.family, self.problem)
    }
}

impl std::error::Error for InvalidFamilies {}

impl FamiliesBuilder {
    /// Adds a family.
    pub fn family(mut self, family: Family) -> Self {
        self.families.push(family);
        self
    }

    /// One more family: a [known vendor](crate::presets) under its own name, with its hosts and its dialect.
    pub fn preset(self, preset: Preset) -> Self {
        self.family(preset.family())
    }

    /// What happens to requests whose host no family has ([`Unknown::PerHost`]).
    pub fn unknown(mut self, unknown: Unknown) -> Self {
        self.unknown = unknown;
        self
    }

    /// A URL that the program calls, and that must belong to a registered family: checked by [`FamiliesBuilder::build`],
    /// and whenever a family is replaced or removed later. With [`Unknown::Refuse`] this finds at start-up what would
    /// be refused at run time.
    pub fn requires(mut self, url: impl Into<String>) -> Self {
        self.required.push(url.into());
        self
    }

    /// Checks everything, and makes the families.
    ///
    /// # Errors
    /// [`InvalidFamilies`] names the family, the value that is wrong and what is allowed: an empty or doubled name, a
    /// host that is none, a host, suffix or route of two families, a setting that cannot work, a required URL that no
    /// family has.
    pub fn build(self) -> Result<Families, InvalidFamilies> {
        Families::of(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::{GateSettings, Ladder};
    use std::time::Duration;

    fn problem(families: impl IntoIterator<Item = Family>) -> String {
        let builder = families.into_iter().fold(Families::builder(), FamiliesBuilder::family);
        builder.build().unwrap_err().to_string()
    }

    #[test]
    fn a_host_of_two_families_names_both() {
        let text =
            problem([Family::new("a").host("api.example.com"), Family::new("b").host("API.example.com.")]);
        assert!(
            text.contains("\"a\"") && text.contains("\"b\"") && text.contains("api.example.com"),
            "{text}"
        );
        let text =
            problem([Family::new("a").route("h.example", "/x"), Family::new("b").route("h.example", "/x")]);
        assert!(text.contains("\"a\"") && text.contains("\"b\"") && text.contains("/x"), "{text}");
        let text = problem([
            Family::new("a").route("h.example", "/x/{id}"),
            Family::new("b").route("h.example", "/x/{name}"),
        ]);
        assert_eq!(
            text,
            "family \"b\": route path \"/x/{name}\" matches what \"/x/{id}\" of family \"a\" matches; leave out one of the two"
        );
        let text = problem([
            Family::new("a").host_suffix("example.com"),
            Family::new("b").host_suffix(".Example.com"),
        ]);
        assert!(text.contains("\"a\"") && text.contains("host suffix \"example.com\""), "{text}");
    }

    #[test]
    fn a_required_url_has_a_family() {
        let families = || Families::builder().family(Family::new("a").route("a.example", "/v1/{*rest}"));
        assert!(families().requires("https://a.example/v1/x").build().is_ok());
        let text = |url: &str| families().requires(url).build().unwrap_err().to_string();
        assert_eq!(
            text("https://u:p@a.example/v2?key=S"),
            "required URL https://a.example/v2 belongs to no family; give its host to one"
        );
        assert!(text("/v1/x").contains("has no host"));
        assert!(text("https://a b").contains("is not a URL"));
    }

    #[test]
    fn what_cannot_work_is_said() {
        assert!(problem([Family::new("")]).contains("no name"));
        assert!(problem([Family::new(" ")]).contains("no name"));
        assert!(problem([Family::new("automatic")]).contains("metrics"));
        assert!(problem([Family::new("a"), Family::new("a")]).contains("twice"));
        let twice = problem([Family::new("a").host("x.example").host("X.example")]);
        assert!(twice.contains("names host \"x.example\" twice"), "{twice}");
        let host =
            |last: usize| [&"a".repeat(63); 3].map(|label| format!("{label}.")).concat() + &"b".repeat(last);
        assert!(Families::builder().family(Family::new("a").host(host(63))).build().is_ok());
        assert!(problem([Family::new("a").host(host(64))]).contains("longer than a host can be"));
        assert!(problem([Family::new("a").host("https://x.example")]).contains("scheme"));
        assert!(problem([Family::new("a").host("x.example/v1")]).contains("path"));
        assert!(problem([Family::new("a").host("x.example:http")]).contains("host \"x.example:http\""));
        assert!(problem([Family::new("a").host("*.x.example")]).contains("Family::host_suffix"));
        assert!(problem([Family::new("a").partition_by_header("a b")]).contains("partition header"));
        assert!(problem([Family::new("a").host_suffix("10.0.0.1")]).contains("an address"));
        assert!(problem([Family::new("a").host_suffix("[::1]")]).contains("an address"));
        assert!(problem([Family::new("a").host_suffix("")]).contains("not a host"));
        assert!(problem([Family::new("a").host("u:p@x.example")]).contains("userinfo"));
        assert!(problem([Family::new("a").host("x y")]).contains("not a host"));
        assert!(problem([Family::new("a").route("x.example", "v1")]).contains("must begin with '/'"));
        assert!(problem([Family::new("a").route("x.example", "/{")]).contains("/{"));
        for path in ["/v1?key=1", "/v1#top", "/v 1", "/v1\n"] {
            assert!(
                problem([Family::new("a").route("x.example", path)]).contains("is more than a path"),
                "{path}"
            );
        }
        for name in [" a", "a ", "a\u{202e}b", "a\u{2028}b", "\u{200b}"] {
            assert!(problem([Family::new(name)]).contains("what cannot be seen"), "{name:?}");
        }
        for host in ["a..example", ".a.example", "a.example..", "a..example:8443"] {
            assert!(problem([Family::new("a").host(host)]).contains("between two dots"), "{host}");
        }
        let long = format!("{}.example", "a.".repeat(130));
        assert!(problem([Family::new("a").host(&long)]).contains("longer than a host"), "{long}");
        let suffix = problem([Family::new("a").host_suffix("*.x.example:80")]);
        assert!(suffix.contains("host suffix \"*.x.example:80\" has a default port"), "{suffix}");
        assert!(problem([Family::new("a").route("x.example", "/v1/:id")]).contains("/v1/{id}"));
        assert!(problem([Family::new("a").route("x.example", "/v1?x=1")]).contains("leave it out"));
        let google = Family::new("a").route("x.example", "/v1/{name}/x:cancel");
        assert!(Families::builder().family(google).build().is_ok());
        assert!(problem([Family::new("a").route("x.example", "/v1/*")]).contains("/v1/{*rest}"));
        let settings = GateSettings::registered().attempt_timeout(Duration::ZERO);
        assert!(problem([Family::new("a").gate(settings)]).contains("attempt_timeout"));
        assert!(problem([Family::new("a").throttled_ladder(Ladder::new([]))]).contains("throttled_ladder"));
    }
}
