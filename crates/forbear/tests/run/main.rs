//! What is not HTTP goes through the gate of its family.

mod budgets;
mod cancellation;
mod families;
mod http;
mod outcomes;
mod panics;
mod parts;
mod recovery;
mod waits;

#[path = "../common/mod.rs"]
mod common;

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use forbear::{Class, Error, Families, Family, FamilyGate, HealthPhase, Verdict, signal::Signal};

/// One family: a vendor that is called over HTTP and by its command line tool.
fn social() -> Families {
    Families::builder().family(Family::new("social").host("social.test")).build().unwrap()
}

fn gate(families: &Families) -> FamilyGate {
    families.gate("social").unwrap()
}

/// The vendor says that it is too much, and how long to stay away.
fn limited(delay: Duration) -> Verdict {
    Signal::without_status(Class::Throttled).delay(delay).reason("rate_limit").into()
}

/// A run that is over at once, with what the vendor says in it.
async fn says(gate: &FamilyGate, verdict: Verdict) -> Result<&'static str, Error> {
    gate.run(|| ready("said"), |_| verdict).await
}

/// A family that cools for so long, since a run met a signal.
async fn cooling(delay: Duration) -> Families {
    let families = social();
    assert_eq!(says(&gate(&families), limited(delay)).await.unwrap(), "said");
    families
}

fn phase(families: &Families) -> HealthPhase {
    families.health().family("social").unwrap().phase
}

/// Runs that began, were counted, and are not over yet. Clones share the count.
#[derive(Clone, Default)]
struct Running {
    begun: Arc<AtomicUsize>,
    now: Arc<AtomicUsize>,
}

impl Running {
    fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }

    fn now(&self) -> usize {
        self.now.load(Ordering::SeqCst)
    }

    /// Counts a run from here until what is returned is dropped.
    fn begin(&self) -> Until {
        self.begun.fetch_add(1, Ordering::SeqCst);
        self.now.fetch_add(1, Ordering::SeqCst);
        Until(Arc::clone(&self.now))
    }
}

struct Until(Arc<AtomicUsize>);

impl Drop for Until {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
