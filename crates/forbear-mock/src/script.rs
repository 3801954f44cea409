//! What a route answers, one attempt after another.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::limiter::Refusal;
use crate::{Attempt, Reply};

/// The answers of a route: a list of replies, or a closure made into one by [`respond_with`].
///
/// A list is played once, in order, and then repeats its last reply; [`cycle`] makes one that begins again. A single
/// [`Reply`] is a list of one. Wherever a script is asked for, an array, a `Vec` or a `Reply` will do.
///
/// # Panics
///
/// Making one from an empty list panics: it would have no answer to give.
pub struct Script(Kind);

enum Kind {
    List { replies: Vec<Reply>, next: usize, given: usize, cycles: bool },
    Closure(Responder),
}

type Responder = Arc<Mutex<dyn FnMut(&Attempt) -> Reply + Send>>;

/// A script that asks `respond` for every reply: for vendors that count, or look at the request.
///
/// The attempt it sees is in the log already, as yet without an answer. Calls come one at a time, in no guaranteed
/// order when attempts race. A closure that panics closes the connection on a socket, and panics through the caller
/// in process; either way the log shows the attempt as unanswered.
///
/// ```
/// use std::time::Duration;
/// use forbear_mock::{MockVendor, reply, respond_with};
///
/// // Limited for the first two seconds, whoever asks; then well.
/// let vendor = MockVendor::in_process().script(respond_with(|attempt| {
///     if attempt.since() < Duration::from_secs(2) { reply(429).retry_after(2) } else { reply(200) }
/// }));
/// # let _ = vendor;
/// ```
#[must_use]
pub fn respond_with(respond: impl FnMut(&Attempt) -> Reply + Send + 'static) -> Script {
    Script(Kind::Closure(Arc::new(Mutex::new(respond))))
}

/// A script that begins again after its last reply: for vendors that come and go.
///
/// ```
/// use forbear_mock::{MockVendor, cycle, reply};
///
/// let vendor = MockVendor::in_process().script(cycle([reply(200).times(9), reply(503)]));
/// # let _ = vendor;
/// ```
///
/// # Panics
///
/// When the list is empty.
#[track_caller]
#[must_use]
pub fn cycle(replies: impl Into<Vec<Reply>>) -> Script {
    let mut script = Script::from(replies.into());
    if let Kind::List { cycles, .. } = &mut script.0 {
        *cycles = true;
    }
    script
}

/// A reply, or who to ask for it once the engine's lock is let go.
pub(crate) enum Next {
    Reply(Reply),
    Ask(Responder),
    Refuse(Refusal, Duration),
}

impl Next {
    pub(crate) fn resolve(self, attempt: &Attempt) -> Reply {
        match self {
            Self::Reply(reply) => reply,
            // A panic in an earlier call is that attempt's failure, not this one's.
            Self::Ask(respond) => respond.lock().unwrap_or_else(PoisonError::into_inner)(attempt),
            Self::Refuse(refuse, wait) => refuse(wait),
        }
    }
}

impl Script {
    pub(crate) fn next(&mut self) -> Next {
        match &mut self.0 {
            Kind::Closure(respond) => Next::Ask(Arc::clone(respond)),
            Kind::List { replies, next, given, cycles } => {
                let reply = replies[*next].clone();
                *given += 1;
                let is_last = *next + 1 == replies.len();
                if *given >= reply.repeats() && (*cycles || !is_last) {
                    *next = if is_last { 0 } else { *next + 1 };
                    *given = 0;
                }
                Next::Reply(reply)
            }
        }
    }
}

impl From<Vec<Reply>> for Script {
    #[track_caller]
    fn from(replies: Vec<Reply>) -> Self {
        assert!(!replies.is_empty(), "an empty script has no answer to give: script at least one reply");
        Self(Kind::List { replies, next: 0, given: 0, cycles: false })
    }
}

impl<const N: usize> From<[Reply; N]> for Script {
    #[track_caller]
    fn from(replies: [Reply; N]) -> Self {
        Self::from(Vec::from(replies))
    }
}

impl From<Reply> for Script {
    fn from(reply: Reply) -> Self {
        Self::from([reply])
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::List { replies, next, given, cycles } => f
                .debug_struct("Script")
                .field("replies", replies)
                .field("next", next)
                .field("given", given)
                .field("cycles", cycles)
                .finish(),
            Kind::Closure(_) => f.write_str("Script(respond_with)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply;

    fn statuses(script: impl Into<Script>, n: usize) -> Vec<u16> {
        let mut script = script.into();
        let next = |script: &mut Script| match script.next() {
            Next::Reply(reply) => reply.status().as_u16(),
            _ => unreachable!("a list answers by itself"),
        };
        (0..n).map(|_| next(&mut script)).collect()
    }

    #[test]
    fn the_last_reply_repeats() {
        assert_eq!(statuses([reply(429), reply(503), reply(200)], 5), [429, 503, 200, 200, 200]);
        assert_eq!(statuses(reply(500), 2), [500, 500]);
    }

    #[test]
    fn a_reply_may_be_given_several_times() {
        let script = vec![reply(429).times(2), reply(503).times(2), reply(500), reply(200).times(3)];
        assert_eq!(statuses(script, 9), [429, 429, 503, 503, 500, 200, 200, 200, 200]);
    }

    #[test]
    fn a_cycle_begins_again() {
        let script = cycle([reply(200).times(2), reply(503)]);
        assert_eq!(statuses(script, 7), [200, 200, 503, 200, 200, 503, 200]);
        assert_eq!(statuses(cycle([reply(500).times(2)]), 3), [500, 500, 500]);
    }

    #[test]
    #[should_panic(expected = "an empty script has no answer to give")]
    fn an_empty_script_is_refused() {
        let _ = Script::from([]);
    }
}
