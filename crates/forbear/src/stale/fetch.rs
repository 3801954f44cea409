//! The attempt itself, in a task of its own: so it survives the caller who began it, and ends where nobody waits for it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use forbear_core::families::AUTOMATIC;
use forbear_core::stale::{Because, Served};
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderMap, Request, Response, StatusCode, response};
use http_body::Body;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::body::StaleBody;
use super::confirm::Confirms;
use super::directives::is_conditional;
use super::entry::{Answer, Entry};
use super::flight::{Duty, Landed};
use super::headers::{Told, tell};
use super::inner::Inner;
use super::manner::Manner;
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
/// So long after its head others wait for the body of a bad answer.
const BAD_BODY: Duration = Duration::from_secs(5);

/// What one attempt is for.
pub(super) struct Fetch {
    pub(super) shared: Arc<Shared>,
    pub(super) whose: Whose,
    /// What was asked, without what asks for confirmation of what is stored.
    pub(super) head: Parts,
    /// What is stored, and was asked about.
    pub(super) entry: Option<Arc<Entry>>,
    /// Whether that may be served where nothing better comes.
    pub(super) usable: bool,
    /// Whether it is for what is stored alone.
    pub(super) fills: bool,
}

/// To the caller who leads: an answer as it comes, or an error that is its own.
pub(super) type Own<RB> = Result<Response<StaleBody<RB>>, Error>;

