//! A request that is not answered from memory at once.

use std::sync::Arc;

use forbear_core::stale::{Because, Served};
use forbear_core::time::Monotonic;
use http::header::{IF_MODIFIED_SINCE, IF_NONE_MATCH};
use http::request::Parts;
use http::{Request, Response};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::body::StaleBody;
use super::entry::Entry;
use super::fetch::{Fetch, Own};
use super::flight::{Duty, Interest, Joined, Landed};
use super::headers::{Told, tell};
use super::inner::Inner;
use super::key::Key;
use super::oneshot::Oneshot;
use super::policy::{Whose, because_of};
use super::serve;
use super::shared::Shared;
use super::worse::worse;
use crate::budget::effective;
use crate::{Budget, BudgetExhausted, Error, NoWait, Priority, Spent, clock};

/// What is asked, and what there is already.
pub(super) struct Ask {
    pub(super) shared: Arc<Shared>,
    pub(super) whose: Whose,
    pub(super) key: Key,
    pub(super) head: Parts,
    pub(super) entry: Option<Arc<Entry>>,
    /// Whether that may be served where nothing better comes.
    pub(super) usable: bool,
    /// Whether it is for what is stored alone: nobody waits for it, and nothing is better than the vendor's own word.
    pub(super) fills: bool,
}

/// How waiting for a flight ended.
enum Waited<RB> {
    Own(Own<RB>),
    Landed(Landed),
    /// The caller's time is over, or its patience.
    Over(Because),
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

    async fn answer<S, B>(self, service: S, body: B) -> Result<Response<StaleBody<S::Body>>, Error>
    where
        S: Inner<B>,
        B: Send + 'static,
    {
        let entered = clock::now();
        let own = effective(&self.head.extensions).deadline();
        let most = self.shared.budget.map(|budget| entered.after(budget));
        let deadline = own.into_iter().chain(most).min();
        let mut unsent = Some((service, body));
        let (mut followed, mut variant) = (false, 0);
        let failure = loop {
            let waited = match self.shared.flights.join(self.key, variant) {
                Joined::Follows(interest) => {
                    if !std::mem::replace(&mut followed, true) && !self.fills {
                        self.whose.counts.coalesced();
                    }
                    self.follow(&interest, deadline).await
                }
                Joined::Leads(duty, interest) => {
                    let Some((service, body)) = unsent.take() else { break lost() };
                    self.lead(service, body, duty, interest, deadline).await
                }
            };
            let waited = match waited {
                Waited::Landed(Landed::Hasty(landed)) if self.usable || self.is_hasty() => {
                    Waited::Landed(*landed)
                }
                other => other,
            };
            match waited {
                Waited::Own(Ok(response)) => return Ok(response),
                Waited::Own(Err(error)) => break error,
                Waited::Over(because) => match self.stale(because) {
                    Some(response) => return Ok(response),
                    None => break over(entered),
                },
                Waited::Landed(Landed::Stored(entry)) => {
                    if entry.matches(&self.head.uri, &self.head.headers) {
                        return Ok(serve::confirmed(&self.shared, &entry, &self.head));
                    }
                    // It was selected by other fields than ours: those who have the same as we go together.
                    variant = entry.variant_of(&self.shared.keys, &self.head.headers);
                }
                Waited::Landed(Landed::Worse(because, told)) => {
                    let told = || told.map(|told| told.of_one());
                    if let Some(response) = self.instead(because).or_else(told) {
                        return Ok(response);
                    }
                }
                Waited::Landed(Landed::Failed(fault)) => break fault.of_one(),
                // Who would have waited asks anew; one for all who would.
                Waited::Landed(Landed::Hasty(_)) => {}
                Waited::Landed(Landed::Unshared) => {
                    let Some((service, body)) = unsent.take() else { break lost() };
                    return self.alone(service, body, entered, deadline).await;
                }
                // Its leader is gone: exactly one of those who waited leads now.
                Waited::Landed(Landed::Lost) => {}
            }
        };
        self.instead(because_of(&failure)).ok_or(failure)
    }

    async fn follow<RB>(&self, interest: &Interest, deadline: Option<Monotonic>) -> Waited<RB> {
        self.patiently(interest, deadline, async { Waited::Landed(interest.landed().await) }).await
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
        let (own, task) = self.launch(service, body, duty, false);
        let answer = async {
            match own.await {
                Ok(own) => Waited::Own(own),
                Err(_) => {
                    let landed = interest.landed().await;
                    if matches!(landed, Landed::Lost) {
                        unwind(task).await;
                    }
                    Waited::Landed(landed)
                }
            }
        };
        self.patiently(&interest, deadline, answer).await
    }

    /// Waits until the deadline; with something in hand, not longer than is patient, and the attempt goes on.
    async fn patiently<RB>(
        &self,
        interest: &Interest,
        deadline: Option<Monotonic>,
        answer: impl Future<Output = Waited<RB>>,
    ) -> Waited<RB> {
        let patience = self.whose.policy.waits().filter(|_| self.usable);
        let slow = patience.map(|patience| clock::now().after(patience));
        let until = deadline.into_iter().chain(slow).min();
        let Some(until) = until else { return answer.await };
        match tokio::time::timeout_at(clock::to_instant(until), answer).await {
            Ok(waited) => waited,
            Err(_) => {
                if self.usable {
                    interest.keep(self.shared.background());
                }
                let slow = slow == Some(until);
                Waited::Over(if slow { Because::Slow } else { Because::BudgetExhausted })
            }
        }
    }

    /// Begins the attempt, in a task of its own.
    pub(super) fn launch<S, B>(
        &self,
        service: S,
        body: B,
        duty: Duty,
        background: bool,
    ) -> (oneshot::Receiver<Own<S::Body>>, JoinHandle<()>)
    where
        S: Inner<B>,
        B: Send + 'static,
    {
        let mut head = self.head.clone();
        // The attempt has the stack's budget; each who waits for it has its own.
        head.extensions.remove::<Budget>();
        if self.usable {
            head.extensions.insert(NoWait);
        }
        if background {
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
            hasty: self.is_hasty(),
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
        entered: Monotonic,
        deadline: Option<Monotonic>,
    ) -> Result<Response<StaleBody<S::Body>>, Error> {
        let attempt = Oneshot::new(service, Request::from_parts(self.head.clone(), body));
        let answer = match deadline {
            None => attempt.await.map_err(Error::from_inner),
            Some(deadline) => match tokio::time::timeout_at(clock::to_instant(deadline), attempt).await {
                Ok(answer) => answer.map_err(Error::from_inner),
                Err(_) => Err(over(entered)),
            },
        };
        match answer {
            Ok(response) => {
                let (mut head, body) = response.into_parts();
                if let Some(better) = worse(&head).and_then(|because| self.instead(because)) {
                    return Ok(better);
                }
                tell(&mut head.headers, Told::Missed { stored: false });
                head.extensions.insert(Served::Live);
                Ok(Response::from_parts(head, StaleBody::live(body)))
            }
            Err(error) => self.instead(because_of(&error)).ok_or(error),
        }
    }

    /// Whether it waits for no cool-down.
    fn is_hasty(&self) -> bool {
        self.fills || self.head.extensions.get::<NoWait>().is_some()
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
