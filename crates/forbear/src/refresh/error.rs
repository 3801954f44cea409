use std::fmt;

use forbear_core::store::StoreError;
use forbear_core::work::InvalidName;

/// Why a demand, an invalidation or a retry was not taken.
#[derive(Debug)]
#[non_exhaustive]
pub enum NotTaken {
    /// No source has this name. Nothing changed.
    UnknownSource(Box<str>),
    /// A key or a demand reason cannot be one. Nothing changed.
    Name(InvalidName),
    /// The store has no room for so many of the keys; the others are demanded.
    NoRoom(usize),
    /// The store did not do it. Asking again does no harm.
    Store(StoreError),
}

impl fmt::Display for NotTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownSource(name) => {
                write!(f, "no source is called {name:?}; add it to the builder, or correct the name")
            }
            Self::Name(name) => name.fmt(f),
            Self::NoRoom(keys) => {
                write!(f, "the store has no room for {keys} keys; give it more, or demand less")
            }
            Self::Store(_) => f.write_str("the store did not take it, see its source; ask again"),
        }
    }
}

impl std::error::Error for NotTaken {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Store(error) => Some(error),
            _ => None,
        }
    }
}

impl From<StoreError> for NotTaken {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<InvalidName> for NotTaken {
    fn from(name: InvalidName) -> Self {
        Self::Name(name)
    }
}
