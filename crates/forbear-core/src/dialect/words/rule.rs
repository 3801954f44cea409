use serde::Deserialize;

use super::list::List;
use super::place::Place;
use crate::signal::{Class, Scope};

/// What one kind of answer means. The first rule of a dialect whose statuses and conditions all hold decides.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rule {
    pub(crate) status: List<u16>,
    #[serde(default)]
    pub(crate) when: List<Place>,
    pub(crate) exhausted: Option<bool>,
    #[serde(default = "yes")]
    pub(crate) limited: bool,
    #[serde(default)]
    pub(crate) needs_delay: bool,
    pub(crate) class: Option<Class>,
    #[serde(default)]
    pub(crate) reason: List<Place>,
    #[serde(default)]
    pub(crate) scope: List<Place>,
    pub(crate) of: Option<Scope>,
    pub(crate) retryable: Option<bool>,
    pub(crate) not_executed: Option<bool>,
    pub(crate) delay: Option<List<Place>>,
    pub(crate) default_delay: Option<String>,
}

fn yes() -> bool {
    true
}

impl Rule {
    /// A rule for answers with one of these statuses: a limit, and `Throttled`, unless the rule says otherwise.
    #[must_use]
    pub fn on(statuses: impl IntoIterator<Item = u16>) -> Self {
        Self {
            status: List(statuses.into_iter().collect()),
            when: List::default(),
            exhausted: None,
            limited: true,
            needs_delay: false,
            class: None,
            reason: List::default(),
            scope: List::default(),
            of: None,
            retryable: None,
            not_executed: None,
            delay: None,
            default_delay: None,
        }
    }

    /// One more condition; all must hold.
    #[must_use]
    pub fn when(mut self, condition: Place) -> Self {
        self.when.0.push(condition);
        self
    }

    /// It holds only where some dimension is exhausted, or where none is.
    #[must_use]
    pub fn exhausted(mut self, exhausted: bool) -> Self {
        self.exhausted = Some(exhausted);
        self
    }

    /// Such an answer is no limit, whatever its status.
    #[must_use]
    pub fn no_limit(mut self) -> Self {
        self.limited = false;
        self
    }

    /// Such an answer is a limit only where a delay can be read.
    #[must_use]
    pub fn needs_delay(mut self) -> Self {
        self.needs_delay = true;
        self
    }

    /// The class (`Throttled`).
    #[must_use]
    pub fn class(mut self, class: Class) -> Self {
        self.class = Some(class);
        self
    }

    /// One more place where the reason may stand; the first that has one counts.
    #[must_use]
    pub fn reason(mut self, place: impl Into<Place>) -> Self {
        self.reason.0.push(place.into());
        self
    }

    /// One more place where the name of what is limited may stand; the first that has one counts.
    #[must_use]
    pub fn scope(mut self, place: impl Into<Place>) -> Self {
        self.scope.0.push(place.into());
        self
    }

    /// How much of the family is limited.
    #[must_use]
    pub fn of(mut self, scope: Scope) -> Self {
        self.of = Some(scope);
        self
    }

    /// Whether the request may be sent again (by class).
    #[must_use]
    pub fn retryable(mut self, retryable: bool) -> Self {
        self.retryable = Some(retryable);
        self
    }

    /// Whether the request was not carried out, so that any method may be sent again (on 429 it was not).
    #[must_use]
    pub fn not_executed(mut self, not_executed: bool) -> Self {
        self.not_executed = Some(not_executed);
        self
    }

    /// One more place where the delay may stand, instead of the dialect's; the first above zero counts.
    #[must_use]
    pub fn delay(mut self, place: impl Into<Place>) -> Self {
        self.delay.get_or_insert_default().0.push(place.into());
        self
    }

    /// No delay that such an answer carries is believed.
    #[must_use]
    pub fn no_delay(mut self) -> Self {
        self.delay = Some(List::default());
        self
    }

    /// The delay that the vendor documents for an answer without one: `30s`.
    #[must_use]
    pub fn default_delay(mut self, duration: impl Into<String>) -> Self {
        self.default_delay = Some(duration.into());
        self
    }
}
