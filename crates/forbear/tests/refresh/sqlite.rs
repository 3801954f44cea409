//! All of it on one file: what a process leaves there, and the next one finds.

use std::sync::Arc;

use forbear::refresh::work::{Key, Phase, Row, SourceName};
use forbear::{CooldownStore, Families, Family, HealthPhase, Refresh, Source};
use forbear_core::store::{CooldownEntry, CooldownKey, Loaded, StoreFuture, WorkStore};
use forbear_core::work::Stamp;
use forbear_mock::{MockVendor, reply};
use forbear_sqlite::SqliteStore;
use tempfile::TempDir;

use crate::common::Told;
use crate::support::*;

/// What outlives a process: the file, the vendor, and what was stored.
struct Disk {
    directory: TempDir,
    mock: MockVendor,
    shelf: Shelf,
}

/// What does not.
struct Process {
    families: Families,
    store: Arc<TestStore>,
    refresh: Refresh,
    file: SqliteStore,
}

/// The file as a store of cool-downs, for which the paused clock stands.
#[derive(Debug)]
struct Cooldowns(SqliteStore);

impl CooldownStore for Cooldowns {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn load(&self, now: Stamp) -> StoreFuture<'_, Loaded> {
        Box::pin(async move { blocked(self.0.load(now)) })
    }

    fn save(&self, entries: Vec<CooldownEntry>, now: Stamp) -> StoreFuture<'_, Vec<CooldownEntry>> {
        Box::pin(async move { blocked(self.0.save(entries, now)) })
    }

    fn look_up(&self, keys: Vec<CooldownKey>, now: Stamp) -> StoreFuture<'_, Vec<CooldownEntry>> {
        Box::pin(async move { blocked(self.0.look_up(keys, now)) })
    }
}

impl Disk {
    fn new(mock: MockVendor) -> Self {
        Self { directory: tempfile::tempdir().unwrap(), mock, shelf: Shelf::new() }
    }

    /// A process that begins, and demands `keys`, as it does each time.
    async fn begins(&self, source: Source, keys: &[String]) -> Process {
        let file = SqliteStore::open(self.directory.path().join("forbear.db")).unwrap();
        let family = Family::new("quotes").host("quotes.test");
        let families = Families::builder().family(family).store(Cooldowns(file.clone())).build().unwrap();
        families.loaded().await.unwrap();
        let store = TestStore::over(file.clone(), true);
        let vendor = vendor(&families, &self.mock);
        let source = shelved(source, &self.shelf);
        let refresh = Refresh::builder(vendor, Arc::clone(&store)).source(source).build().unwrap();
        refresh.demand("quotes", keys).await.unwrap();
        Process { families, store, refresh, file }
    }
}

impl Process {
    async fn row(&self, key: &str) -> Row {
        let (source, key) = (SourceName::new("quotes").unwrap(), Key::new(key).unwrap());
        self.store.row(&source, &key).await.unwrap().unwrap()
    }

    /// It is told to stop, and does.
    async fn ends(self) {
        let Self { families, store, refresh, file } = self;
        drop((refresh, store));
        families.stored().await.unwrap();
        drop(families);
        tokio::time::sleep(SECOND).await;
        blocked(file.close());
    }

    /// It is gone where it stands, and writes nothing any more.
    async fn dies(self, running: Runs) {
        self.store.is(Mood::Gone);
        running.kill().await;
        tokio::time::sleep(MINUTE / 2).await;
        self.ends().await;
    }
}

