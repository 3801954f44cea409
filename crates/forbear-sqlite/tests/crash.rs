//! `kill -9` in the middle of everything. A child process (this binary, again) writes cool-downs, refresh work and answers as fast as it can,
//! and says what it was told is durable; it is killed at a moment that is drawn. Again and again, on one file.
//!
//! `FORBEAR_KILLS=200` kills more often than CI does.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use forbear::{Families, Family, Operator};
use forbear_core::store::{
    CooldownStore, Finish, ResponseKey, ResponseStore, Rows, StoredResponse, WorkStore,
};
use forbear_core::work::{DemandReason, Key, LastError, Outcome, SourceName, Stamp, Terms, Token};
use forbear_sqlite::SqliteStore;
use http::{HeaderMap, StatusCode};

const FILE: &str = "FORBEAR_TEST_FILE";
const SEED: &str = "FORBEAR_TEST_SEED";
const FAMILIES: usize = 20;
const LEASE: Duration = Duration::from_secs(30);

#[expect(clippy::disallowed_methods, reason = "what is in a file is by the wall clock")]
fn now() -> Stamp {
    Stamp::of(SystemTime::now())
}

fn source() -> SourceName {
    SourceName::new("quote").unwrap()
}

fn says(line: &str) {
    let mut out = std::io::stdout().lock();
    // Who listens has killed this process, or is about to.
    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}

/// Cools families, and says until when one cools once that is durable.
async fn cools(families: Families, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    loop {
        let family = format!("family-{}", random.usize(0..FAMILIES));
        let duration = Duration::from_secs(random.u64(60..86_400));
        // However long that takes, it is not over before.
        let until = now().after(duration).as_millis();
        families.cool(&family, duration, Operator::new("test", "")).unwrap();
        if families.stored().await.is_ok() {
            says(&format!("\ncools {family} {until}\n"));
        }
    }
}

/// Demands keys, and says which once that is durable; claims, and finishes most of what it claimed.
async fn refreshes(store: SqliteStore, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let reason = DemandReason::new("watchlist").unwrap();
    loop {
        let keys: Vec<_> =
            (0..random.usize(1..20)).map(|_| Key::new(format!("{:08x}", random.u32(..))).unwrap()).collect();
        store.demand(&source(), &keys, &reason, now()).await.unwrap();
        let names: Vec<_> = keys.iter().map(Key::as_str).collect();
        says(&format!("\ndemands {}\n", names.join(" ")));
        let token = Token(random.u64(..));
        let terms = Terms { now: now(), lease: LEASE, token, max_attempts: 1_000 };
        let claims = store.claim(&source(), 20, &terms).await.unwrap();
        let mut runs = Vec::new();
        for kept in claims.claimed {
            if random.u8(..) > 40 {
                runs.push(Finish { key: kept.key, token, outcome: outcome(&mut random) });
            }
        }
        store.finish(&source(), &runs, now()).await.unwrap();
    }
}

fn outcome(random: &mut fastrand::Rng) -> Outcome {
    let later = now().after(Duration::from_secs(random.u64(1..600)));
    let error = LastError::new("too many requests");
    match random.u8(0..4) {
        0 => Outcome::Deferred { until: later, stall: Duration::from_secs(86_400), error },
        1 => Outcome::Failed { retry: later, earliest: now(), max_attempts: 1_000, error },
        _ => Outcome::Done { next: later, earliest: now() },
    }
}

fn answer(key: u64, number: u64) -> StoredResponse {
    StoredResponse {
        key: ResponseKey { what: key.into(), whose: 0 },
        variant: 0,
        host: "vendor.test".into(),
        family: None,
        status: StatusCode::OK,
        fields: HeaderMap::new(),
        body: format!("{number} {}", "x".repeat(usize::try_from(number % 7).unwrap() * 1_000)).into(),
        age: Duration::ZERO,
    }
}

