//! One run: a contender meets a vendor, in the time of tokio's paused clock.
//!
//! Every call to a route asks for one URL, so that what `RetryAfterLayer` remembers of it is in play too. A run in a process
//! of its own is the same every time. Of several in one process only the first is: the layers count from their first
//! look at the clock, and a later run's paused clock begins anywhere beside it.

use std::rc::Rc;

use fastrand::Rng;
use forbear::Families;
use forbear_core::time::Monotonic;
use futures_util::future::{OptionFuture, join};
use http::Request;
use tokio::task::JoinSet;
use tokio::time::{sleep, sleep_until};

use crate::catalogue::Storm;
use crate::contender::{Body, Client, Contender, World};
use crate::figures::Run;
use crate::oracle::schedule;
use crate::scenario::{Load, Scenario, gap};
use crate::wire::{HEALTHY, HOST, Wire};
use crate::{SECOND, START};

/// A sweep is given up after so many passes.
const PASSES: usize = 100;

/// Plays `storm` to its end.
///
/// # Panics
/// When no runtime can be made, or a call panics.
#[must_use]
pub fn play(storm: &Storm, contender: Contender, seed: u64) -> Run {
    // Layers draw their jitter from the thread's generator.
    fastrand::seed(seed);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(run(storm, contender, Rng::with_seed(seed)))
}

/// A call that enters: its time, whether it is one to the healthy vendor, and its number.
type Entry = (Monotonic, bool, usize);

async fn run(storm: &Storm, contender: Contender, mut rng: Rng) -> Run {
    let scenario = &storm.scenario;
    let entries = scenario.load.entries(&mut rng);
    let schedule = schedule(scenario, &entries);
    let oracle = schedule.iter().flatten().count();
    let all = with_healthy(&entries, &mut rng);
    let run = Run { recovered: scenario.recovered, oracle, ..Run::default() };
    let wire = Wire::new((storm.mock)(), rng.fork(), run).await;

    let families: Vec<Families> = (0..scenario.replicas).map(|_| storm.families()).collect();
    let one_by_one = matches!(scenario.load, Load::OneByOne(_));
    let schedule = (!one_by_one).then(|| Rc::new(schedule));
    let clients: Vec<Client> = families
        .iter()
        .map(|families| {
            let world = World {
                wire: wire.clone(),
                families: families.clone(),
                deadline: scenario.deadline,
                vendor: scenario.vendor,
                schedule: schedule.clone(),
            };
            contender.client(&world)
        })
        .collect();

    let watch = tokio::spawn(watch(families, wire.clone()));
    let sweep: OptionFuture<_> = match scenario.load {
        Load::OneByOne(calls) => {
            clients.first().map(|client| sweep(client, &wire, calls, contender.throws_a_pass_away()))
        }
        _ => None,
    }
    .into();
    join(arrive(scenario, all, &clients, &wire), sweep).await;
    watch.abort();
    wire.note(|run, _| std::mem::take(run))
}

/// Lets the calls enter, and waits for all of them.
async fn arrive(scenario: &Scenario, entries: Vec<Entry>, clients: &[Client], wire: &Wire) {
    let mut calls = JoinSet::new();
    for (number, (entered, healthy, call)) in entries.into_iter().enumerate() {
        if matches!(scenario.load, Load::OneByOne(_)) && !healthy {
            continue;
        }
        sleep_until(wire.instant(entered)).await;
        // The healthy calls too go to the processes in turn.
        let turn = if healthy { number } else { call };
        let Some(client) = clients.get(turn % clients.len()) else { continue };
        let answer = client(call, request(healthy, scenario.route(call)));
        let wire = wire.clone();
        calls.spawn(async move {
            let entered = wire.now();
            let served = answer.await;
            wire.note(|run, now| {
                run.over(healthy, served, now.since(entered), now);
                if !healthy {
                    run.ended.push((entered, served));
                }
            });
        });
    }
    while let Some(ended) = calls.join_next().await {
        ended.expect("no call panics");
    }
}

fn request(healthy: bool, route: usize) -> Request<Body> {
    let host = if healthy { HEALTHY } else { HOST };
    Request::get(format!("http://{host}/{route}")).body(Body::new()).expect("a valid request")
}

/// Pass after pass, a second apart, until every item is done. An item that fails is left for the next pass; or ends the
/// pass, and the next begins with the first item.
async fn sweep(client: &Client, wire: &Wire, items: usize, throws_away: bool) {
    let mut open: Vec<usize> = (0..items).collect();
    for _ in 0..PASSES {
        let mut failed = Vec::new();
        for item in open {
            let entered = wire.now();
            let served = client(item, request(false, 0)).await;
            wire.note(|run, now| run.longest = run.longest.max(now.since(entered)));
            if !served {
                failed.push(item);
                if throws_away {
                    break;
                }
            }
        }
        if failed.is_empty() {
            return wire.note(|run, now| {
                (run.calls, run.served) = (items, items);
                run.last = now.since(START);
            });
        }
        open = if throws_away { (0..items).collect() } else { failed };
        sleep(SECOND).await;
    }
    wire.note(|run, now| {
        (run.calls, run.served) = (items, items.saturating_sub(open.len()));
        run.last = now.since(START);
    });
}

/// The entries, among them the calls to the healthy vendor: one for nine to the other.
fn with_healthy(entries: &[Monotonic], rng: &mut Rng) -> Vec<Entry> {
    let mut all: Vec<_> = entries.iter().enumerate().map(|(call, at)| (*at, false, call)).collect();
    if let (Some(first), Some(last)) = (entries.first(), entries.last()) {
        let span = last.since(*first).max(SECOND);
        let rate = entries.len() as f64 / 9.0 / span.as_secs_f64();
        let mut at = first.after(gap(rate, rng));
        while at < first.after(span) {
            all.push((at, true, 0));
            at = at.after(gap(rate, rng));
        }
    }
    all.sort();
    all
}

/// Notes strikes and recoveries to the second, and that the healthy host has none.
async fn watch(families: Vec<Families>, wire: Wire) {
    let mut seen = 0;
    loop {
        sleep(SECOND).await;
        let told = |name| {
            let of = |families: &Families| {
                families.health().family(name).map_or(0, |family| family.strikes + family.recoveries)
            };
            families.iter().map(of).sum::<u64>()
        };
        assert_eq!(told(HEALTHY), 0, "the healthy host is touched");
        let now = told(HOST);
        wire.note(|run, at| run.transitions.extend((seen..now).map(|_| at)));
        seen = now;
    }
}
