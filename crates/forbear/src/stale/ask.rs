//! A request that is not answered from memory at once.

use std::sync::Arc;
use std::time::Duration;

use forbear_core::stale::{Because, Served};
use forbear_core::time::Monotonic;
use http::header::{IF_MODIFIED_SINCE, IF_NONE_MATCH};
use http::request::Parts;
use http::{Request, Response};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::body::StaleBody;
use super::entry::{Entry, Use};
use super::fetch::{Fetch, Own};
use super::flight::{Duty, Interest, Joined, Landed, Whose as Flown};
use super::headers::{Told, tell};
use super::inner::Inner;
use super::key::Key;
use super::manner::Manner;
use super::oneshot::Oneshot;
use super::policy::{Whose, because_of};
use super::serve;
use super::shared::Shared;
use super::worse::worse;
use crate::budget::effective;
use crate::parking::Parking;
use crate::{Budget, BudgetExhausted, Error, NoWait, Priority, Spent, clock};

/// So often one waits for what others fetch. Who has nothing then, as where a vendor selects its answers by something else each time, asks by
/// himself.
const ROUNDS: usize = 4;

/// What is asked, and what there is already.
pub(super) struct Ask {
    pub(super) shared: Arc<Shared>,
    pub(super) whose: Whose,
    pub(super) key: Key,
    pub(super) head: Parts,
    /// When it came.
    pub(super) entered: Monotonic,
    pub(super) entry: Option<Arc<Entry>>,
    /// Whether that may be served where nothing better comes.
    pub(super) usable: bool,
    /// Whether it is for what is stored alone: nobody waits for it, and nothing is better than the vendor's own word.
    pub(super) fills: bool,
    /// Whether nobody waits for it, who has been served already.
    pub(super) background: bool,
}

/// How waiting for a flight ended.
enum Waited<RB> {
    Own(Own<RB>),
    Landed(Landed),
    /// The caller's time is over, or its patience.
    Over(Because),
}

/// What becomes of who waited.
enum Then<RB> {
    Answer(Response<StaleBody<RB>>),
    Fail(Error),
    /// It asks by itself.
    Alone,
    Again,
}

/// How somebody has waited until now.
struct Round {
    times: usize,
    /// By what its answer is selected, where that is known.
    variant: u128,
    flown: Flown,
    /// How many attempts ended without a word.
    lost: usize,
}

impl Ask {
    pub(super) async fn run<S, B>(self, service: S, body: B) -> Result<Response<StaleBody<S::Body>>, Error>
    where
        S: Inner<B>,
        B: Send + 'static,
    {
        let (counts, fills) = (Arc::clone(&self.whose.counts), self.fills);
        let answer = self.answer(service, body).await;
        match &answer {
            _ if fills => {}
            Ok(response) => counts.served(served(response)),
            Err(_) => counts.refused(),
        }
        answer
    }

    /// The same by an attempt of its own, whose answer is not stored.
    pub(super) async fn aside<S, B>(self, service: S, body: B) -> Result<Response<StaleBody<S::Body>>, Error>
    where
        S: Inner<B>,
    {
        let counts = Arc::clone(&self.whose.counts);
        let deadline = self.deadline();
        let answer = self.alone(service, body, deadline).await;
        match &answer {
            Ok(response) => counts.served(served(response)),
            Err(_) => counts.refused(),
        }
        answer
    }

    /// When the caller's time is over.
    fn deadline(&self) -> Option<Monotonic> {
        let own = effective(&self.head.extensions).deadline();
        let most = self.shared.budget.map(|budget| self.entered.after(budget));
        own.into_iter().chain(most).min()
    }

    async fn answer<S, B>(self, service: S, body: B) -> Result<Response<StaleBody<S::Body>>, Error>
    where
        S: Inner<B>,
        B: Send + 'static,
    {
        let (deadline, manner) = (self.deadline(), self.manner());
        let keys = &self.shared.keys;
        // Those who have the same already are told so together.
        let asks = if self.entry.is_none() { keys.conditions(&self.head.headers) } else { 0 };
        let variant = self.entry.as_ref().map_or(0, |entry| entry.variant_of(keys, &self.head.headers));
        let mut round = Round { times: 0, variant, flown: Flown::Any, lost: 0 };
        let (mut unsent, mut followed) = (Some((service, body)), false);
        let failure = loop {
            // For who has no time left nothing is begun.
            if !self.usable && deadline.is_some_and(|deadline| clock::now() >= deadline) {
                break over(self.entered);
            }
            let waited = match self.shared.flights.join(self.key, round.variant ^ asks, manner, round.flown) {
                Joined::Follows(interest) => {
                    if !std::mem::replace(&mut followed, true) && !self.fills {
                        self.whose.counts.coalesced();
                    }
                    self.follow(&interest, manner, deadline).await
                }
                Joined::Leads(duty, interest) => {
                    if let Some((entry, left)) = self.came_meanwhile() {
                        let answer = serve::fresh(self.shared.wall(), &entry, &self.head, left);
                        duty.land(Landed::Stored(entry));
                        return Ok(answer);
                    }
                    let Some((service, body)) = unsent.take() else { break lost() };
                    self.lead(service, body, duty, interest, deadline).await
                }
            };
            round.times += 1;
            let alone = match self.then(waited, manner, &mut round) {
                Then::Answer(response) => return Ok(response),
                Then::Fail(error) => break error,
                Then::Alone => true,
                Then::Again => round.times >= ROUNDS,
            };
            if alone {
                let Some((service, body)) = unsent.take() else { break lost() };
                return self.alone(service, body, deadline).await;
            }
        };
        self.instead(because_of(&failure)).ok_or(failure)
    }

