use std::error::Error;
use std::fmt;

/// A dialect that cannot be compiled: which key is wrong, what it holds, and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidDialect {
    /// The key, from the top: `rule[1].when[0].json`. Empty where the text is no TOML at all.
    pub key: String,
    /// What is there. Empty where the text is no TOML at all: then `allowed` has the line.
    pub value: String,
    /// What is wrong with it, and what is allowed.
    pub allowed: String,
}

impl InvalidDialect {
    pub(super) fn new(key: impl Into<String>, value: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self { key: key.into(), value: value.into(), allowed: allowed.into() }
    }
}

impl fmt::Display for InvalidDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.key.is_empty() {
            return write!(f, "dialect cannot be read: {}", self.allowed);
        }
        write!(f, "dialect key `{}` is `{}`: {}", self.key, self.value, self.allowed)
    }
}

impl Error for InvalidDialect {}
