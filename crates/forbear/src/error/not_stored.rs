use std::fmt;
use std::sync::Arc;

/// Nothing is stored for a request that is answered from what is stored alone; it was demanded of a refresh.
#[derive(Clone, PartialEq, Eq)]
pub struct NotStored(Arc<Of>);

#[derive(PartialEq, Eq)]
struct Of {
    family: Arc<str>,
    source: Box<str>,
}

impl NotStored {
    #[cfg(all(feature = "stale", feature = "refresh"))]
    pub(crate) fn new(family: Arc<str>, source: &str) -> Self {
        Self(Arc::new(Of { family, source: source.into() }))
    }

    /// The family whose answer it would be.
    #[must_use]
    pub fn family(&self) -> &str {
        &self.0.family
    }

    /// The source of the refresh that was asked to fetch it.
    #[must_use]
    pub fn demanded_of(&self) -> &str {
        &self.0.source
    }
}

impl fmt::Display for NotStored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (family, source) = (self.family(), self.demanded_of());
        write!(
            f,
            "nothing of {family:?} is stored for this yet, and {source:?} was asked for it; come back later"
        )
    }
}

impl fmt::Debug for NotStored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (family, source) = (self.family(), self.demanded_of());
        f.debug_struct("NotStored").field("family", &family).field("demanded_of", &source).finish()
    }
}
