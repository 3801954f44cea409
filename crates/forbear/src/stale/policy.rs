//! Whose answers are asked for, and what holds for them.

use std::sync::Arc;

use forbear_core::families::{FamilyName, Found, Snapshot};
use forbear_core::stale::{Because, StaleCounts, StalePolicy};
use http::request::Parts;

use super::directives::Directives;
use super::shared::Shared;
use crate::{Error, host};

/// By which rules it is decided what is stored.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Caching {
    /// As a cache of many users.
    pub(super) shared: bool,
    /// Whether what is marked `no-store` is stored.
    pub(super) no_store: bool,
}

impl Caching {
    /// Whether an answer that says this is stored against its vendor's word.
    pub(super) fn goes_against(self, said: Directives) -> bool {
        said.no_store && self.no_store
    }
}

/// What holds for the answers of a family, and where they are counted.
#[derive(Debug, Clone)]
pub(super) struct Whose {
    /// The family's name; `None` where it has none, or nobody told of families.
    pub(super) name: Option<Arc<str>>,
    pub(super) policy: Arc<StalePolicy>,
    pub(super) counts: Arc<StaleCounts>,
}

/// The same, borrowed: what is served from memory needs no more.
#[derive(Debug, Clone, Copy)]
pub(super) struct WhoseRef<'a> {
    name: Option<&'a Arc<str>>,
    pub(super) policy: &'a Arc<StalePolicy>,
    pub(super) counts: &'a Arc<StaleCounts>,
}

impl<'a> WhoseRef<'a> {
    /// Of a request, by the families that the layer was told of.
    #[inline]
    pub(super) fn of(families: Option<&'a mut Snapshot>, shared: &'a Shared, head: &Parts) -> Self {
        let Some(families) = families else {
            return Self { name: None, policy: &shared.policy, counts: &shared.counts };
        };
        families.refresh();
        let name = head.extensions.get::<FamilyName>();
        match families.find(&head.uri, host::of(&head.uri, &head.headers), name) {
            Found::Member(member) => Self {
                name: Some(member.gate.name()),
                policy: member.stale.as_ref().unwrap_or(&shared.policy),
                counts: member.gate.stale().unwrap_or(&shared.counts),
            },
            _ => Self { name: None, policy: &shared.policy, counts: families.stale_of_others() },
        }
    }

    pub(super) fn owned(self) -> Whose {
        Whose { name: self.name.cloned(), policy: Arc::clone(self.policy), counts: Arc::clone(self.counts) }
    }
}

/// Why there is no new answer where this is what there is instead.
pub(super) fn because_of(error: &Error) -> Because {
    match error {
        Error::Cooling(_) => Because::Cooling,
        Error::Pacing(_) => Because::Paced,
        Error::BudgetExhausted(_) => Because::BudgetExhausted,
        _ => Because::Faulted,
    }
}
