//! Faults that were reported of others in public, so that they are none of ours.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use forbear_core::pacing::{Entered, Left, Pacer, Pacing, PacingCause, RetryQuota, Unit};
use proptest::prelude::*;

use crate::support::{ENTRY, Waiting, at, goes, millis_of, pacer, refused};

fn quota(reserve: u32, permille: u32) -> Arc<Pacer> {
    pacer(&Pacing::new().retry_quota(RetryQuota::new(reserve).permille(permille).at_most(u32::MAX)))
}

/// Takes all further attempts there are, and says how many.
fn drained(pacer: &Arc<Pacer>) -> u64 {
    (0..1_000_000).take_while(|_| matches!(pacer.enter(&ENTRY.further(), at(0)), Entered::Go(_))).count()
        as u64
}

proptest! {
    /// tower-rs/tower#857: fractions were cut off, and a ratio of 0.6 allowed every request to be sent again.
    #[test]
    fn further_attempts_are_exactly_the_ratio(
        reserve in 0..50_u32,
        permille in 1..=10_000_u32,
        bursts in prop::collection::vec((0..500_u64, any::<bool>()), 1..20),
    ) {
        let pacer = quota(reserve, permille);
        let (mut good, mut allowed) = (0_u64, 0_u64);
        for (answers, drain) in bursts {
            (0..answers).for_each(|_| pacer.good());
            good += answers;
            if drain {
                allowed += drained(&pacer);
                prop_assert_eq!(allowed, good * u64::from(permille) / 1000 + u64::from(reserve));
            }
        }
    }

    /// The same where what is not used is not kept: then it may be fewer.
    #[test]
    fn further_attempts_are_never_more_than_the_ratio(
        reserve in 1..50_u32,
        permille in 1..=10_000_u32,
        answers in prop::collection::vec(0..2_000_u64, 1..10),
    ) {
        let pacer = pacer(&Pacing::new().retry_quota(RetryQuota::new(reserve).permille(permille)));
        let (mut good, mut allowed) = (0_u64, 0_u64);
        for answers in answers {
            (0..answers).for_each(|_| pacer.good());
            good += answers;
            let now = drained(&pacer);
            allowed += now;
            prop_assert!(now <= 100.max(u64::from(reserve)));
            prop_assert!(allowed <= good * u64::from(permille) / 1000 + u64::from(reserve));
        }
    }
}

/// tower-rs/tower#130, joshrotenberg/tower-resilience#411: deposits and withdrawals that were lost, or counted twice, where
/// threads met. The model of loom looks at every order of a few; here are many.
#[test]
fn tokens_are_conserved_whatever_threads_do() {
    const EACH: u64 = 20_000;
    let pacer = quota(10, 300);
    let threads = (0..8).map(|thread: u64| {
        let pacer = Arc::clone(&pacer);
        thread::spawn(move || {
            let mut sent = 0_u64;
            for step in 0..EACH {
                if (step + thread).is_multiple_of(2) {
                    pacer.good();
                } else if let Entered::Go(booking) = pacer.enter(&ENTRY.further(), at(0)) {
                    if step.is_multiple_of(3) {
                        booking.give_back(at(0));
                    } else {
                        sent += 1;
                    }
                }
            }
            sent
        })
    });
    let threads: Vec<_> = threads.collect();
    let sent: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    let earned = 8 * EACH / 2 * 300 / 1000 + 10;
    assert!(sent > 0 && sent <= earned, "{sent} of {earned}");
    assert_eq!(sent + drained(&pacer), earned);
}

/// aws/aws-sdk-go-v2#3550: a quota that successes did not refill; once empty, nothing was sent again until a restart.
#[test]
fn good_answers_refill_an_empty_quota() {
    let pacer = pacer(&Pacing::new().retry_quota(RetryQuota::new(5)));
    assert_eq!(drained(&pacer), 5);
    assert_eq!(refused(&pacer, &ENTRY.further(), at(1)).cause, PacingCause::RetryQuota);
    (0..1000).for_each(|_| pacer.good());
    drop(goes(&pacer, &ENTRY.further(), at(2)));
}

/// smithy-lang/smithy-rs#4632: what could not be granted was taken all the same, so that waiting callers pushed the rate into a
/// debt of minutes.
#[test]
fn who_waits_takes_nothing_before_its_turn() {
    let pacer = pacer(&Pacing::new().at_most(1, Duration::from_secs(1)).steered(true));
    drop(goes(&pacer, &ENTRY, at(0)));
    let mut waiting: Vec<_> = (0..50).map(|_| Waiting::new(&pacer, &ENTRY, at(1))).collect();
    let expected = |now| refused(&pacer, &ENTRY.no_queue(), at(now)).retry_at.unwrap();
    assert_eq!(expected(1).since(at(0)).as_secs(), 51);
    // Forty-eight give up; the two that stay go at once a second, and whoever comes then waits for them alone.
    waiting.truncate(2);
    assert_eq!(expected(2).since(at(0)).as_secs(), 3);
    drop(waiting.remove(0).goes(at(1001)));
    // The vendor throttles for ten seconds: two windows later all is as it was.
    let none = Left { remaining: 0, reset: Duration::from_secs(10), unit: Unit::Attempts };
    pacer.steer(&[none], at(1001), at(1002));
    let mut last = waiting.remove(0);
    assert_eq!(last.sleeps(at(2100)), at(11_002));
    drop(last.goes(at(11_002)));
    let next = expected(11_003);
    assert!(next <= at(13_002), "{next:?}");
    let mut served = 0;
    let mut now = next;
    while now <= next.after(Duration::from_secs(30)) {
        if matches!(pacer.enter(&ENTRY.no_queue(), now), Entered::Go(_)) {
            served += 1;
        }
        now = now.after(millis_of(10));
    }
    assert!(served >= 29, "{served} in thirty seconds");
}
