//! A gRPC server's limit is kept to, and streams pass.

use std::time::Duration;

use forbear::{Budget, Error, Families, FamilyHealth, HealthPhase};
use forbear_examples::tonic_channel::{self, Ask, Quotes, Vendor};
use futures_util::{StreamExt, stream};
use tonic::{Code, Request};

const SECOND: Duration = Duration::from_secs(1);

/// The part of the family that has a state of its own.
fn part(families: &Families) -> Option<FamilyHealth> {
    families.health().family("quotes")?.partitions.first().cloned()
}

#[tokio::test]
async fn the_channel_waits_refuses_and_streams() {
    let called = tonic_channel::run().await.unwrap();
    let seen: Vec<_> = called.iter().map(|call| (call.code, call.calls)).collect();
    assert_eq!(
        seen,
        [
            (Code::Ok, 1),
            (Code::ResourceExhausted, 2),
            (Code::Unavailable, 2),
            (Code::Unavailable, 2),
            (Code::Ok, 3),
            (Code::Ok, 4),
        ],
        "{called:#?}"
    );
    let millis = |call: usize| called[call].refused_for.map(|left| left.as_millis());
    assert!(millis(2).is_some_and(|left| (1..=700).contains(&left)), "{called:#?}");
    assert!(millis(3).is_some() && millis(1).is_none(), "{called:#?}");
}

#[tokio::test]
async fn the_pushback_is_waited_out_and_an_idempotent_call_sent_again() {
    let vendor = Vendor::start(300).await.unwrap();
    let (families, channel) = tonic_channel::channel(&vendor, 30 * SECOND).unwrap();
    let mut quotes = Quotes::with_origin(channel, vendor.origin().parse().unwrap());
    let mut ask = Request::new(Ask::of("busy"));
    ask.metadata_mut().insert("idempotency-key", "7".parse().unwrap());
    let start = tokio::time::Instant::now();
    assert_eq!(quotes.get(ask).await.unwrap().into_inner().symbol, "busy");
    assert!(start.elapsed() >= Duration::from_millis(300));
    assert_eq!(vendor.calls(), 2);
    // Its dialect says that the method is limited, so that is the part that was closed.
    let signal = part(&families).and_then(|part| part.last_signal).unwrap();
    assert_eq!(signal.advertised, Some(Duration::from_millis(300)));
    assert_eq!(signal.reason.as_str(), "RESOURCE_EXHAUSTED");
}

#[tokio::test]
async fn a_timeout_bounds_the_whole_call() {
    let vendor = Vendor::start(60_000).await.unwrap();
    let (families, channel) = tonic_channel::channel(&vendor, 600 * SECOND).unwrap();
    let mut quotes = Quotes::with_origin(channel, vendor.origin().parse().unwrap());
    assert_eq!(quotes.get(Ask::of("busy")).await.unwrap_err().code(), Code::ResourceExhausted);
    assert_eq!(part(&families).map(|part| part.phase), Some(HealthPhase::Cooling));
    let mut ask = Request::new(Ask::of("acme"));
    ask.set_timeout(30 * SECOND);
    let refused = quotes.get(ask).await.unwrap_err();
    assert!(matches!(Error::find(&refused), Some(Error::Cooling(_))), "{refused:?}");
    let left: u64 =
        refused.metadata().get("grpc-retry-pushback-ms").unwrap().to_str().unwrap().parse().unwrap();
    assert!((30_000..=60_000).contains(&left), "{left}");
    assert_eq!(vendor.calls(), 1);
}

#[tokio::test]
async fn a_budget_that_ends_before_the_timeout_stands() {
    let vendor = Vendor::start(5_000).await.unwrap();
    let (_families, channel) = tonic_channel::channel(&vendor, 600 * SECOND).unwrap();
    let mut quotes = Quotes::with_origin(channel, vendor.origin().parse().unwrap());
    assert_eq!(quotes.get(Ask::of("busy")).await.unwrap_err().code(), Code::ResourceExhausted);
    let mut ask = Request::new(Ask::of("acme"));
    ask.set_timeout(60 * SECOND);
    ask.extensions_mut().insert(Budget::within(SECOND));
    let refused = quotes.get(ask).await.unwrap_err();
    assert!(matches!(Error::find(&refused), Some(Error::Cooling(_))), "{refused:?}");
    assert_eq!(vendor.calls(), 1);
}

// XAMPPRocky/octocrab#835, TrueLayer/reqwest-middleware#44: what is sent again is the same, what cannot be is sent once.
#[tokio::test]
async fn case_51_a_limited_stream_is_sent_again_the_same_or_not_at_all() {
    for (key, code, calls) in [(false, Code::ResourceExhausted, 1), (true, Code::Ok, 2)] {
        let vendor = Vendor::start(100).await.unwrap();
        let (_families, channel) = tonic_channel::channel(&vendor, 30 * SECOND).unwrap();
        let mut quotes = Quotes::with_origin(channel, vendor.origin().parse().unwrap());
        let symbols: Vec<_> = (0..100).map(|n| format!("symbol {n}")).collect();
        let mut asks = Request::new(stream::iter(symbols.clone().into_iter().map(|symbol| Ask { symbol })));
        asks.metadata_mut().insert("busy", "yes".parse().unwrap());
        if key {
            asks.metadata_mut().insert("idempotency-key", "7".parse().unwrap());
        }
        let answer = quotes.watch(asks).await;
        assert_eq!(answer.as_ref().map_or_else(tonic::Status::code, |_| Code::Ok), code);
        assert_eq!(vendor.calls(), calls);
        if let Ok(answer) = answer {
            let watched: Vec<_> = answer.into_inner().map(|quote| quote.unwrap().symbol).collect().await;
            assert_eq!(watched, symbols);
        }
    }
}
