use std::sync::Arc;
use std::time::Duration;

use forbear_core::gate::{Event, Gate, Operator};
use forbear_core::time::Monotonic;

use super::Families;
use crate::error::UnknownFamily;
use crate::{clock, events};

/// An operator's hands. `family` is the name of a registered family, or the host of an automatic one that has state.
/// Each act is kept in health with who and why, and is one INFO event.
impl Families {
    /// Closes a family for `duration`, as its vendor's signal would: callers wait or are refused, a probe and a recovery
    /// follow. A cool-down that runs longer goes on to its own deadline.
    ///
    /// ```
    /// # use std::time::Duration;
    /// use forbear::{Families, Family, Operator};
    ///
    /// let families = Families::builder().family(Family::new("search").host("search.example")).build()?;
    /// families.cool("search", Duration::from_secs(90), Operator::new("alice", "vendor asked by mail"))?;
    /// assert_eq!(families.health().to_string(), "search  cooling 1m30s  by alice: vendor asked by mail");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`UnknownFamily`] where no family has this name.
    pub fn cool(&self, family: &str, duration: Duration, by: Operator) -> Result<(), UnknownFamily> {
        self.act(family, |gate, now| gate.cool(duration, by, now))
    }

    /// Forgets everything that is held against a family: level, cool-down and learned pace. It is called again at once, at a
    /// pace that doubles until it is asked for no more; answers to what was sent before change nothing. Recorded deadlines
    /// of URLs are forgotten too, of all families. A pause goes on.
    ///
    /// # Errors
    /// [`UnknownFamily`] where no family has this name.
    pub fn clear(&self, family: &str, by: Operator) -> Result<(), UnknownFamily> {
        self.act(family, |gate, now| gate.clear(by, now))
    }

    /// Refuses every call to a family until [`Families::resume`]. Callers that wait are refused too; nobody waits a pause
    /// out.
    ///
    /// # Errors
    /// [`UnknownFamily`] where no family has this name.
    pub fn pause(&self, family: &str, by: Operator) -> Result<(), UnknownFamily> {
        self.act(family, |gate, now| gate.pause(by, now))
    }

    /// Ends a pause. A cool-down that began before goes on to its own deadline.
    ///
    /// # Errors
    /// [`UnknownFamily`] where no family has this name.
    pub fn resume(&self, family: &str, by: Operator) -> Result<(), UnknownFamily> {
        self.act(family, |gate, now| gate.resume(by, now))
    }

    /// Shadow mode: from now on everything is sent at once, and limited answers come back without a wait, while health,
    /// events and listeners tell what would have been: to try a policy on live traffic before it holds. An attempt that
    /// would have been refused changes nothing, and its answer carries no [`Signal`](crate::Signal). Budgets are not touched. `false` ends it.
    ///
    /// Callers that wait already when it begins go on waiting, and deadlines of URLs that were recorded before still hold.
    pub fn shadow(&self, on: bool) {
        self.0.shadow(on);
    }

    fn act(
        &self,
        family: &str,
        act: impl FnOnce(&Arc<Gate>, Monotonic) -> Vec<Event>,
    ) -> Result<(), UnknownFamily> {
        let member = self.0.any(family).ok_or_else(|| UnknownFamily::of_name(family))?;
        let events = act(&member.gate, clock::now());
        events::emit(&member.gate, &events);
        Ok(())
    }
}