    /// What is fresh by now: since it was looked for, somebody else's attempt may have ended.
    fn came_meanwhile(&self) -> Option<(Arc<Entry>, Duration)> {
        if self.fills {
            return None;
        }
        let entry = self.shared.find(self.key, &self.head.uri, &self.head.headers)?;
        match entry.usable(&self.head, self.shared.wall()) {
            Use::Fresh(left) => Some((entry, left)),
            _ => None,
        }
    }

    fn then<RB>(&self, waited: Waited<RB>, manner: Manner, round: &mut Round) -> Then<RB> {
        let landed = match waited {
            Waited::Own(Ok(response)) => return Then::Answer(response),
            Waited::Own(Err(error)) => return Then::Fail(error),
            Waited::Over(because) => {
                return self.stale(because).map_or_else(|| Then::Fail(over(self.entered)), Then::Answer);
            }
            Waited::Landed(Landed::Hasty(by, landed)) if manner.is_refused_like(by) => *landed,
            Waited::Landed(landed) => landed,
        };
        match landed {
            Landed::Stored(entry) => {
                if entry.matches(&self.head.uri, &self.head.headers) {
                    return Then::Answer(serve::confirmed(&self.shared, &entry, &self.head));
                }
                // It was selected by other fields than ours: those who have the same as we go together.
                round.variant = entry.variant_of(&self.shared.keys, &self.head.headers);
                Then::Again
            }
            Landed::Worse(because, told) => {
                let told = || told.map(|told| told.of_one());
                if let Some(response) = self.instead(because).or_else(told) {
                    return Then::Answer(response);
                }
                round.flown = Flown::Like;
                Then::Again
            }
            Landed::Same(told) => Then::Answer(told.of_one()),
            Landed::Failed(fault) => Then::Fail(fault.of_one()),
            // Who would have waited, or would not, asks anew; one for all who are like that.
            Landed::Hasty(..) | Landed::Parked => {
                round.flown = Flown::Like;
                Then::Again
            }
            Landed::Unshared => Then::Alone,
            // Its leader is gone: exactly one of those who waited leads now, but not one after the other for ever.
            Landed::Lost => {
                round.lost += 1;
                if round.lost > 1 { Then::Fail(lost()) } else { Then::Again }
            }
        }
    }

    async fn follow<RB>(
        &self,
        interest: &Interest,
        manner: Manner,
        deadline: Option<Monotonic>,
    ) -> Waited<RB> {
        let landed = async { Waited::Landed(interest.landed(manner).await) };
        self.patiently(Some(interest), deadline, landed, Waited::Over).await
    }

    async fn lead<S, B>(
        &self,
        service: S,
        body: B,
        duty: Duty,
        interest: Interest,
        deadline: Option<Monotonic>,
    ) -> Waited<S::Body>
    where
        S: Inner<B>,
        B: Send + 'static,
    {
        let manner = duty.manner();
        let (own, task) = self.launch(service, body, duty);
        let answer = async {
            match own.await {
                Ok(own) => Waited::Own(own),
                Err(_) => {
                    let landed = interest.landed(manner).await;
                    if matches!(landed, Landed::Lost) {
                        unwind(task).await;
                    }
                    Waited::Landed(landed)
                }
            }
        };
        self.patiently(Some(&interest), deadline, answer, Waited::Over).await
    }