#[tokio::test(start_paused = true)]
async fn due_work_survives_a_restart_and_what_was_done_is_not_done_again() {
    let disk = Disk::new(MockVendor::in_process().script(reply(200)));
    let keys = numbered(20);
    let process = disk.begins(quotes(), &keys).await;
    let running = run(&process.refresh);
    until(|| disk.shelf.len() >= 7).await;
    running.stop().await;
    process.ends().await;
    assert_eq!(disk.shelf.len(), 7);

    let process = disk.begins(quotes(), &keys).await;
    let running = run(&process.refresh);
    until(|| disk.shelf.len() >= 20).await;
    tokio::time::sleep(MINUTE).await;
    assert_eq!(disk.shelf.counts().into_keys().collect::<Vec<_>>(), keys);
    assert_eq!(disk.shelf.len(), 20, "each once");
    // And is due again when its hour is over, of which a part passed before the restart.
    tokio::time::sleep(HOUR).await;
    assert_eq!(disk.shelf.len(), 40);
    running.stop().await;
    process.ends().await;
}

#[tokio::test(start_paused = true)]
async fn a_run_that_was_cut_off_is_begun_again_after_its_lease_and_costs_an_attempt() {
    let disk = Disk::new(MockVendor::in_process().script([reply(200).delay(HOUR), reply(200)]));
    let keys = numbered(1);
    let process = disk.begins(quotes().timeout(2 * HOUR), &keys).await;
    let running = run(&process.refresh);
    until(|| disk.mock.attempts().len() == 1).await;
    // The lease is of that moment, or a little later.
    process.dies(running).await;

    let process = disk.begins(quotes(), &[]).await;
    let running = run(&process.refresh);
    tokio::time::sleep(20 * SECOND).await;
    assert!(matches!(process.row("00000").await.phase, Phase::Running(_)), "its lease is not over");
    assert_eq!(disk.mock.attempts().len(), 1);
    until(|| disk.shelf.len() == 1).await;
    let took = disk.shelf.times()[0].1;
    assert!(took < 63 * SECOND, "{took:?}");
    tokio::time::sleep(SECOND).await;
    let row = process.row("00000").await;
    assert_eq!((row.phase, row.attempts, row.done.is_some()), (Phase::Waiting, 0, true));
    running.stop().await;
    process.ends().await;
}

#[tokio::test(start_paused = true)]
async fn a_key_that_ends_its_process_each_time_fails_in_the_end() {
    let disk = Disk::new(MockVendor::in_process().script(reply(200).delay(HOUR)));
    let keys = numbered(1);
    let source = || quotes().timeout(2 * HOUR).max_attempts(3);
    for attempt in 0..3 {
        let process = disk.begins(source(), if attempt == 0 { &keys } else { &[] }).await;
        let running = run(&process.refresh);
        until(|| disk.mock.attempts().len() == attempt + 1).await;
        process.dies(running).await;
    }
    let process = disk.begins(source(), &[]).await;
    let running = run(&process.refresh);
    tokio::time::sleep(10 * MINUTE).await;
    let row = process.row("00000").await;
    assert_eq!((row.phase, row.attempts, disk.mock.attempts().len()), (Phase::Failed, 3, 3));
    running.stop().await;
    process.ends().await;
}

#[tokio::test(start_paused = true)]
async fn a_cool_down_is_kept_by_the_same_file_and_its_work_waits_in_its_place() {
    let script = [reply(200).times(3), reply(429).retry_after(3600), reply(200)];
    let disk = Disk::new(MockVendor::in_process().script(script));
    let keys = numbered(10);
    let process = disk.begins(quotes().every(10 * HOUR), &keys).await;
    let running = run(&process.refresh);
    until(|| disk.mock.attempts().len() == 4).await;
    tokio::time::sleep(SECOND).await;
    running.stop().await;
    process.ends().await;

    let process = disk.begins(quotes().every(10 * HOUR), &keys).await;
    assert_eq!(process.families.health().family("quotes").unwrap().phase, HealthPhase::Cooling);
    let running = run(&process.refresh);
    tokio::time::sleep(59 * MINUTE).await;
    assert_eq!((process.store.claims(), disk.mock.attempts().len()), (0, 4), "nobody calls it");
    let health = process.refresh.health().await;
    assert_eq!((health.sources[0].due, health.sources[0].skipped), (7, 7));
    until(|| disk.shelf.len() == 10).await;
    let order: Vec<_> = disk.shelf.times().into_iter().map(|(key, _)| key).collect();
    assert_eq!(order, keys, "what was refused comes first");
    assert_eq!(process.row("00003").await.attempts, 0);
    running.stop().await;
    process.ends().await;
}

