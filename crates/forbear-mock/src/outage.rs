//! Times at which a vendor is not itself.

use std::time::Duration;

use crate::Script;
use crate::script::Next;

/// Answers in place of scripts and limits, while they last.
#[derive(Debug, Default)]
pub(crate) struct Outages {
    /// Until told otherwise.
    pub(crate) switched_on: Option<Script>,
    pub(crate) planned: Vec<Planned>,
}

#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) from: Duration,
    pub(crate) until: Duration,
    pub(crate) script: Script,
}

impl Outages {
    /// The answer to an attempt that came `now` after the vendor's first, if that is within an outage.
    pub(crate) fn next(&mut self, now: Duration) -> Option<Next> {
        let planned = self.planned.iter_mut().find(|planned| (planned.from..planned.until).contains(&now));
        let script = self.switched_on.as_mut().or(planned.map(|planned| &mut planned.script));
        script.map(Script::next)
    }
}
