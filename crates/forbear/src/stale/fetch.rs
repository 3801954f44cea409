//! The attempt itself, in a task of its own: so it survives the caller who began it, and ends where nobody waits for it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use forbear_core::families::AUTOMATIC;
use forbear_core::stale::{Because, Served};
use http::request::Parts;
use http::{Request, Response, StatusCode, response};
use http_body::Body;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::body::StaleBody;
use super::entry::{Answer, Entry};
use super::flight::{Duty, Landed};
use super::headers::{Told, tell};
use super::inner::Inner;
use super::oneshot::Oneshot;
use super::plain::Plain;
use super::policy::{Whose, because_of};
use super::shared::Shared;
use super::tee::{Fed, tee};
use super::worse::{rests, worse};
use crate::body::{BoxError, Drain};
use crate::{Error, clock};

/// A discarded answer is read so far, so that its connection can be used again.
const DRAINED: (usize, Duration) = (64 * 1024, Duration::from_millis(250));

/// What one attempt is for.
pub(super) struct Fetch {
    pub(super) shared: Arc<Shared>,
    pub(super) whose: Whose,
    /// What was asked, without what asks for confirmation.
    pub(super) head: Parts,
    /// What is stored, and was asked about.
    pub(super) entry: Option<Arc<Entry>>,
    /// Whether that may be served where nothing better comes.
    pub(super) usable: bool,
    /// Whether it is for what is stored alone.
    pub(super) fills: bool,
    /// Whether its leader waits for no cool-down.
    pub(super) hasty: bool,
}

/// To the caller who leads: an answer as it comes, or an error that is its own.
pub(super) type Own<RB> = Result<Response<StaleBody<RB>>, Error>;

/// What becomes of an answer once its body is there.
enum Keeps {
    /// It is stored.
    Stored(Box<Entry>),
    /// It is told to those who wait for it, and not stored.
    Told(Because, Plain),
}

impl Fetch {
    pub(super) async fn run<S: Inner<B>, B>(
        self,
        service: S,
        request: Request<B>,
        duty: Duty,
        leader: oneshot::Sender<Own<S::Body>>,
    ) {
        let attempt = async { Oneshot::new(service, request).await.map_err(Error::from_inner) };
        let answer = tokio::select! {
            biased;
            answer = attempt => answer,
            () = duty.abandoned() => return,
        };
        match answer {
            Ok(response) => self.answered(response, duty, leader).await,
            Err(error) => self.failed(error, duty, leader),
        }
    }

    fn failed<RB>(self, error: Error, duty: Duty, leader: oneshot::Sender<Own<RB>>) {
        if self.usable {
            let because = because_of(&error);
            // What was not sent costs nothing, and whoever refused it says when it may be.
            if !error.is_refusal() {
                self.rest(self.whose.policy.rests());
            }
            duty.land(Landed::Worse(because, None));
        } else if duty.is_shared() {
            let hasty = self.hasty && error.is_refusal();
            let failed = Landed::Failed(error.share());
            duty.land(if hasty { Landed::Hasty(Box::new(failed)) } else { failed });
        } else {
            // Told before the flight ends, so that whoever comes now begins another.
            let _ = leader.send(Err(error));
            duty.land(Landed::Lost);
        }
    }

    async fn answered<RB>(self, response: Response<RB>, duty: Duty, leader: oneshot::Sender<Own<RB>>)
    where
        RB: Body,
        RB::Error: Into<BoxError>,
    {
        let (head, body) = response.into_parts();
        if let Some(because) = worse(&head) {
            return self.answered_badly(because, head, body, duty, leader).await;
        }
        let at = self.shared.wall();
        let answer = Answer { asked: &self.head, status: head.status, headers: &head.headers, at };
        let caching = self.shared.caching(&self.whose.policy);
        if let Some(entry) = self.entry.as_ref().filter(|_| head.status == StatusCode::NOT_MODIFIED) {
            if let Some(confirmed) = entry.confirmed(&answer, caching) {
                let confirmed = Arc::new(confirmed);
                self.store(&confirmed, &duty);
                return duty.land(Landed::Stored(confirmed));
            }
            if self.usable {
                // It is about another response than the one that was asked about.
                return self.answered_badly(Because::ServerError, head, body, duty, leader).await;
            }
        }
        let length = body.size_hint().lower();
        let made = Entry::of(&answer, caching).filter(|_| length <= self.shared.max_entry as u64);
        match made {
            Some(entry) => self.passes(head, body, Keeps::Stored(Box::new(entry)), duty, leader).await,
            None => {
                self.whose.counts.unstored();
                let head = self.told(head, false);
                duty.land(Landed::Unshared);
                let _ = leader.send(Ok(Response::from_parts(head, StaleBody::live(body))));
            }
        }
    }