    /// Waits until the deadline; with something in hand, not longer than is patient, and the attempt that is of `interest` goes on.
    async fn patiently<T>(
        &self,
        interest: Option<&Interest>,
        deadline: Option<Monotonic>,
        answer: impl Future<Output = T>,
        over: impl FnOnce(Because) -> T,
    ) -> T {
        let patience = self.whose.policy.waits().filter(|_| self.usable);
        let slow = patience.map(|patience| clock::now().after(patience));
        let until = deadline.into_iter().chain(slow).min();
        let Some(until) = until else { return answer.await };
        match tokio::time::timeout_at(clock::to_instant(until), answer).await {
            Ok(waited) => waited,
            Err(_) => {
                if let Some(interest) = interest.filter(|_| self.usable) {
                    interest.keep(self.shared.background());
                }
                let slow = slow == Some(until);
                over(if slow { Because::Slow } else { Because::BudgetExhausted })
            }
        }
    }

    /// Begins the attempt, in a task of its own.
    pub(super) fn launch<S, B>(
        &self,
        service: S,
        body: B,
        duty: Duty,
    ) -> (oneshot::Receiver<Own<S::Body>>, JoinHandle<()>)
    where
        S: Inner<B>,
        B: Send + 'static,
    {
        let mut head = self.head.clone();
        // The attempt has the stack's budget; each who waits for it has its own.
        head.extensions.remove::<Budget>();
        head.extensions.insert(Parking(duty.parks()));
        if self.usable {
            head.extensions.insert(NoWait);
        }
        if self.background {
            head.extensions.insert(Priority::Background);
        }
        if let Some(entry) = &self.entry {
            head.headers.remove(IF_NONE_MATCH);
            head.headers.remove(IF_MODIFIED_SINCE);
            entry.ask_to_confirm(&mut head.headers);
        }
        let fetch = Fetch {
            shared: Arc::clone(&self.shared),
            whose: self.whose.clone(),
            head: self.head.clone(),
            entry: self.entry.clone(),
            usable: self.usable,
            fills: self.fills,
        };
        let (tell, told) = oneshot::channel();
        let task = tokio::spawn(fetch.run(service, Request::from_parts(head, body), duty, tell));
        (told, task)
    }

    /// Its own attempt, whose answer is nobody else's.
    async fn alone<S: Inner<B>, B>(
        self,
        service: S,
        body: B,
        deadline: Option<Monotonic>,
    ) -> Result<Response<StaleBody<S::Body>>, Error> {
        let mut head = self.head.clone();
        if self.usable {
            head.extensions.insert(NoWait);
        }
        let attempt = Oneshot::new(service, Request::from_parts(head, body));
        let attempt = async { attempt.await.map_err(Error::from_inner).map_err(Some) };
        let mut why = None;
        let over = |because| {
            why = Some(because);
            Err(None)
        };
        let answer = self.patiently(None, deadline, attempt, over).await;
        match answer {
            Ok(response) => {
                let (mut head, body) = response.into_parts();
                if let Some(better) = worse(&head).and_then(|because| self.instead(because)) {
                    return Ok(better);
                }
                tell(&mut head.headers, Told::forwarded(self.entry.is_some(), head.status, false));
                head.extensions.insert(Served::Live);
                Ok(Response::from_parts(head, StaleBody::live(body)))
            }
            Err(error) => {
                let because = why.or_else(|| error.as_ref().map(because_of));
                let better = self.instead(because.unwrap_or(Because::BudgetExhausted));
                better.ok_or_else(|| error.unwrap_or_else(|| self::over(self.entered)))
            }
        }
    }

    /// How its attempt lets itself be kept waiting.
    pub(super) fn manner(&self) -> Manner {
        Manner::of(&self.head.extensions, self.usable, self.background)
    }

    /// What there is where no answer is to be had, or a bad one.
    fn instead<RB>(&self, because: Because) -> Option<Response<StaleBody<RB>>> {
        if self.fills {
            return None;
        }
        self.stale(because).or_else(|| serve::fallback(&self.whose.policy, &self.head, because))
    }

    fn stale<RB>(&self, because: Because) -> Option<Response<StaleBody<RB>>> {
        let entry = self.entry.as_ref().filter(|_| self.usable)?;
        Some(serve::stale(self.shared.wall(), entry, &self.head, because))
    }
}

/// Where an answer of ours comes from.
fn served<RB>(response: &Response<StaleBody<RB>>) -> Served {
    response.extensions().get().copied().unwrap_or(Served::Live)
}

/// Passes on a panic of the client below to who called it.
async fn unwind(task: JoinHandle<()>) {
    if let Err(ended) = task.await
        && let Ok(panic) = ended.try_into_panic()
    {
        std::panic::resume_unwind(panic);
    }
}

fn lost() -> Error {
    Error::from_inner("the attempt ended without an answer")
}

fn over(entered: Monotonic) -> Error {
    let spent = clock::now().since(entered);
    Error::BudgetExhausted(BudgetExhausted::new(Spent::Time, spent, 0, None))
}