#[tokio::test(start_paused = true)]
async fn a_result_that_was_stored_and_not_told_of_is_stored_again() {
    let disk = Disk::new(MockVendor::in_process().script(reply(200)));
    let keys = numbered(1);
    let process = disk.begins(quotes(), &keys).await;
    let running = run(&process.refresh);
    // Between the two: what is stored is stored, and the file is not told.
    while disk.shelf.len() == 0 {
        tokio::task::yield_now().await;
        if !disk.mock.attempts().is_empty() {
            process.store.is(Mood::Gone);
        }
    }
    process.dies(running).await;
    assert_eq!(disk.shelf.len(), 1);

    let process = disk.begins(quotes(), &[]).await;
    let running = run(&process.refresh);
    until(|| disk.shelf.len() == 2).await;
    tokio::time::sleep(30 * MINUTE).await;
    assert_eq!(disk.shelf.len(), 2, "and no more than that");
    running.stop().await;
    process.ends().await;
}

/// Two on one file at the same time share the work, and none is done twice.
#[tokio::test(start_paused = true)]
async fn two_processes_on_one_file_share_the_work() {
    let disk = Disk::new(MockVendor::in_process().script(reply(200).delay(SECOND)));
    let keys = numbered(200);
    let one = disk.begins(quotes().drain(3), &keys).await;
    let other = disk.begins(quotes().drain(3), &keys).await;
    let (first, second) = (run(&one.refresh), run(&other.refresh));
    until(|| disk.shelf.len() >= 200).await;
    tokio::time::sleep(MINUTE).await;
    assert_eq!(disk.shelf.counts().into_keys().collect::<Vec<_>>(), keys);
    assert_eq!(disk.shelf.len(), 200, "each once");
    let both = one.store.claims().min(other.store.claims());
    assert!(both > 3, "both claimed: {both}");
    first.stop().await;
    second.stop().await;
    one.ends().await;
    other.ends().await;
}

/// Its demands went with it, and nobody was told: nothing was refreshed any more.
#[tokio::test(start_paused = true)]
async fn a_file_that_is_removed_is_told_of_and_what_is_demanded_anew_is_refreshed() {
    let told = Told::default();
    told.listen();
    let disk = Disk::new(MockVendor::in_process().script(reply(200)));
    let keys = numbered(5);
    let process = disk.begins(quotes().every(MINUTE), &keys).await;
    let running = run(&process.refresh);
    until(|| disk.shelf.len() == 5).await;
    for file in std::fs::read_dir(disk.directory.path()).unwrap() {
        std::fs::remove_file(file.unwrap().path()).unwrap();
    }
    // Those who keep cool-downs are told first, and that tells the others nothing.
    let by = forbear::Operator::new("alice", "");
    process.families.pause("quotes", by.clone()).unwrap();
    let _ = process.families.stored().await;
    process.families.resume("quotes", by).unwrap();
    tokio::time::sleep(2 * MINUTE).await;
    let lost = "ERROR the store of the refresh lost all demands; demand anew what is wanted";
    let lines = told.take();
    assert_eq!(lines.iter().filter(|line| line.starts_with(lost)).count(), 1, "{lines:?}");
    let health = process.refresh.health().await;
    assert_eq!((health.losses, health.degraded, health.sources[0].waiting), (1, None, 0));
    let before = disk.shelf.len();
    process.refresh.demand("quotes", &keys).await.unwrap();
    tokio::time::sleep(SECOND).await;
    assert_eq!(disk.shelf.len(), before + 5);
    running.stop().await;
    process.ends().await;
}
