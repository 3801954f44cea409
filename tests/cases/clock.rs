//! The tests' own clock.

use std::path::{Path, PathBuf};

use forbear::{Error, Spent};
use forbear_mock::{MockVendor, reply};
use http::StatusCode;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::support::{MILLISECOND, SECOND, get, registered, stacked};

// tokio-rs/tokio#4614, #4522, twilight-rs/twilight#2509: a paused clock ran past timeouts that were due.
#[tokio::test(start_paused = true)]
async fn case_74_a_sleep_meets_every_timer_on_its_way() {
    let mock = MockVendor::in_process().script(reply(200).delay(505 * MILLISECOND));
    let families = registered();
    let mut calls = JoinSet::new();
    for n in 1..=100_u32 {
        let budget = n * 10 * MILLISECOND;
        let vendor = stacked(&families, budget, &mock);
        calls.spawn(async move {
            let start = Instant::now();
            let ended = vendor.send(get("/")).await;
            (budget, start.elapsed(), ended.map(|answer| answer.status()))
        });
    }
    // One sleep over all of them: each ends in its own millisecond.
    tokio::time::sleep(2 * SECOND).await;
    while let Some(ended) = calls.join_next().await {
        let (budget, took, ended) = ended.unwrap();
        let due = budget.min(505 * MILLISECOND);
        assert!((due..=due + MILLISECOND).contains(&took), "{budget:?} took {took:?}");
        match ended {
            Ok(status) => assert!(status == StatusCode::OK && budget > due),
            Err(Error::BudgetExhausted(b)) => assert!(b.what() == Spent::Time && budget == due),
            Err(other) => unreachable!("{other:?}"),
        }
    }
}

/// Tests of what no sleep can bring about, since timers are whole milliseconds: a nanosecond.
const NANOSECONDS: &str = "crates/forbear-mock/tests/assertions.rs";

/// What is real I/O, in the words of this workspace.
const REAL: [&str; 4] = ["MockVendor::start(", "TcpListener", "TcpStream", "build_http("];

// tokio-rs/tokio#4614, #4522: with sockets a paused clock runs ahead while an answer is on its way, and a clock that is
// set forward skips timers.
#[test]
fn case_74_no_test_pauses_the_clock_over_sockets_or_sets_it_forward() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for part in ["crates", "tests", "examples"] {
        sources(&root.join(part), &mut files);
    }
    let mut paused = 0;
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for forward in
            [concat!("time::adv", "ance"), concat!("Instant, adv", "ance"), concat!("{adv", "ance")]
        {
            let set = text.contains(forward) && !file.ends_with(NANOSECONDS);
            assert!(!set, "{} sets the clock forward: sleep instead", file.display());
        }
        for body in text.split(concat!("start_paused", " = true)]")).skip(1) {
            paused += 1;
            // To the next function, or to the end of the example.
            let end = ["\n}", "# }\n", "```\n"].iter().filter_map(|end| body.find(end)).min();
            let body = &body[..end.unwrap_or(body.len())];
            let real = REAL.iter().find(|real| body.contains(**real));
            assert!(real.is_none(), "{} pauses the clock over {real:?}", file.display());
        }
    }
    assert!(paused > 100, "{paused} tests with a paused clock were found");
}

fn sources(at: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(at).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
