use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use forbear_core::budget::Budget as Limits;
use forbear_core::families::Member;
use forbear_core::gate::Priority;
use forbear_core::pacing::Caller;
use forbear_core::partition::Partition;
use forbear_core::signal::Reason;
use forbear_core::time::Monotonic;

use super::{Run, Verdict};
use crate::error::UnknownFamily;
use crate::{Budget, Families, clock};

/// The way into a family for what is not HTTP. See the [module](super). Clones, and what was set on them, are
/// independent; they share nothing but the family.
///
/// It knows its family by name, and looks it up for each run: one that was replaced goes on with its new settings, one
/// that was removed ends in [`UnknownFamily`], one that was registered again begins anew. That of an automatic family
/// follows its host: into the family that it was given to, or into a new automatic one where it was dropped because nobody
/// called.
#[derive(Debug, Clone)]
#[must_use = "nothing goes through a gate until it is `run`"]
pub struct FamilyGate {
    pub(super) families: Families,
    name: Arc<str>,
    automatic: bool,
    total: Option<Duration>,
    carried: Limits,
    grace: Duration,
    pub(super) no_wait: bool,
    pub(super) priority: Priority,
    pub(super) partition: Option<Partition>,
    pub(super) cost: u32,
    pub(super) caller: Option<Caller>,
    pub(super) no_queue: bool,
    /// Kept like a reason: a short code, without control characters.
    route: Option<Reason>,
}

impl Families {
    /// The way into a family for what is not HTTP: a command, a vendor's SDK, a WebSocket. `family` is the name of a
    /// registered family, or the host of an automatic one that has state. See [`run`](crate::run).
    ///
    /// # Errors
    /// [`UnknownFamily`] where no family has this name.
    pub fn gate(&self, family: &str) -> Result<FamilyGate, UnknownFamily> {
        let member = self.0.any(family).ok_or_else(|| UnknownFamily::of_name(family))?;
        Ok(FamilyGate {
            families: self.clone(),
            name: Arc::clone(member.gate.name()),
            automatic: member.automatic,
            total: None,
            carried: Limits::UNLIMITED,
            grace: Duration::ZERO,
            no_wait: false,
            priority: Priority::default(),
            partition: None,
            cost: 1,
            caller: None,
            no_queue: false,
            route: None,
        })
    }
}

impl FamilyGate {
    /// The total time of each run, its waits included, counted from the call of [`FamilyGate::run`] (none: then it waits
    /// at most 60 s, and runs for as long as it takes). Budgets around it hold besides: the earliest deadline wins.
    pub fn budget(self, total: Duration) -> Self {
        Self { total: Some(total), ..self }
    }

    /// A deadline that holds besides. For a task that was spawned, and so is outside of the budget it was spawned in.
    pub fn within(self, budget: Budget) -> Self {
        Self { carried: self.carried.and(budget.0), ..self }
    }

    /// How much longer what runs at the deadline may take (0 s). Nothing begins in that time.
    pub fn grace(self, grace: Duration) -> Self {
        Self { grace, ..self }
    }

    /// Never waits for a cool-down: a run that is refused for one ends in [`Cooling`](crate::Cooling) at once.
    pub fn no_wait(self) -> Self {
        Self { no_wait: true, ..self }
    }

    /// Who goes first where not everybody can ([`Priority::Interactive`]).
    pub fn priority(self, priority: Priority) -> Self {
        Self { priority, ..self }
    }

    /// Whose limit it counts against, where that of its family is per credential.
    pub fn partition(self, partition: Partition) -> Self {
        Self { partition: Some(partition), ..self }
    }

    /// What a run costs, in the unit that its family's [`Pacing`](crate::Pacing) counts (1).
    pub fn cost(self, cost: u32) -> Self {
        Self { cost, ..self }
    }

    /// Who asks: callers that name themselves take turns where runs and attempts are queued to be paced.
    pub fn caller(self, caller: Caller) -> Self {
        Self { caller: Some(caller), ..self }
    }

    /// Never queued to be paced: a run that would have to wait for its turn ends in
    /// [`PacingRefused`](crate::PacingRefused) at once.
    pub fn no_queue(self) -> Self {
        Self { no_queue: true, ..self }
    }

    /// A name for what is called, shown in health, events and refusals where HTTP has its path: without control
    /// characters, cut at 64 bytes. No arguments and no secrets belong in it.
    pub fn route(self, name: &str) -> Self {
        Self { route: Reason::cleaned(name), ..self }
    }

    /// Calls `run` once the family may be called, polls its future to the end, and tells the family what `classify` says
    /// of the output. Both are called at most once.
    ///
    /// The output is always returned as it is, limited or not.
    ///
    /// # Errors
    /// [`Error::Cooling`](crate::Error::Cooling), [`Error::Pacing`](crate::Error::Pacing) and
    /// [`Error::UnknownFamily`](crate::Error::UnknownFamily): `run` was not called. [`Error::BudgetExhausted`](crate::Error::BudgetExhausted): nor was it, or its future was dropped at the
    /// deadline; `attempts()` tells which. Never [`Error::Client`](crate::Error::Client).
    pub fn run<M, F, C>(&self, run: M, classify: C) -> Run<M, F, C>
    where
        M: FnOnce() -> F,
        F: Future,
        C: FnOnce(&F::Output) -> Verdict,
    {
        let now = clock::now();
        let own = Limits::new(self.total.map(|total| now.after(total)), None);
        Run::new(self.clone(), (run, classify), own.and(self.carried), self.grace, now)
    }

    /// The family as it is now.
    pub(super) fn member(&self, now: Monotonic) -> Result<Arc<Member>, UnknownFamily> {
        let families = &self.families.0;
        let of_host = || families.id().member_for(&self.name.parse().ok()?, now);
        let found = families.any(&self.name).or_else(|| if self.automatic { of_host() } else { None });
        found.ok_or_else(|| UnknownFamily::of_name(&*self.name))
    }

    pub(super) fn named(&self) -> &str {
        self.route.as_ref().map_or("", Reason::as_str)
    }
}
