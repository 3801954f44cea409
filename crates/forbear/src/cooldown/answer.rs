//! What an answer means for its family.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use forbear_core::coding::Decoder;
use forbear_core::dialect::{Dialect, Reading, Verdict};
use forbear_core::families::FamiliesId;
use forbear_core::gate::{Gate, Observed, Outcome};
use forbear_core::partition::Partition;
use forbear_core::signal::{Scope, Signal as Said};
use forbear_core::url::RedactedUrl;
use http::{HeaderMap, Response, StatusCode, Uri};
use http_body::Body;
use tokio::time::Instant;

use super::admitted::Admitted;
use super::future::Origin;
use crate::body::{Peek, Peeked};
use crate::extensions::{NoSignal, Signal, effective_uri};
use crate::order::TWO_STACKS;
use crate::whose::Counted;
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
    /// When the head came, by the wall clock.
    wall: SystemTime,
    /// The URL that answered, where the client was redirected.
    effective: Option<Uri>,
}

/// Whether the status of an answer settles what it means: it cannot be a signal, its own family was open, and nobody
/// redirected the client.
#[inline]
pub(super) fn is_plain<RB>(response: &Response<RB>, admitted: &Admitted, origin: &Origin) -> bool {
    origin.observed
        && admitted.was_open()
        && !origin.dialect.may_limit(response.status())
        && effective_uri(response).is_none_or(|uri| *uri == origin.uri)
}

/// Learns which bucket of its vendor a request counts in from the head of its answer, where that is news.
#[inline]
pub(super) fn learn(headers: &HeaderMap, admitted: &Admitted, origin: &Origin) {
    if let Some(route) = origin.counted.route
        && let Some(told) = origin.dialect.bucket_told(headers)
        && told != origin.counted.told
    {
        learn_anew(headers, route, told, admitted, origin);
    }
}

#[cold]
fn learn_anew(headers: &HeaderMap, route: Partition, told: u64, admitted: &Admitted, origin: &Origin) {
    if let Some(name) = origin.dialect.bucket(headers, clock::wall())
        && let Some(gate) = admitted.gate()
    {
        gate.learn_bucket(route, &name, told, clock::now());
    }
}

/// What the status of an answer says that is no signal.
#[inline]
pub(super) fn is_good(status: StatusCode) -> bool {
    matches!(Verdict::unclassified(status), Verdict::Good)
}

/// Judges an answer by its head; the verdict falls here, or after a look at the body.
pub(super) fn judge<RB: Body>(
    response: Response<RB>,
    admitted: &mut Admitted,
    origin: &Origin,
) -> Judged<RB> {
    let status = response.status();
    if response.extensions().get::<Signal>().is_some() {
        TWO_STACKS.report();
    }
    if !origin.observed {
        let mut response = response.map(Peeked::plain);
        // Whoever stands above may read it.
        if origin.dialect.may_limit(status) {
            origin.mark(response.extensions_mut());
        }
        return Judged::Return(response);
    }
    let effective = effective_uri(&response).filter(|uri| **uri != origin.uri).cloned();
    let wall = clock::wall();
    let reading = origin.dialect.read_head(status, response.headers(), wall);
    let wanted = origin.dialect.wants_body(&reading) && !response.body().is_end_stream();
    let decoder = if wanted { Decoder::for_headers(response.headers()) } else { None };
    let (head, body) = response.into_parts();
    let look_at = Box::new(Look { head, reading, wall, effective });
    let Some(decoder) = decoder else {
        return Judged::Return(look_at.finish(Peeked::plain(body), &Bytes::new(), admitted, origin));
    };
    let enough = Dialect::enough(&look_at.head.headers);
    if let Verdict::Bad(signal) = &look_at.reading.verdict {
        let from = Answerer::of(look_at.effective.as_ref(), origin);
        admitted.will_settle(Unsettled::new(signal, from));
    }
    let peek = Peek::decoded(body, decoder, look_until()).enough(enough);
    Judged::Look(peek, look_at)
}

/// A look ends with the budget, so that the vendor's answer is still returned.
fn look_until() -> Instant {
    let longest = Instant::now() + LOOK_FOR;
    budget::scope::budget().deadline().map_or(longest, |deadline| clock::to_instant(deadline).min(longest))
}

/// The path of a URL, which names a route in health and events.
fn route(uri: &Uri) -> Box<str> {
    uri.path().into()
}

/// Who answered.
#[derive(Clone, Copy)]
struct Answerer<'a> {
    uri: &'a Uri,
    /// Whether the client was redirected to it.
    elsewhere: bool,
    families: FamiliesId,
    counted: Counted,
}

impl<'a> Answerer<'a> {
    fn of(effective: Option<&'a Uri>, origin: &'a Origin) -> Self {
        let uri = effective.unwrap_or(&origin.uri);
        // Which route of another family the client was redirected to, nobody knows.
        let route = origin.counted.route.filter(|_| effective.is_none());
        let counted = Counted { route, ..origin.counted };
        Self { uri, elsewhere: effective.is_some(), families: origin.families, counted }
    }
}

