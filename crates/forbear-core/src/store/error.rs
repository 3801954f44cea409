use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// A store that did not do what it was asked for. Nothing was changed, unless [`StoreError::fault`] is
/// [`TimedOut`](StoreFault::TimedOut) or [`Unavailable`](StoreFault::Unavailable): then nobody knows.
#[derive(Debug, Clone)]
pub struct StoreError {
    fault: StoreFault,
    doing: &'static str,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

/// What is wrong with a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreFault {
    /// It cannot be reached, or its file cannot be read or written.
    Unavailable,
    /// It did not answer in time.
    TimedOut,
    /// It holds what it cannot have written.
    Corrupt,
    /// It has no room.
    Full,
    /// It was closed.
    Closed,
    /// What it held is gone, and it begins anew: who knows more is to tell it again.
    Lost,
    /// There is none.
    Missing,
}

impl StoreFault {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Unavailable,
        Self::TimedOut,
        Self::Corrupt,
        Self::Full,
        Self::Closed,
        Self::Lost,
        Self::Missing,
    ];

    /// The same as a word, for metrics and health: `unavailable`, `timed-out`, `corrupt`, `full`, `closed`, `lost`,
    /// `missing`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unavailable => "unavailable",
            Self::TimedOut => "timed-out",
            Self::Corrupt => "corrupt",
            Self::Full => "full",
            Self::Closed => "closed",
            Self::Lost => "lost",
            Self::Missing => "missing",
        }
    }
}

impl StoreError {
    /// `doing` says what was asked for, such as `claim refresh work`.
    #[must_use]
    pub fn new(fault: StoreFault, doing: &'static str) -> Self {
        Self { fault, doing, source: None }
    }

    /// The same, with what caused it.
    #[must_use]
    pub fn because(self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { source: Some(Arc::from(source.into())), ..self }
    }

    /// What an operator is told in a few words: what lies below it, where that is known, else what is wrong.
    #[must_use]
    pub fn cause(&self) -> String {
        self.source.as_ref().map_or_else(|| self.fault.as_str().to_owned(), ToString::to_string)
    }

    /// What is wrong.
    #[must_use]
    pub fn fault(&self) -> StoreFault {
        self.fault
    }
}

impl fmt::Display for StoreFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.fault {
            StoreFault::Unavailable => "the store cannot be reached",
            StoreFault::TimedOut => "the store did not answer in time",
            StoreFault::Corrupt => "the store holds what cannot be read",
            StoreFault::Full => "the store has no room; give it more, or demand less",
            StoreFault::Closed => "the store is closed",
            StoreFault::Lost => "the store lost what it held, and begins anew",
            StoreFault::Missing => "there is no store; give one to the builder",
        };
        write!(f, "could not {}: {why}", self.doing)
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
