use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::signal::is_shown;

/// A name that cannot be used: it says which, and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidName {
    what: &'static str,
    value: Box<str>,
    most: usize,
}

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, value, most } = self;
        write!(
            f,
            "{what} {value:?} is not allowed; use 1 to {most} bytes without control or invisible characters"
        )
    }
}

impl std::error::Error for InvalidName {}

/// `name` where it is one; what is shown of one that is not is cut.
fn check(what: &'static str, name: &str, most: usize) -> Result<Arc<str>, InvalidName> {
    if (1..=most).contains(&name.len()) && name.chars().all(is_shown) {
        return Ok(name.into());
    }
    let value = name.chars().take(40).collect::<String>().into();
    Err(InvalidName { what, value, most })
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal, $most:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The most bytes it has.
            pub const MOST: usize = $most;

            /// Takes a name.
            ///
            /// # Errors
            /// [`InvalidName`] where it is empty, too long, or holds what cannot be seen.
            pub fn new(name: impl AsRef<str>) -> Result<Self, InvalidName> {
                check($what, name.as_ref(), Self::MOST).map(Self)
            }

            /// The name.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }
    };
}

name! {
    /// Names a source of refresh work, such as `yahoo.quote`: 1 to 64 bytes.
    SourceName, "source", 64
}
name! {
    /// Names what a source refreshes, such as `AAPL`: 1 to 512 bytes. It is stored and shown as it is, so no secret
    /// belongs in it.
    Key, "key", 512
}
name! {
    /// Names who wants a key, such as `watchlist`: 1 to 64 bytes.
    DemandReason, "demand reason", 64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_cannot_be_used_says_what_is_allowed() {
        assert_eq!(Key::new("AAPL").unwrap().as_str(), "AAPL");
        assert!(Key::new("k".repeat(512)).is_ok());
        for name in ["", "a\nb", "\u{202e}x", &"k".repeat(513)] {
            let shown = Key::new(name).unwrap_err().to_string();
            assert!(shown.starts_with("key ") && shown.contains("1 to 512 bytes"), "{shown}");
            assert!(shown.len() < 200, "{shown}");
        }
        assert!(SourceName::new("s".repeat(65)).is_err());
    }
}
