//! Futures side by side, polled in the same order in every run.
//!
//! Timers that end at the same millisecond wake their tasks in an order that hangs on when the runtime began. So all
//! that were woken are polled by number. None is polled that was not woken.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

struct Woken {
    number: usize,
    all: Arc<Mutex<(BTreeSet<usize>, Option<Waker>)>>,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        let crowd = {
            let mut all = self.all.lock().unwrap();
            let _ = all.0.insert(self.number);
            all.1.take()
        };
        if let Some(crowd) = crowd {
            crowd.wake();
        }
    }
}

/// Runs all `futures` to their ends; what they ended in, in their order.
pub(crate) async fn all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut futures: Vec<_> = futures.into_iter().map(|future| Some(Box::pin(future))).collect();
    let mut ended: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    let woken = Arc::new(Mutex::new(((0..futures.len()).collect::<BTreeSet<_>>(), None)));
    let waker = |number| Waker::from(Arc::new(Woken { number, all: Arc::clone(&woken) }));
    let wakers: Vec<_> = (0..futures.len()).map(waker).collect();
    poll_fn(|cx| {
        let now = {
            let mut woken = woken.lock().unwrap();
            woken.1 = Some(cx.waker().clone());
            std::mem::take(&mut woken.0)
        };
        for number in now {
            let Some(future) = &mut futures[number] else { continue };
            if let Poll::Ready(end) = future.as_mut().poll(&mut Context::from_waker(&wakers[number])) {
                ended[number] = Some(end);
                futures[number] = None;
            }
        }
        if futures.iter().all(Option::is_none) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    ended.into_iter().flatten().collect()
}