/// What becomes of an answer once its body is there.
enum Keeps {
    /// It is stored.
    Stored(Box<Entry>),
    /// It is told to those who wait for it, and not stored.
    Told(Because, Plain),
    /// The same, where it is what they asked for.
    Same(Plain),
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
            entry = duty.offered(|entry| entry.matches(&self.head.uri, &self.head.headers)) => {
                return duty.land(Landed::Stored(entry));
            }
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
        } else if duty.close() {
            let by = Some(duty.manner()).filter(|_| error.is_refusal());
            duty.land(hasty(by, Landed::Failed(error.share())));
        } else {
            // Told before the flight ends.
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
        if head.status == StatusCode::NOT_MODIFIED {
            return self.not_modified(head, body, duty, leader).await;
        }
        let at = self.shared.wall();
        let answer = Answer { asked: &self.head, status: head.status, headers: &head.headers, at };
        let caching = self.shared.caching(&self.whose.policy);
        let length = body.size_hint().lower();
        let made = Entry::of(&answer, caching)
            .filter(|_| length <= self.shared.max_entry as u64 && !is_stream(&head.headers))
            .filter(|_| !self.is_worse_than_stored(head.status));
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

    /// Whether it refuses the request (405, 414), which says nothing of the resource, and something better is stored.
    fn is_worse_than_stored(&self, status: StatusCode) -> bool {
        let refuses = |status: StatusCode| status.is_client_error() && !matches!(status.as_u16(), 404 | 410);
        refuses(status) && self.entry.as_ref().is_some_and(|entry| !refuses(entry.status()))
    }

    /// What is stored, or what the caller has, is as it was.
    async fn not_modified<RB>(
        self,
        head: response::Parts,
        body: RB,
        duty: Duty,
        leader: oneshot::Sender<Own<RB>>,
    ) where
        RB: Body,
        RB::Error: Into<BoxError>,
    {
        let (at, caching) = (self.shared.wall(), self.shared.caching(&self.whose.policy));
        let answer = Answer { asked: &self.head, status: head.status, headers: &head.headers, at };
        match self.entry.as_ref().map(|entry| entry.confirmed(&answer, caching)) {
            Some(Confirms::Stored(entry)) => {
                let entry = Arc::new(*entry);
                self.store(&entry, &duty);
                duty.land(Landed::Stored(entry));
            }
            // It is what there is, and it is stored no more.
            Some(Confirms::Unstored(whole, stored)) => {
                self.whose.counts.unstored();
                let whole = self.told(*whole, false);
                duty.land(Landed::Unshared);
                let _ = leader.send(Ok(Response::from_parts(whole, StaleBody::stored(stored))));
            }
            None if is_conditional(&self.head.headers) => {
                let plain = Plain::of(&head);
                self.passes(head, body, Keeps::Same(plain), duty, leader).await;
            }
            // It is about another response than the one that was asked about, or nothing was asked about.
            _ if self.usable => {
                self.answered_badly(Because::ServerError, head, body, duty, leader).await;
            }
            _ => self.failed(Error::from_inner(NOT_ASKED), duty, leader),
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
        let size = body.size_hint();
        let head = self.told(head, matches!(keeps, Keeps::Stored(_)));
        let (feed, passing) = tee(duty.interest(), self.shared.room.place());
        let _ = leader.send(Ok(Response::from_parts(head, StaleBody::passing(passing, size))));
        // It may have no end: its reader goes on, and the others need not wait for ever.
        let late = async {
            let most = clock::now().after(BAD_BODY).min(self.shared.background());
            let until = if matches!(keeps, Keeps::Stored(_)) { self.shared.background() } else { most };
            tokio::time::sleep_until(clock::to_instant(until)).await;
            duty.tell(self.without_body(&keeps, &duty));
            std::future::pending::<()>().await;
        };
        let (fed, ended) = tokio::select! {
            biased;
            fed = feed.feed(body, self.shared.max_entry) => fed,
            () = duty.abandoned() => return,
            () = late => return,
        };
        let landed = match (fed, keeps) {
            (Fed::Whole(chunks), Keeps::Stored(entry)) => match entry.with_body(&chunks) {
                Some(entry) => {
                    let entry = Arc::new(entry);
                    self.store(&entry, &duty);
                    Landed::Stored(entry)
                }
                None => {
                    self.whose.counts.unstored();
                    Landed::Unshared
                }
            },
            (Fed::Whole(chunks), Keeps::Told(because, plain)) => {
                limited(because, duty.manner(), plain.with_body(&chunks))
            }
            (Fed::Whole(chunks), Keeps::Same(plain)) => Landed::Same(Arc::new(plain.with_body(&chunks))),
            (Fed::Failed, Keeps::Stored(_)) => {
                self.whose.counts.unstored();
                if self.usable {
                    self.rest(self.whose.policy.rests());
                }
                Landed::Failed(Error::from_inner(BROKE_OFF).share())
            }
            (Fed::TooLarge, Keeps::Stored(_)) => {
                self.whose.counts.unstored();
                Landed::Unshared
            }
            (_, keeps) => self.without_body(&keeps, &duty),
        };
        duty.land(landed);
        // Last: the reader may ask again at once.
        drop(ended);
    }

    /// What is told of an answer whose body does not come, or is too large to be told.
    fn without_body(&self, keeps: &Keeps, duty: &Duty) -> Landed {
        match keeps {
            // It hangs, or has no end: one of those who wait is to ask anew.
            Keeps::Stored(_) => Landed::Lost,
            Keeps::Told(because, plain) => limited(*because, duty.manner(), plain.without_body()),
            Keeps::Same(plain) => Landed::Same(Arc::new(plain.without_body())),
        }
    }

    fn told(&self, mut head: response::Parts, stored: bool) -> response::Parts {
        let told = Told::forwarded(self.entry.is_some(), head.status, stored);
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

const NOT_ASKED: &str =
    "the vendor answered 304 to a request that asked about something else, or about nothing";
const BROKE_OFF: &str = "the body of the answer broke off";

/// A refusal, or an answer, that is a measure only for who lets itself be kept waiting like this.
fn hasty(by: Option<Manner>, landed: Landed) -> Landed {
    match by.filter(|by| !Manner::default().is_refused_like(*by)) {
        Some(by) => Landed::Hasty(by, Box::new(landed)),
        None => landed,
    }
}

/// A bad answer for all. Who waits for no cool-down was told it sooner than others would be.
fn limited(because: Because, manner: Manner, plain: Plain) -> Landed {
    let by = Manner { no_wait: manner.no_wait, ..Manner::default() };
    hasty(Some(by).filter(|_| because == Because::Limited), Landed::Worse(because, Some(Arc::new(plain))))
}

/// Whether an answer goes on for as long as somebody listens.
fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map(|kind| kind.as_bytes().to_ascii_lowercase());
    kind.is_some_and(|kind| {
        kind.starts_with(b"text/event-stream") || kind.starts_with(b"multipart/x-mixed-replace")
    })
}