/// Keeps answers, and says which once that is durable; removes some, says so before, and that they are gone once that is durable.
async fn answers(store: SqliteStore, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut number = now().as_millis() * 1_000;
    loop {
        let keys: Vec<_> = (0..random.u64(1..5)).map(|_| random.u64(..30)).collect();
        number += 1;
        let words: Vec<_> = keys.iter().map(u64::to_string).collect();
        let words = words.join(" ");
        if random.u8(..3) == 0 {
            says(&format!("\nremoves {number} {words}\n"));
            let keys = keys.iter().map(|key| answer(*key, 0).key).collect();
            store.remove(keys).await.unwrap();
            says(&format!("\ngone {number} {words}\n"));
        } else {
            store.put(keys.iter().map(|key| answer(*key, number)).collect(), now()).await.unwrap();
            says(&format!("\nholds {number} {words}\n"));
        }
    }
}

async fn child(file: &str, seed: u64) {
    let store = SqliteStore::open(file).unwrap();
    let builder = (0..FAMILIES).map(|at| Family::new(format!("family-{at}")));
    let builder = builder.fold(Families::builder(), forbear::FamiliesBuilder::family);
    let families = builder.store(store.clone()).build().unwrap();
    families.loaded().await.unwrap();
    for at in 0..3 {
        tokio::spawn(refreshes(store.clone(), seed.wrapping_add(at)));
    }
    tokio::spawn(answers(store, seed));
    cools(families, seed).await;
}

/// What was said to be durable, of all children.
#[derive(Default)]
struct Said {
    cools: HashMap<String, u64>,
    demanded: HashSet<String>,
    answers: HashMap<u64, Answer>,
}

/// What was said of an answer last.
enum Answer {
    /// That, or a later one, is there.
    Holds(u64),
    /// Whatever there was may be gone.
    Removes,
    /// If there is one it came after this.
    Gone(u64),
}

impl Said {
    /// Whether the line said anything; the test harness of the child writes, too.
    fn take(&mut self, line: &str) -> bool {
        let mut words = line.split(' ');
        match words.next() {
            Some("cools") => {
                let family = words.next().unwrap();
                let until: u64 = words.next().unwrap().parse().unwrap();
                let known = self.cools.entry(family.to_owned()).or_default();
                *known = until.max(*known);
            }
            Some(of @ ("holds" | "removes" | "gone")) => {
                let numbers: Vec<u64> = words.map(|word| word.parse().unwrap()).collect();
                for key in &numbers[1..] {
                    let last = match of {
                        "holds" => Answer::Holds(numbers[0]),
                        "removes" => Answer::Removes,
                        _ => Answer::Gone(numbers[0]),
                    };
                    self.answers.insert(*key, last);
                }
            }
            Some("demands") => self.demanded.extend(words.map(str::to_owned)),
            _ => return false,
        }
        true
    }
}

/// Runs a child, and kills it after it has said something and then some time.
fn kill_one(file: &Path, seed: u64, said: &mut Said, random: &mut fastrand::Rng) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "nothing_that_was_said_to_be_durable_is_lost_when_a_process_is_killed",
            "--nocapture",
        ])
        .env(FILE, file)
        .env(SEED, seed.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (lines, heard) = std::sync::mpsc::channel();
    let out = child.stdout.take().unwrap();
    let listens = std::thread::spawn(move || {
        let mut out = BufReader::new(out);
        let mut line = String::new();
        // One that was cut off by the kill has no end, and was not said.
        while out.read_line(&mut line).is_ok_and(|read| read > 0) && line.ends_with('\n') {
            let _ = lines.send(line.trim_end().to_owned());
            line.clear();
        }
    });
    while !said.take(&heard.recv_timeout(Duration::from_secs(60)).unwrap()) {}
    let lives = Duration::from_micros(random.u64(0..250_000));
    let (_open, ends) = std::sync::mpsc::channel::<()>();
    let _ = ends.recv_timeout(lives);
    child.kill().unwrap();
    let _ = child.wait().unwrap();
    listens.join().unwrap();
    for line in heard {
        let _ = said.take(&line);
    }
}