    /// A signal, or a fault of the vendor: what is stored is better, and where nothing is, one such answer is enough for all.
    async fn answered_badly<RB>(
        self,
        because: Because,
        head: response::Parts,
        body: RB,
        duty: Duty,
        leader: oneshot::Sender<Own<RB>>,
    ) where
        RB: Body,
        RB::Error: Into<BoxError>,
    {
        if let Some(rest) = rests(&head, self.whose.policy.rests()).filter(|_| self.usable) {
            self.rest(rest);
        }
        // Where it panics, each who waits is to see that for himself.
        let made = || self.whose.policy.substitute(&self.head).is_some();
        let fallback = || !self.fills && catch_unwind(AssertUnwindSafe(made)).unwrap_or(true);
        if self.usable || fallback() {
            duty.land(Landed::Worse(because, None));
            let until = Instant::now() + DRAINED.1;
            Drain::new(body, DRAINED.0, until).await;
            return;
        }
        let plain = Plain::of(&head);
        self.passes(head, body, Keeps::Told(because, plain), duty, leader).await;
    }

    /// To the leader as it comes; to the others once it is whole.
    async fn passes<RB>(
        self,
        head: response::Parts,
        body: RB,
        keeps: Keeps,
        duty: Duty,
        leader: oneshot::Sender<Own<RB>>,
    ) where
        RB: Body,
        RB::Error: Into<BoxError>,
    {
        let head = self.told(head, matches!(keeps, Keeps::Stored(_)));
        let (feed, passing) = tee(duty.interest(), self.shared.room.place());
        let size = body.size_hint();
        let _ = leader.send(Ok(Response::from_parts(head, StaleBody::passing(passing, size))));
        let (fed, ended) = tokio::select! {
            biased;
            fed = feed.feed(body, self.shared.max_entry) => fed,
            () = duty.abandoned() => return,
        };
        match (fed, keeps) {
            (Fed::Whole(chunks), Keeps::Stored(entry)) => match entry.with_body(&chunks) {
                Some(entry) => {
                    let entry = Arc::new(entry);
                    self.store(&entry, &duty);
                    duty.land(Landed::Stored(entry));
                }
                None => {
                    self.whose.counts.unstored();
                    duty.land(Landed::Lost);
                }
            },
            (Fed::Whole(chunks), Keeps::Told(because, plain)) => {
                let hasty = self.hasty && because == Because::Limited;
                let worse = Landed::Worse(because, Some(Arc::new(plain.with_body(&chunks))));
                duty.land(if hasty { Landed::Hasty(Box::new(worse)) } else { worse });
            }
            (Fed::TooLarge, keeps) => {
                self.is_not_kept(&keeps);
                duty.land(Landed::Unshared);
            }
            (Fed::Failed, keeps) => {
                self.is_not_kept(&keeps);
                duty.land(Landed::Lost);
            }
        }
        // Last: the reader may ask again at once.
        drop(ended);
    }

    fn is_not_kept(&self, keeps: &Keeps) {
        if matches!(keeps, Keeps::Stored(_)) {
            self.whose.counts.unstored();
        }
    }

    fn told(&self, mut head: response::Parts, stored: bool) -> response::Parts {
        let told = match &self.entry {
            None => Told::Missed { stored },
            Some(_) => Told::Revalidated { status: head.status, stored },
        };
        tell(&mut head.headers, told);
        head.extensions.insert(Served::Live);
        head
    }

    fn store(&self, entry: &Arc<Entry>, duty: &Duty) {
        if entry.is_forbidden() && self.whose.counts.is_news() {
            tracing::warn!(
                family = self.whose.name.as_deref().unwrap_or(AUTOMATIC),
                "answers that their vendor marks no-store are stored, as the policy says"
            );
        }
        duty.unless_outdated(|| self.shared.put(&self.head, &self.whose, entry));
    }

    /// For so long nobody asks for a better one.
    fn rest(&self, rest: Duration) {
        if let Some(entry) = &self.entry {
            entry.rest_until(clock::now().after(rest));
        }
    }
}
