//! One run of a key: what is done, and what came of it.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use forbear_core::families::FamilyName;
use forbear_core::gate::Priority;
use forbear_core::work::{Key, LastError};
use http::{Request, Response, StatusCode};
use http_body::Body;
use tokio::time::timeout;
use tower_service::Service;

use super::source::{BoxFuture, Classify, Fetch, GateSource, HttpSource, Run, Source, Store};
use crate::body::BoxError;
use crate::{Budget, Error, FamilyGate, NoWait, Signal, Verdict};

/// Makes the future of one run.
pub(super) type Job = Arc<dyn Fn(Key) -> BoxFuture<Ran> + Send + Sync>;

/// What came of a run.
#[derive(Debug)]
pub(super) enum Ran {
    /// Its result is stored.
    Done,
    /// It was refused, or its vendor said that it is too much.
    Deferred(Deferral),
    Failed(LastError),
}

#[derive(Debug)]
pub(super) struct Deferral {
    /// Whether it is the source's whole family that is not to be called, and not a part of it, another, or this key alone.
    pub(super) whole: bool,
    /// When it is worth trying again, where somebody knows.
    pub(super) retry_in: Option<Duration>,
    pub(super) why: LastError,
}

impl Ran {
    /// In shadow mode nobody is left alone for what a vendor says.
    pub(super) fn in_shadow(self) -> Self {
        match self {
            Self::Deferred(Deferral { why, .. }) => {
                Self::Deferred(Deferral { whole: false, retry_in: None, why })
            }
            other => other,
        }
    }
}

/// A complete source that a service `V` can fetch: an [`HttpSource`], or a [`GateSource`], for which any `V` does.
pub trait SourceOf<V>: sealed::Complete<V> {}

impl<V, S: sealed::Complete<V>> SourceOf<V> for S {}

pub(super) mod sealed {
    use super::{FamilyGate, Job, Source};

    pub trait Complete<V> {
        #[doc(hidden)]
        fn source(&self) -> &Source;

        #[doc(hidden)]
        #[expect(private_interfaces, reason = "nobody else can name it, nor needs to")]
        fn job(self, vendor: &V, gate: &FamilyGate) -> Job;
    }
}

impl<V, B, RB> sealed::Complete<V> for HttpSource<B>
where
    V: Service<Request<B>, Response = Response<RB>> + Clone + Send + Sync + 'static,
    V::Error: Into<BoxError>,
    V::Future: Send,
    B: Send + 'static,
    RB: Body + Send + 'static,
    RB::Data: Send,
{
    fn source(&self) -> &Source {
        &self.source
    }

    #[expect(private_interfaces, reason = "nobody else can name it, nor needs to")]
    fn job(self, vendor: &V, _: &FamilyGate) -> Job {
        let Self { source, fetch, store } = self;
        let family = FamilyName::new(source.family.unwrap_or_default());
        let (most, limit, vendor) = (source.timeout, source.body_limit, vendor.clone());
        Arc::new(move |key| {
            let (vendor, fetch, store, family) =
                (vendor.clone(), Arc::clone(&fetch), Arc::clone(&store), family.clone());
            Box::pin(async move {
                let fetching = fetched(vendor, &fetch, &key, family, (most, limit));
                match timeout(most, fetching).await {
                    Err(_) => too_long("fetch", most),
                    Ok(Err(ran)) => ran,
                    Ok(Ok(response)) => stored(&store, key, response, most).await,
                }
            })
        })
    }
}

impl<V, T: Send + 'static> sealed::Complete<V> for GateSource<T> {
    fn source(&self) -> &Source {
        &self.source
    }

    #[expect(private_interfaces, reason = "nobody else can name it, nor needs to")]
    fn job(self, _: &V, gate: &FamilyGate) -> Job {
        let Self { source, run, classify, store } = self;
        let (most, family) = (source.timeout, source.family.unwrap_or_default());
        let gate = gate.clone().no_wait().priority(Priority::Background).budget(most).route(&source.name);
        Arc::new(move |key| {
            let (gate, run, classify) = (gate.clone(), Arc::clone(&run), Arc::clone(&classify));
            let (store, family) = (Arc::clone(&store), family.clone());
            Box::pin(async move {
                match ran((&gate, &family), &run, &classify, &key).await {
                    Err(ran) => ran,
                    Ok(output) => stored(&store, key, output, most).await,
                }
            })
        })
    }
}

