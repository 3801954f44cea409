use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use forbear::refresh::work::Phase;
use forbear::signal::Signal;
use forbear::{Class, Refresh, Source, Verdict};

use crate::support::*;

fn classify(said: &Result<u32, &'static str>) -> Verdict {
    match said {
        Ok(_) => Verdict::Good,
        Err("limited") => Signal::without_status(Class::Throttled)
            .delay(Duration::from_secs(90))
            .reason("rate_limit")
            .into(),
        Err(_) => Verdict::Neutral,
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_not_http_goes_through_the_gate_of_its_family() {
    let (families, shelf, calls) = (families(&["social"]), Shelf::new(), Arc::new(AtomicUsize::new(0)));
    let (stored, counted) = (shelf.clone(), Arc::clone(&calls));
    let source = Source::new("posts").family("social").every(HOUR);
    let source = source
        .run(
            move |_| {
                let call = counted.fetch_add(1, Ordering::SeqCst);
                async move {
                    match call {
                        0 => Err("limited"),
                        1 => Err("no network"),
                        _ => Ok(7),
                    }
                }
            },
            classify,
        )
        .store(move |key, said| {
            assert_eq!(said, Ok(7));
            stored.put(&key);
            async { Ok::<_, std::io::Error>(()) }
        });
    let refresh = Refresh::over(&families, (), TestStore::new()).source(source).build().unwrap();
    refresh.demand("posts", ["me"]).await.unwrap();
    let running = run(&refresh);
    tokio::time::sleep(SECOND).await;
    assert_eq!(families.health().to_string(), "social  cooling 1m29s  rate_limit  via posts");
    let row = refresh.row("posts", "me").await.unwrap().unwrap();
    assert_eq!((row.attempts, row.deferrals, row.phase), (0, 1, Phase::Waiting));
    tokio::time::sleep(85 * SECOND).await;
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    until(|| calls.load(Ordering::SeqCst) == 2).await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(refresh.row("posts", "me").await.unwrap().unwrap().attempts, 1);
    until(|| shelf.len() == 1).await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_what_runs_is_a_failure_and_frees_the_gate() {
    let families = families(&["social"]);
    let source = Source::new("posts").family("social").max_attempts(1);
    let source = source
        .run(|_| async { panic!("a bug in the client") }, |(): &()| Verdict::Good)
        .store(|_, ()| async { Ok::<_, std::io::Error>(()) });
    let refresh = Refresh::over(&families, (), TestStore::new()).source(source).build().unwrap();
    refresh.demand("posts", ["me"]).await.unwrap();
    let running = run(&refresh);
    tokio::time::sleep(SECOND).await;
    let row = refresh.row("posts", "me").await.unwrap().unwrap();
    assert_eq!((row.phase, row.error.unwrap().as_str()), (Phase::Failed, "it panicked"));
    assert_eq!(families.health().to_string(), "social  open");
    running.stop().await;
}

/// It was taken at its word for one key, whatever became of the family: that was never refreshed again.
#[tokio::test(start_paused = true)]
async fn a_word_of_ten_years_is_taken_for_a_day() {
    let (families, shelf, calls) = (families(&["social"]), Shelf::new(), Arc::new(AtomicUsize::new(0)));
    let (stored, counted) = (shelf.clone(), Arc::clone(&calls));
    let source = Source::new("posts").family("social").every(HOUR);
    let ten_years = Duration::from_secs(10 * 365 * 24 * 3600);
    let source = source
        .run(
            move |_| {
                let call = counted.fetch_add(1, Ordering::SeqCst);
                async move { call > 0 }
            },
            move |good| match good {
                true => Verdict::Good,
                false => Signal::without_status(Class::Throttled).delay(ten_years).into(),
            },
        )
        .store(move |key, _| {
            stored.put(&key);
            async { Ok::<_, std::io::Error>(()) }
        });
    let refresh = Refresh::over(&families, (), TestStore::new()).source(source).build().unwrap();
    refresh.demand("posts", ["me"]).await.unwrap();
    let running = run(&refresh);
    tokio::time::sleep(26 * HOUR).await;
    assert!(shelf.len() >= 1, "{} calls", calls.load(Ordering::SeqCst));
    running.stop().await;
}
