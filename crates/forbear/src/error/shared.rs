use std::fmt;
use std::sync::Arc;

use super::{BudgetExhausted, Cooling, Error, NotStored, PacingRefused, UnknownFamily};

/// An error that several callers are told, since they waited for the same attempt.
#[derive(Debug, Clone)]
pub(crate) enum SharedFault {
    Cooling(Cooling),
    Pacing(PacingRefused),
    BudgetExhausted(BudgetExhausted),
    UnknownFamily(UnknownFamily),
    NotStored(NotStored),
    Client(ClientFault),
}

/// What a client said, for more than one to hold.
#[derive(Clone)]
pub(crate) struct ClientFault(Arc<dyn std::error::Error + Send + Sync>);

impl Error {
    /// This error for several callers.
    pub(crate) fn share(self) -> SharedFault {
        match self {
            Self::Cooling(cooling) => SharedFault::Cooling(cooling),
            Self::Pacing(refused) => SharedFault::Pacing(refused),
            Self::BudgetExhausted(exhausted) => SharedFault::BudgetExhausted(exhausted),
            Self::UnknownFamily(unknown) => SharedFault::UnknownFamily(unknown),
            Self::NotStored(missing) => SharedFault::NotStored(missing),
            Self::Client(error) => SharedFault::Client(ClientFault(error.into())),
        }
    }
}

impl SharedFault {
    /// The error of one of them.
    pub(crate) fn of_one(self) -> Error {
        match self {
            Self::Cooling(cooling) => Error::Cooling(cooling),
            Self::Pacing(refused) => Error::Pacing(refused),
            Self::BudgetExhausted(exhausted) => Error::BudgetExhausted(exhausted),
            Self::UnknownFamily(unknown) => Error::UnknownFamily(unknown),
            Self::NotStored(missing) => Error::NotStored(missing),
            Self::Client(fault) => Error::Client(Box::new(fault)),
        }
    }
}

impl fmt::Display for ClientFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for ClientFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The client's own error is its source, so that it is found there by its type.
impl std::error::Error for ClientFault {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.0)
    }
}
