//! A caller: what it sends, how it reads, and when it goes away.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use forbear::{NoQueue, NoWait, Partition, Priority};
use futures_util::FutureExt;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use tokio::time::sleep;
use tower::ServiceExt;

use crate::client::Plan;
use crate::common::{cut, cut_when_woken};
use crate::world::{Layers, URL, World};

/// One call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller {
    pub(crate) url: &'static str,
    pub(crate) layers: Layers,
    pub(crate) budget: Duration,
    /// When it comes.
    pub(crate) after: Duration,
    pub(crate) no_wait: bool,
    pub(crate) no_queue: bool,
    pub(crate) background: bool,
    /// Whose limit it counts against.
    pub(crate) partition: Option<&'static str>,
    /// The body of its request.
    pub(crate) body: Plan,
    /// How long it holds the answer before it reads it.
    pub(crate) holds: Duration,
    /// After how many polls it goes away; `late` ones go away when they are woken once more.
    pub(crate) polls: usize,
    pub(crate) late: bool,
}

impl Caller {
    /// One that comes at once, waits, and stays to the end.
    pub(crate) fn new(layers: Layers) -> Self {
        Self {
            url: URL,
            layers,
            budget: Duration::from_secs(60),
            after: Duration::ZERO,
            no_wait: false,
            no_queue: false,
            background: false,
            partition: None,
            body: Plan::default(),
            holds: Duration::ZERO,
            polls: usize::MAX,
            late: false,
        }
    }

    /// Makes the call. `None` where it panicked or went away; else the status where there was one.
    pub(crate) async fn call(self, world: &World) -> Option<Option<StatusCode>> {
        sleep(self.after).await;
        let mut request = Request::put(self.url).body(world.client.request_body(self.body)).unwrap();
        if self.no_wait {
            request.extensions_mut().insert(NoWait);
        }
        if self.no_queue {
            request.extensions_mut().insert(NoQueue);
        }
        if let Some(partition) = self.partition {
            request.extensions_mut().insert(Partition::of(partition));
        }
        if self.background {
            request.extensions_mut().insert(Priority::Background);
        }
        let service = world.service(self.layers, self.budget);
        let call = async move {
            let response = service.oneshot(request).await.ok()?;
            if !self.holds.is_zero() {
                sleep(self.holds).await;
            }
            let status = response.status();
            // A body that fails is its caller's affair.
            let _ = response.into_body().collect().await;
            Some(status)
        };
        let call = world.wakers.count(call);
        let call = async {
            if self.late { cut_when_woken(call, self.polls).await } else { cut(call, self.polls).await }
        };
        AssertUnwindSafe(call).catch_unwind().await.ok().flatten()
    }
}

/// The wakers that were given to calls.
#[derive(Debug, Default)]
pub(crate) struct Wakers(Mutex<Vec<Weak<Counted>>>);

#[derive(Debug)]
struct Counted(Mutex<Waker>);

impl Wake for Counted {
    fn wake(self: Arc<Self>) {
        self.0.lock().unwrap().wake_by_ref();
    }
}

impl Wakers {
    /// Polls `call` with a waker of its own.
    async fn count<F: Future>(&self, call: F) -> F::Output {
        let mut call = pin!(call);
        let counted = Arc::new(Counted(Mutex::new(Waker::noop().clone())));
        self.0.lock().unwrap().push(Arc::downgrade(&counted));
        let waker = Waker::from(Arc::clone(&counted));
        poll_fn(|cx| -> Poll<F::Output> {
            *counted.0.lock().unwrap() = cx.waker().clone();
            call.as_mut().poll(&mut Context::from_waker(&waker))
        })
        .await
    }

    /// How many of them somebody still holds.
    pub(crate) fn held(&self) -> usize {
        self.0.lock().unwrap().iter().filter(|waker| waker.strong_count() > 0).count()
    }
}
