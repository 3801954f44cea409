//! The attempt itself, in a task of its own: so it survives the caller who began it, and ends where nobody waits for it.

use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{Request, Response, StatusCode};
use http_body::Body;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::body::StaleBody;
use super::entry::{Answer, Entry};
use super::flight::{Duty, Landed};
use super::headers::{Told, tell};
use super::inner::Inner;
use super::oneshot::Oneshot;
use super::served::{Because, Served};
use super::shared::Shared;
use super::tee::{Fed, tee};
use crate::body::{BoxError, Drain};
use crate::{Error, Signal, clock};

/// A discarded answer is read so far, so that its connection can be used again.
const DRAINED: (usize, Duration) = (64 * 1024, Duration::from_millis(250));

/// What one attempt is for.
pub(super) struct Fetch {
    pub(super) shared: Arc<Shared>,
    /// What was asked, without what asks for confirmation.
    pub(super) head: Parts,
    /// What is stored, and was asked about.
    pub(super) entry: Option<Arc<Entry>>,
    /// Whether that may be served where nothing better comes.
    pub(super) usable: bool,
}

/// To the caller who leads: an answer as it comes, or an error that is its own.
pub(super) type Own<RB> = Result<Response<StaleBody<RB>>, Error>;

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
            let because = Because::of(&error);
            self.note_failure(because);
            duty.land(Landed::Worse(because));
        } else if duty.is_shared() {
            duty.land(Landed::Failed(error.share()));
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
        let (mut head, body) = response.into_parts();
        if let Some(because) = worse(&head).filter(|_| self.usable) {
            self.note_failure(because);
            duty.land(Landed::Worse(because));
            let until = Instant::now() + DRAINED.1;
            Drain::new(body, DRAINED.0, until).await;
            return;
        }
        let at = self.shared.wall();
        let answer = Answer { asked: &self.head, status: head.status, headers: &head.headers, at };
        let caching = self.shared.caching();
        if let Some(entry) = self.entry.as_ref().filter(|_| head.status == StatusCode::NOT_MODIFIED)
            && let Some(confirmed) = entry.confirmed(&answer, caching)
        {
            let confirmed = Arc::new(confirmed);
            self.shared.put(&self.head, &confirmed);
            return duty.land(Landed::Stored(confirmed));
        }
        let made = Entry::of(&answer, caching);
        let length = body.size_hint().lower();
        let made = made
            .filter(|_| length <= self.shared.max_entry as u64 && head.extensions.get::<Signal>().is_none());
        let stored = made.is_some();
        let told = match &self.entry {
            None => Told::Missed { stored },
            Some(_) => Told::Revalidated { status: head.status, stored },
        };
        tell(&mut head.headers, told);
        head.extensions.insert(Served::Live);
        let Some(entry) = made else {
            duty.land(Landed::Unshared);
            let _ = leader.send(Ok(Response::from_parts(head, StaleBody::live(body))));
            return;
        };
        let (feed, passing) = tee(duty.interest());
        let size = body.size_hint();
        let _ = leader.send(Ok(Response::from_parts(head, StaleBody::passing(passing, size))));
        let fed = tokio::select! {
            biased;
            fed = feed.feed(body, self.shared.max_entry) => fed,
            () = duty.abandoned() => return,
        };
        match fed {
            Fed::Whole(chunks) => {
                let entry = Arc::new(entry.with_body(&chunks));
                self.shared.put(&self.head, &entry);
                duty.land(Landed::Stored(entry));
            }
            Fed::TooLarge => duty.land(Landed::Unshared),
            Fed::Failed => duty.land(Landed::Lost),
        }
    }

    /// For a while it is not tried again; where the family was closed, its gate says for how long.
    fn note_failure(&self, because: Because) {
        if let (Some(entry), Because::Faulted | Because::ServerError) = (&self.entry, because) {
            entry.note_failure(clock::now());
        }
    }
}

/// Why this answer is worse than an old good one.
fn worse(head: &http::response::Parts) -> Option<Because> {
    if head.extensions.get::<Signal>().is_some() || head.status == StatusCode::TOO_MANY_REQUESTS {
        return Some(Because::Limited);
    }
    // Those that RFC 5861 section 4 names.
    matches!(head.status.as_u16(), 500 | 502..=504).then_some(Because::ServerError)
}