/// Opens the file as the next process does, and looks whether all is there.
async fn check(file: &Path, said: &Said, kill: usize) {
    let store = SqliteStore::open(file).unwrap();
    assert_eq!(store.note(), None, "kill {kill}");
    let opened = now();
    let loaded = store.load(opened).await.unwrap();
    let mut known = HashMap::new();
    for entry in loaded.entries {
        known.insert(entry.key.family.to_string(), opened.after(entry.transition.remaining).as_millis());
    }
    for (family, until) in &said.cools {
        let kept = known.get(family).copied().unwrap_or_default();
        assert!(kept >= *until, "kill {kill}: {family} cools until {kept}, and {until} was durable");
    }
    let page = Rows { limit: usize::MAX, ..Rows::default() };
    let rows = store.rows(&source(), &page).await.unwrap();
    let wanted: HashSet<_> =
        rows.iter().filter(|kept| !kept.row.reasons.is_empty()).map(|kept| kept.key.as_str()).collect();
    for key in &said.demanded {
        assert!(wanted.contains(&**key), "kill {kill}: {key} is lost");
    }
    for (key, last) in &said.answers {
        let found = store.find(answer(*key, 0).key, now()).await.unwrap();
        assert_eq!(found.dropped, 0, "kill {kill}");
        let number = found.responses.first().map(|found| {
            let body = std::str::from_utf8(&found.body).unwrap();
            let number: u64 = body.split(' ').next().unwrap().parse().unwrap();
            assert_eq!(found.body, answer(*key, number).body, "kill {kill}");
            number
        });
        match (last, number) {
            (Answer::Holds(said), number) => assert!(number >= Some(*said), "kill {kill}: {key} is lost"),
            (Answer::Gone(said), Some(number)) => assert!(number > *said, "kill {kill}: {key} is back"),
            (Answer::Removes | Answer::Gone(_), _) => {}
        }
    }
    store.close().await;
}

/// When all leases are over everything can be claimed, and nothing is held by who was killed.
async fn claim_all(file: &Path) {
    let store = SqliteStore::open(file).unwrap();
    let sources = [source()];
    let before = store.tally(&sources, now()).await.unwrap()[0];
    let late = now().after(Duration::from_secs(86_400 * 2));
    let terms = Terms { now: late, lease: LEASE, token: Token(1), max_attempts: u32::MAX };
    let mut claimed: u64 = 0;
    let mut reclaimed: u64 = 0;
    loop {
        let claims = store.claim(&source(), 1_000, &terms).await.unwrap();
        if claims.claimed.is_empty() {
            break;
        }
        claimed += claims.claimed.len() as u64;
        reclaimed += claims.reclaimed;
        let done = Outcome::Done { next: late.after(LEASE), earliest: late };
        let runs: Vec<_> = claims
            .claimed
            .into_iter()
            .map(|kept| Finish { key: kept.key, token: Token(1), outcome: done.clone() })
            .collect();
        store.finish(&source(), &runs, late).await.unwrap();
    }
    let after = store.tally(&sources, late).await.unwrap()[0];
    assert_eq!((after.running, after.due, after.failed), (0, 0, 0));
    assert_eq!((claimed, reclaimed), (before.waiting + before.running, before.running));
    println!("{claimed} keys, {reclaimed} of them held by processes that were killed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_was_said_to_be_durable_is_lost_when_a_process_is_killed() {
    if let Ok(file) = std::env::var(FILE) {
        return child(&file, std::env::var(SEED).unwrap().parse().unwrap()).await;
    }
    let kills = std::env::var("FORBEAR_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(25);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("forbear.db");
    let mut random = fastrand::Rng::new();
    let mut said = Said::default();
    for kill in 0..kills {
        let seed = random.u64(..);
        tokio::task::block_in_place(|| kill_one(&file, seed, &mut said, &mut random));
        // Now and then the next child finds the file as the last one left it.
        if kill % 3 != 1 || kill + 1 == kills {
            check(&file, &said, kill).await;
        }
    }
    claim_all(&file).await;
    println!(
        "{kills} kills: {} families, {} keys and {} answers were said to be durable",
        said.cools.len(),
        said.demanded.len(),
        said.answers.len()
    );
    assert!(said.demanded.len() > kills && !said.cools.is_empty() && said.answers.len() == 30);
}