/// A signal that was read in a head, and what it takes to settle it without its caller.
pub(super) struct Unsettled {
    signal: Said,
    uri: Uri,
    elsewhere: bool,
    families: FamiliesId,
    counted: Counted,
}

impl Unsettled {
    fn new(signal: &Said, from: Answerer<'_>) -> Self {
        let Answerer { uri, elsewhere, families, counted } = from;
        Self { signal: signal.clone(), uri: uri.clone(), elsewhere, families, counted }
    }

    /// Settles it as it is; nobody is there to wait for it.
    pub(super) fn settle(&self, admitted: &mut Admitted) {
        let Self { ref signal, ref uri, elsewhere, families, counted } = *self;
        let from = Answerer { uri, elsewhere, families, counted };
        let _ = settle_signal(signal, from, admitted);
    }
}

impl std::fmt::Debug for Unsettled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unsettled")
            .field("signal", &self.signal)
            .field("url", &RedactedUrl::of(&self.uri))
            .finish_non_exhaustive()
    }
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
        let Self { mut head, mut reading, wall, effective } = self;
        if !seen.is_empty() {
            reading = origin.dialect.read_body(head.status, &head.headers, seen, wall);
        }
        let from = Answerer::of(effective.as_ref(), origin);
        match reading.verdict {
            Verdict::Bad(signal) => {
                let (gate, observed) = settle_signal(&signal, from, admitted);
                let retry_at = observed.and_then(|observed| observed.retry_at);
                head.extensions.insert(Signal { said: Arc::new(signal), retry_at, gate });
                origin.mark(&mut head.extensions);
            }
            verdict => {
                let good = matches!(verdict, Verdict::Good);
                if effective.is_none() {
                    learn(&head.headers, admitted, origin);
                }
                // A good answer of another family says nothing about the one that was asked.
                let own = matches!(charged_to(from, false, admitted), Charged::Admitting);
                settle_plain(good && own, admitted, origin);
                head.extensions.insert(NoSignal);
            }
        }
        Response::from_parts(head, body)
    }
}

/// Charges a signal to the family of the URL that answered.
fn settle_signal(
    signal: &Said,
    from: Answerer<'_>,
    admitted: &mut Admitted,
) -> (Option<Arc<Gate>>, Option<Observed>) {
    let strikes = !signal.aged && signal.scope != Scope::Request;
    let route = route(from.uri);
    let charged = charged_to(from, strikes, admitted);
    if strikes {
        let family = match &charged {
            Charged::Admitting => admitted.gate(),
            Charged::Other(gate) => Some(Arc::clone(gate)),
            Charged::Nobody => None,
        };
        let part = family.and_then(|family| from.counted.part(signal, &family, &route, clock::now()));
        if let Some(gate) = part {
            let observed = admitted.settle_partition(&gate, signal, &route);
            return (Some(gate), Some(observed));
        }
    }
    match charged {
        Charged::Admitting => {
            let gate = admitted.gate();
            let observed = admitted.settle_signal(signal, &route);
            let apart = observed.as_ref().and_then(|observed| observed.apart.clone());
            (apart.or(gate), observed)
        }
        Charged::Other(gate) => {
            let sent = admitted.sent();
            admitted.settle(false);
            let observed = gate.observe(&gate.foreign(sent), Outcome::Bad(signal, &route), clock::now());
            events::emit_observed(&gate, &observed);
            (Some(observed.apart.clone().unwrap_or(gate)), Some(observed))
        }
        Charged::Nobody => {
            admitted.settle(false);
            (None, None)
        }
    }
}

/// Settles an answer of the family that was asked, and no signal.
#[inline]
pub(super) fn settle_plain(good: bool, admitted: &mut Admitted, origin: &Origin) {
    if good && origin.suspect {
        accepted(admitted, origin);
    }
    admitted.settle(good);
}

/// A route that was refused of late is accepted.
#[cold]
fn accepted(admitted: &Admitted, origin: &Origin) {
    if let Some(gate) = admitted.gate() {
        gate.route_accepted(origin.uri.path());
    }
}

/// Whom an answer is charged to.
enum Charged {
    /// The family that let the attempt through.
    Admitting,
    /// The family of the effective URL after redirects, or one made for a host that had none until now.
    Other(Arc<Gate>),
    Nobody,
}

fn charged_to(
    Answerer { uri, elsewhere, families, .. }: Answerer<'_>,
    make: bool,
    admitted: &Admitted,
) -> Charged {
    let admitting = admitted.gate();
    if !elsewhere && admitting.is_some() {
        return Charged::Admitting;
    }
    let member = if make { families.member_for(uri, clock::now()) } else { families.existing(uri) };
    match (member, admitting) {
        (Some(member), Some(gate)) if Arc::ptr_eq(&gate, &member.gate) => Charged::Admitting,
        (Some(member), _) => Charged::Other(Arc::clone(&member.gate)),
        (None, _) => Charged::Nobody,
    }
}
