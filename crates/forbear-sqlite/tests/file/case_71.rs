//! Case 71: `anthony-chaudhary/fak#4671`, `diegosouzapw/OmniRoute#11354`, `koala73/worldmonitor#6252`. A state file that was written
//! by half made a store unreadable for ever; a restart erased a cool-down of days, and a timer fired 76 doomed calls.

use std::fs;
use std::time::Duration;

use forbear::{Families, Family, FamilyHealth, GateSettings, HealthPhase, NoWait, stack};
use forbear_core::gate::Transition;
use forbear_core::store::CooldownStore;
use forbear_core::work::Stamp;
use forbear_mock::{MockVendor, reply};
use forbear_sqlite::SqliteStore;
use http_body_util::Empty;

use crate::{aside, directory, entry, families, now, path, written};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How many of the cuts are tried: each byte near the ends of the head and of pages, and one in so many others. `1` tries all.
fn stride() -> usize {
    std::env::var("FORBEAR_CUT_EVERY").ok().and_then(|every| every.parse().ok()).unwrap_or(199)
}

#[tokio::test]
async fn case_71_cut_off_at_every_byte_it_opens_and_is_whole_or_empty() {
    let directory = directory();
    let other = path(&directory);
    written(&other, &["a", "b"]).await;
    let bytes = fs::read(&other).unwrap();
    let (mut kept, mut cuts) = (0, 0);
    for cut in 0..bytes.len() {
        let edge = cut < 110 || cut % 4096 < 2 || cut % 4096 > 4093;
        if !edge && cut % stride() != 0 {
            continue;
        }
        cuts += 1;
        let directory = crate::directory();
        let path = crate::path(&directory);
        fs::write(&path, &bytes[..cut]).unwrap();
        let store = SqliteStore::open(&path).unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        let known = families(&store).await;
        assert!(known.is_empty() || known == ["a", "b"], "cut at {cut}: {known:?}");
        // Nothing is thrown away, but for the empty file, in which nothing was.
        assert_eq!(aside(&directory).len(), usize::from(cut > 0 && known.is_empty()), "cut at {cut}");
        store.save(vec![entry("c", Duration::from_secs(60))], now()).await.unwrap();
        kept += usize::from(!known.is_empty());
    }
    println!("{cuts} cuts of {} bytes, {kept} of them harmless", bytes.len());
}

/// Rows whose deadline is so many seconds away, whatever was written.
async fn with_deadline(ends_in: i64, length: Duration) -> Option<(FamilyHealth, usize)> {
    let directory = directory();
    let path = path(&directory);
    let store = SqliteStore::open(&path).unwrap();
    store.save(vec![entry("vendor", length)], now()).await.unwrap();
    store.close().await;
    let connection = rusqlite::Connection::open(&path).unwrap();
    let until = i64::try_from(now().as_millis()).unwrap() + ends_in * 1000;
    let forget = until.max(0) + 1_000_000;
    let changed = connection
        .execute("UPDATE cooldowns SET until_ms = ?1, forget_ms = ?2, saved_ms = ?1", [until, forget])
        .unwrap();
    assert_eq!(changed, 1);
    drop(connection);
    let settings = GateSettings::registered().max_advertised(7 * DAY);
    let family = Family::new("vendor").host("vendor.test").gate(settings);
    let store = SqliteStore::open(&path).unwrap();
    let families = Families::builder().family(family).store(store).build().unwrap();
    families.loaded().await.unwrap();
    // The calls that a timer would fire.
    let mock = MockVendor::in_process().script([reply(200)]);
    let vendor = stack(&families).service(mock.service());
    for _ in 0..76 {
        let mut request =
            http::Request::get("http://vendor.test/a").body(Empty::<bytes::Bytes>::new()).unwrap();
        request.extensions_mut().insert(NoWait);
        let _ = vendor.send(request).await;
    }
    let health = families.health().family("vendor").cloned();
    health.map(|health| (health, mock.attempts().len()))
}

#[tokio::test]
async fn case_71_a_cooldown_of_three_days_is_kept_over_a_restart() {
    let (health, calls) = with_deadline(3 * 86_400, 4 * DAY).await.unwrap();
    assert_eq!((health.phase, calls), (HealthPhase::Cooling, 0));
    let left = health.remaining.unwrap();
    assert!((3 * DAY - Duration::from_secs(60)..=3 * DAY).contains(&left), "{left:?}");
}

#[tokio::test]
async fn case_71_one_that_ended_three_seconds_ago_is_over() {
    let (health, calls) = with_deadline(-3, Duration::from_secs(60)).await.unwrap();
    assert_ne!(health.phase, HealthPhase::Cooling);
    assert!(calls > 0);
}

#[tokio::test]
async fn case_71_one_that_ends_in_ten_years_is_as_long_as_it_was_recorded() {
    let (health, calls) = with_deadline(10 * 365 * 86_400, Duration::from_secs(600)).await.unwrap();
    let left = health.remaining.unwrap();
    assert!((Duration::from_secs(540)..=Duration::from_secs(600)).contains(&left), "{left:?}");
    assert_eq!(calls, 0);
}

#[tokio::test]
async fn case_71_one_longer_than_a_vendor_may_ask_is_cut() {
    let (health, _) = with_deadline(300 * 86_400, 300 * DAY).await.unwrap();
    assert!(health.remaining.unwrap() <= 7 * DAY);
}

#[tokio::test]
async fn case_71_a_row_that_was_clamped_does_not_begin_anew_at_every_restart() {
    let directory = directory();
    let path = path(&directory);
    written(&path, &["a"]).await;
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection
        .execute("UPDATE cooldowns SET until_ms = 9000000000000000000, forget_ms = 9000000000000000000", [])
        .unwrap();
    drop(connection);
    let remaining = async |ahead: u64| {
        let store = SqliteStore::open(&path).unwrap();
        let loaded = store.load(Stamp::from_millis(now().as_millis() + ahead * 1_000)).await.unwrap();
        store.close().await;
        let Transition { remaining, .. } = loaded.entries[0].transition;
        (loaded.mended, remaining.as_secs().div_ceil(60))
    };
    assert_eq!(remaining(0).await, (1, 60));
    assert_eq!(remaining(1_200).await, (0, 40));
}

#[tokio::test]
async fn case_71_rows_that_say_nonsense_are_left_out_and_the_rest_is_kept() {
    let directory = directory();
    let path = path(&directory);
    written(&path, &["a", "b", "c", "d"]).await;
    let connection = rusqlite::Connection::open(&path).unwrap();
    let batch = "UPDATE cooldowns SET epoch = -1 WHERE family = 'a';
        UPDATE cooldowns SET level = 9000, pace = 9e999, struck = '{' WHERE family = 'b';
        UPDATE cooldowns SET length_ms = -5, by_who = char(27, 7), pause_ms = -1, pause_who = 'eve' WHERE family = 'c';";
    connection.execute_batch(batch).unwrap();
    drop(connection);
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(families(&store).await, ["b", "c", "d"]);
    assert_eq!(store.note(), None);
}
