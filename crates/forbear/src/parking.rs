//! Who is told that a request waits, for its vendor or for its turn, and is not on its way.

use std::fmt;
use std::sync::Arc;

use http::Extensions;

/// Is told.
pub(crate) trait Parks: Send + Sync {
    /// One copy of the request began to wait, or ended that.
    fn parked(&self, is: bool);
}

/// Request extension: who wants to know.
#[derive(Clone)]
pub(crate) struct Parking(pub(crate) Arc<dyn Parks>);

/// A request that waits. Dropped, it does so no longer.
pub(crate) struct Standing(Arc<dyn Parks>);

impl Standing {
    /// The wait of a request with these extensions; `None` where nobody wants to know.
    pub(crate) fn begin(extensions: &Extensions) -> Option<Self> {
        let Parking(who) = extensions.get()?;
        who.parked(true);
        Some(Self(Arc::clone(who)))
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        self.0.parked(false);
    }
}

impl fmt::Debug for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Standing")
    }
}