/// Runs something through a gate.
async fn ran<T>(
    (gate, family): (&FamilyGate, &str),
    run: &Run<T>,
    classify: &Classify<T>,
    key: &Key,
) -> Result<T, Ran> {
    let said = Mutex::new(None);
    let classify = |output: &T| {
        let verdict = classify(output);
        *said.lock().unwrap_or_else(PoisonError::into_inner) = Some(verdict.clone());
        verdict
    };
    let output =
        gate.run(|| run(key.clone()), classify).await.map_err(|error| not_answered(&error, family))?;
    match said.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(Verdict::Good) => Ok(output),
        Some(Verdict::Bad(signal)) => Err(Ran::Deferred(Deferral {
            // Where it closed the family, its gate says so too.
            whole: false,
            retry_in: signal.delay.map(|delay| delay.duration),
            why: LastError::new(&signal.to_string()),
        })),
        _ => Err(Ran::Failed(LastError::new("what ran failed, by its own classification"))),
    }
}

/// Sends the request for a key, and reads the whole of a good answer.
async fn fetched<V, B, RB>(
    mut vendor: V,
    fetch: &Fetch<B>,
    key: &Key,
    own: FamilyName,
    (most, limit): (Duration, usize),
) -> Result<Response<Bytes>, Ran>
where
    V: Service<Request<B>, Response = Response<RB>>,
    V::Error: Into<BoxError>,
    RB: Body,
{
    let mut request = fetch(key).map_err(Ran::Failed)?;
    let extensions = request.extensions_mut();
    extensions.insert(NoWait);
    let _ = extensions.get_or_insert(Priority::Background);
    let _ = extensions.get_or_insert(own.clone());
    let _ = extensions.get_or_insert(Budget::within(most));
    let answered = async {
        poll_fn(|cx| vendor.poll_ready(cx)).await?;
        vendor.call(request).await
    };
    let response = answered.await.map_err(|error| not_answered(&Error::from_inner(error), own.as_str()))?;
    if let Some(signal) = response.extensions().get::<Signal>() {
        let retry_in = signal.retry_in();
        return Err(Ran::Deferred(Deferral {
            whole: retry_in.is_some()
                && signal.partition().is_none()
                && signal.family() == Some(own.as_str()),
            retry_in: retry_in.or(signal.delay.as_ref().map(|delay| delay.duration)),
            why: LastError::new(&signal.to_string()),
        }));
    }
    let status = response.status();
    match Verdict::unclassified(status) {
        Verdict::Good => {}
        // In shadow mode nobody reads it as a signal; it is none of the key's failures.
        _ if matches!(status.as_u16(), 429 | 529) => {
            let why = LastError::new(&format!("status {}", status.as_u16()));
            return Err(Ran::Deferred(Deferral { whole: false, retry_in: None, why }));
        }
        _ => return Err(answered_with(status)),
    }
    let (head, body) = response.into_parts();
    Ok(Response::from_parts(head, whole(body, limit).await?))
}

async fn whole<RB: Body>(body: RB, limit: usize) -> Result<Bytes, Ran> {
    let mut body = std::pin::pin!(body);
    let mut read = BytesMut::new();
    while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
        let Ok(frame) = frame else {
            return Err(Ran::Failed(LastError::new("the body of the answer broke off")));
        };
        let Ok(data) = frame.into_data() else { continue };
        if read.len().saturating_add(data.remaining()) > limit {
            let why = format!("the body of the answer is larger than {limit} bytes; raise body_limit");
            return Err(Ran::Failed(LastError::new(&why)));
        }
        bytes::BufMut::put(&mut read, data);
    }
    Ok(read.freeze())
}

async fn stored<T>(store: &Store<T>, key: Key, output: T, most: Duration) -> Ran {
    match timeout(most, store(key, output)).await {
        Ok(Ok(())) => Ran::Done,
        Ok(Err(why)) => Ran::Failed(why),
        Err(_) => too_long("store", most),
    }
}

fn too_long(what: &str, most: Duration) -> Ran {
    Ran::Failed(LastError::new(&format!("the {what} took longer than {most:?}")))
}

fn answered_with(status: StatusCode) -> Ran {
    Ran::Failed(LastError::new(&format!("status {}", status.as_u16())))
}

/// What an error of the stack means: a refusal, and what the vendor said last, cost no attempt.
fn not_answered(error: &Error, own: &str) -> Ran {
    let why = LastError::new(&error.to_string());
    let (whole, retry_in) = match error {
        Error::Cooling(cooling) => {
            // A recorded deadline is of one URL.
            let recorded = cooling.signal().is_none() && cooling.reason().as_str() == "retry-after";
            let whole = cooling.partition().is_none() && !recorded && cooling.family() == own;
            (whole, cooling.retry_in())
        }
        // One that never goes, since it costs too much, is in nobody's way.
        Error::Pacing(refused) => {
            (refused.retry_in().is_some() && refused.family() == own, refused.retry_in())
        }
        Error::BudgetExhausted(spent) if spent.last_signal().is_some() => (false, spent.retry_in()),
        // What a client says may hold the URL.
        _ => return Ran::Failed(why),
    };
    Ran::Deferred(Deferral { whole, retry_in, why })
}
