use std::error::Error;
use std::fmt;

use super::NAMES;
use crate::dialect::STANDARD;

/// There is no preset of this name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownVendor {
    /// The name that was asked for.
    pub name: String,
    /// The known name that is nearest to it.
    pub nearest: &'static str,
}

impl UnknownVendor {
    pub(super) fn new(name: &str) -> Self {
        // Longer than any name there is, and the comparison takes the product of the lengths.
        let wanted: String = name.trim().to_ascii_lowercase().chars().take(64).collect();
        let known = NAMES.iter().copied().chain([STANDARD]);
        let nearest = known.min_by_key(|known| {
            let part = known.contains(&*wanted) || wanted.contains(known);
            // A part of a name is nearer than any misspelling.
            (
                if part && !wanted.is_empty() {
                    0
                } else {
                    strsim::damerau_levenshtein(&wanted, known).saturating_add(1)
                },
                known.len(),
            )
        });
        Self { name: name.to_owned(), nearest: nearest.unwrap_or(STANDARD) }
    }
}

impl fmt::Display for UnknownVendor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no vendor is called `{}`: did you mean `{}`?", self.name.escape_debug(), self.nearest)
    }
}

impl Error for UnknownVendor {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_named() {
        for (name, nearest) in [
            ("githb", "github"),
            ("generic", "generic-http"),
            ("GitHub", "github"),
            ("dynamodb", "aws-dynamodb"),
            ("s3", "aws-s3"),
            (" S3\n", "aws-s3"),
            ("gitalb", "gitlab"),
        ] {
            assert_eq!(UnknownVendor::new(name).nearest, nearest, "{name}");
        }
        assert_eq!(
            UnknownVendor::new("git\nhb").to_string(),
            r"no vendor is called `git\nhb`: did you mean `github`?"
        );
    }
}
