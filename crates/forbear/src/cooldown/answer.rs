//! What an answer means for its family.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use forbear_core::dialect::{Dialect, Reading, Verdict};
use forbear_core::gate::{Gate, Observed, Outcome};
use forbear_core::signal::{Scope, Signal as Said};
use http::{HeaderMap, Response, Uri, header};
use http_body::Body;
use tokio::time::Instant;

use super::admitted::Admitted;
use super::future::Origin;
use crate::body::{Peek, Peeked};
use crate::extensions::{NoSignal, Signal, effective_uri};
use crate::{budget, clock, events};

/// How long a limited answer's body is waited for.
const LOOK_FOR: Duration = Duration::from_millis(250);

/// What is done with an answer.
pub(super) enum Judged<RB: Body> {
    Return(Response<Peeked<RB>>),
    Look(Peek<RB>, Box<Look>),
}

/// A limited answer whose body is looked at.
pub(super) struct Look {
    head: http::response::Parts,
    reading: Reading,
    /// The URL that answered, where the client was redirected.
    effective: Option<Uri>,
}

/// Judges an answer by its head; the verdict falls here, or after a look at the body.
pub(super) fn judge<RB: Body>(
    response: Response<RB>,
    admitted: &mut Admitted,
    origin: &Origin,
) -> Judged<RB> {
    let status = response.status();
    if !origin.observed {
        return Judged::Return(response.map(Peeked::plain));
    }
    let effective = effective_uri(&response).filter(|uri| **uri != origin.uri).cloned();
    if effective.is_none() && admitted.was_open() && !origin.dialect.may_limit(status) {
        admitted.settle(matches!(Verdict::unclassified(status), Verdict::Good));
        return Judged::Return(response.map(Peeked::plain));
    }
    let reading = origin.dialect.read_head(status, response.headers(), clock::wall());
    let look = origin.dialect.wants_body(&reading)
        && is_plain(response.headers())
        && !response.body().is_end_stream();
    let (head, body) = response.into_parts();
    let look_at = Box::new(Look { head, reading, effective });
    if !look {
        return Judged::Return(look_at.finish(Peeked::plain(body), &Bytes::new(), admitted, origin));
    }
    if let (Verdict::Bad(signal), None) = (&look_at.reading.verdict, &look_at.effective) {
        admitted.will_settle(signal.clone(), route(&origin.uri));
    }
    Judged::Look(Peek::new(body, Dialect::MAX_BODY, look_until()), look_at)
}

/// A look ends with the budget, so that the vendor's answer is still returned.
fn look_until() -> Instant {
    let longest = Instant::now() + LOOK_FOR;
    budget::scope::budget().deadline().map_or(longest, |deadline| clock::to_instant(deadline).min(longest))
}

/// Whether a body can be read as it is on the wire.
fn is_plain(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::CONTENT_ENCODING)
        .iter()
        .all(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// The path of a URL, which names a route in health and events.
fn route(uri: &Uri) -> Box<str> {
    uri.path().into()
}

impl Look {
    /// Settles the attempt, and makes the response that the caller gets.
    pub(super) fn finish<RB: Body>(
        self,
        body: Peeked<RB>,
        seen: &[u8],
        admitted: &mut Admitted,
        origin: &Origin,
    ) -> Response<Peeked<RB>> {
        let Self { mut head, mut reading, effective } = self;
        origin.dialect.read_body(&mut reading, seen);
        match reading.verdict {
            Verdict::Bad(signal) => {
                let (gate, observed) = settle_signal(&signal, effective.as_ref(), admitted, origin);
                let retry_at = observed.and_then(|observed| observed.retry_at);
                head.extensions.insert(Signal { said: Arc::new(signal), retry_at, gate });
            }
            verdict => {
                let good = matches!(verdict, Verdict::Good);
                settle_plain(good, effective.as_ref(), admitted, origin);
                head.extensions.insert(NoSignal);
            }
        }
        Response::from_parts(head, body)
    }
}

/// Charges a signal to the family of the URL that answered.
fn settle_signal(
    signal: &Said,
    effective: Option<&Uri>,
    admitted: &mut Admitted,
    origin: &Origin,
) -> (Option<Arc<Gate>>, Option<Observed>) {
    let uri = effective.unwrap_or(&origin.uri);
    let strikes = !signal.aged && signal.scope != Scope::Request;
    match charged_to(effective, strikes, admitted, origin) {
        Charged::Admitting => {
            let gate = admitted.gate();
            let observed = admitted.settle_signal(signal, &route(uri));
            (gate, observed)
        }
        Charged::Other(gate) => {
            let sent = admitted.sent();
            admitted.settle(false);
            let observed = gate.observe(&gate.foreign(sent), Outcome::Bad(signal, &route(uri)), clock::now());
            events::emit(gate.name(), &observed.events);
            (Some(gate), Some(observed))
        }
        Charged::Nobody => {
            admitted.settle(false);
            (None, None)
        }
    }
}

fn settle_plain(good: bool, effective: Option<&Uri>, admitted: &mut Admitted, origin: &Origin) {
    // A good answer of another family says nothing about the one that was asked.
    let own = matches!(charged_to(effective, false, admitted, origin), Charged::Admitting);
    admitted.settle(good && own);
}

/// Whom an answer is charged to.
enum Charged {
    /// The family that let the attempt through.
    Admitting,
    /// The family of the effective URL after redirects, or one made for a host that had none until now.
    Other(Arc<Gate>),
    Nobody,
}

fn charged_to(effective: Option<&Uri>, make: bool, admitted: &Admitted, origin: &Origin) -> Charged {
    let admitting = admitted.gate();
    if effective.is_none() && admitting.is_some() {
        return Charged::Admitting;
    }
    let uri = effective.unwrap_or(&origin.uri);
    let member =
        if make { origin.families.member_for(uri, clock::now()) } else { origin.families.existing(uri) };
    match (member, admitting) {
        (Some(member), Some(gate)) if Arc::ptr_eq(&gate, &member.gate) => Charged::Admitting,
        (Some(member), _) => Charged::Other(Arc::clone(&member.gate)),
        (None, _) => Charged::Nobody,
    }
}
