//! What was sent before a strike neither strikes nor opens its family again.

use std::collections::HashMap;

use super::world::World;

/// Generations and recoveries of a family.
pub(crate) type Turns = (u64, u64);

/// Attempts on their way.
#[derive(Debug, Default)]
pub(crate) struct Flights(HashMap<usize, Flight>);

#[derive(Debug)]
struct Flight {
    host: String,
    sent: Turns,
    /// Just before the gate takes its answer.
    answered: Option<Turns>,
}

impl Flights {
    pub(crate) fn sent(&mut self, attempt: usize, host: &str, turns: Turns) {
        let _ = self.0.insert(attempt, Flight { host: host.to_owned(), sent: turns, answered: None });
    }

    pub(crate) fn answered(&mut self, attempt: usize, turns: Turns) {
        if let Some(flight) = self.0.get_mut(&attempt) {
            flight.answered = Some(turns);
        }
    }

    /// The gate goes on with an answer whose body it looks at.
    pub(crate) fn looked_at(&mut self, attempt: usize, world: &World) {
        if let Some(flight) = self.0.get_mut(&attempt)
            && let Some(answered) = &mut flight.answered
        {
            world.look();
            *answered = world.of(&flight.host).turns();
        }
    }

    /// The gate took its outcome, at the very moment at which it was answered or looked at.
    pub(crate) fn ended(&mut self, attempt: usize, turns: Turns) {
        let Some(Flight { sent, answered: Some(answered), .. }) = self.0.remove(&attempt) else { return };
        if sent.0 < answered.0 {
            assert_eq!(turns, answered, "attempt {attempt} was sent before the last strike");
        }
    }

    pub(crate) fn forget(&mut self, attempt: usize) {
        let _ = self.0.remove(&attempt);
    }
}
