//! Many items over one service, on a paused clock.

mod bodies;
mod budgets;
mod cancellation;
mod crowds;
mod endings;
mod families;
mod liars;
mod outcomes;
mod panics;
mod places;
mod sources;
mod waits;

#[path = "../common/mod.rs"]
mod common;

use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use forbear::sweep::{Deferred, Done, Failed, Outcome, Report};
use forbear::{Families, Family, Sweep, Vendor};
use forbear_mock::{Attempt, MockService, MockVendor, Reply, reply, respond_with};
use http::Request;
use http_body_util::Empty;

type Body = Empty<Bytes>;

/// Two families at one vendor, told apart by path: `/a/1` and `/b/1`.
struct World {
    mock: MockVendor,
    families: Families,
}

impl World {
    fn new(respond: impl FnMut(&Attempt) -> Reply + Send + 'static) -> Self {
        Self::with(|family| family, respond)
    }

    /// The same, with something set for both families.
    fn with(set: impl Fn(Family) -> Family, respond: impl FnMut(&Attempt) -> Reply + Send + 'static) -> Self {
        let mock = MockVendor::in_process().script(respond_with(respond));
        let families = ["a", "b"].into_iter().fold(Families::builder(), |families, name| {
            families.family(set(Family::new(name).route(mock.authority(), format!("/{name}/{{*rest}}"))))
        });
        Self { mock, families: families.build().unwrap() }
    }

    fn vendor(&self) -> Vendor<MockService> {
        forbear::stack(&self.families).service(self.mock.service())
    }

    fn sweep(&self) -> Sweep<Vendor<MockService>> {
        Sweep::new(self.vendor())
    }

    /// The request of an item, which is a path.
    fn get(&self) -> impl Fn(&String) -> Request<Body> + Clone + use<> {
        let origin = self.mock.uri();
        move |path| Request::get(format!("{origin}{path}")).body(Body::new()).unwrap()
    }

    /// The paths that were sent, in order.
    fn sent(&self) -> Vec<String> {
        self.mock.attempts().iter().map(|attempt| attempt.path().to_owned()).collect()
    }

    fn sent_of(&self, family: char) -> usize {
        self.sent().iter().filter(|path| path.starts_with(&format!("/{family}/"))).count()
    }
}

/// Refuses the n-th attempts of family `a`, counted from 1, with a delay.
fn refuses(refused: &'static [usize], seconds: u64) -> impl FnMut(&Attempt) -> Reply + Send {
    let count = Mutex::new(0);
    move |attempt| {
        if !attempt.path().starts_with("/a/") {
            return reply(200);
        }
        let mut count = count.lock().unwrap();
        *count += 1;
        if refused.contains(&count) { reply(429).retry_after(seconds) } else { reply(200) }
    }
}

/// The items `/a/from` to `/a/to`.
fn items(family: char, numbers: std::ops::RangeInclusive<u32>) -> impl Iterator<Item = String> {
    numbers.map(move |number| format!("/{family}/{number}"))
}

/// How many are done, deferred and failed.
fn counts<T, R>(report: &Report<T, R>) -> (usize, usize, usize) {
    (report.done().len(), report.deferred().len(), report.failed().len())
}

fn done<R>(report: &Report<String, R>) -> Vec<&str> {
    report.done().iter().map(|Done { item, .. }| item.as_str()).collect()
}

fn deferred<R>(report: &Report<String, R>) -> Vec<&str> {
    report.deferred().iter().map(|Deferred { item, .. }| item.as_str()).collect()
}

/// What failed, where it did.
fn failed<T, R>(outcome: Option<Outcome<T, R>>) -> Option<Failed<T>> {
    match outcome {
        Some(Outcome::Failed(failed)) => Some(failed),
        _ => None,
    }
}

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
