//! Many at once, and what can happen to them meanwhile.

use std::sync::Arc;
use std::time::Duration;

use forbear::{Caller, Family, Pacing, Partition, Priority, Verdict};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};
use tower::ServiceExt;
use tower::limit::ConcurrencyLimit;

use crate::common::{Client, MS, SECOND, answer, called, get, limited, poll_once, with};
use crate::{URL, crowd, families, gated, paced, service};

/// The most attempts in any span of this length, both ends included.
fn most_within(client: &Client, per: Duration) -> usize {
    let mut at = vec![Duration::ZERO];
    at.extend(client.gaps().iter().scan(Duration::ZERO, |now, gap| {
        *now += *gap;
        Some(*now)
    }));
    let within =
        |(n, from): (usize, &Duration)| at[n..].iter().take_while(|now| **now - *from <= per).count();
    at.iter().enumerate().map(within).max().unwrap()
}

/// A number below `most` that looks random.
fn scattered(number: u32, most: u32) -> u32 {
    number.wrapping_mul(2_654_435_761).rotate_left(13) % most
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_that_leave_at_any_time_hold_nothing_and_break_no_limit() {
    let pacing = Pacing::new().at_most(100, 100 * MS).in_flight(50);
    let (families, client) = (families(pacing), Client::new([answer(200).delay(7 * MS)]));
    let service = gated(&families, client.clone());
    let start = Instant::now();
    let tasks: Vec<_> = (0..10_000_u32)
        .map(|number| {
            let priority = if number % 5 == 0 { Priority::Background } else { Priority::Interactive };
            let mut request = with(get(URL), priority);
            if number % 3 == 0 {
                request = with(request, Caller::of(number.to_le_bytes()));
            }
            let service = service.clone();
            tokio::spawn(tokio::time::timeout(scattered(number, 12_000) * MS, service.oneshot(request)))
        })
        .collect();
    let mut served = 0;
    for task in tasks {
        if let Ok(answer) = task.await.unwrap() {
            assert_eq!(answer.unwrap().status(), 200);
            served += 1;
        }
    }
    assert!(most_within(&client, 100 * MS) <= 100);
    // Nearly all that the limit allows, although four of ten left.
    let allowed = start.elapsed().as_millis();
    assert!(served > 5_000 && served * 100 > allowed * 95, "{served} of {allowed}");
    let health = paced(&families);
    assert_eq!((health.queued, health.in_flight, client.in_flight()), (0, Some(0), 0));
}

/// Its turn came, its client was not ready, and its task polls it no more.
#[tokio::test(start_paused = true)]
async fn who_is_not_made_ready_keeps_the_others_waiting_for_a_second_alone() {
    let (client, permits) = (Client::new([answer(200)]), Arc::new(Semaphore::new(1)));
    let limit = ConcurrencyLimit::with_semaphore(client.clone(), Arc::clone(&permits));
    let families = families(Pacing::new().gap(SECOND));
    let (mut stuck, others) = (service(&families, limit), gated(&families, client.clone()));
    let _ = others.clone().oneshot(get(URL)).await.unwrap();
    let mut waits = Box::pin(called(&mut stuck, get(URL)).await);
    assert!(poll_once(waits.as_mut()).is_pending());
    let permit = Arc::clone(&permits).acquire_owned().await.unwrap();
    sleep(1_500 * MS).await;
    assert!(poll_once(waits.as_mut()).is_pending());
    let start = Instant::now();
    for seconds in 1..=3 {
        assert_eq!(others.clone().oneshot(get(URL)).await.unwrap().status(), 200);
        assert_eq!(start.elapsed(), seconds * SECOND);
    }
    // It is ready now, and goes a gap after them.
    drop(permit);
    let next = tokio::spawn(others.oneshot(get(URL)));
    assert_eq!(waits.await.unwrap().status(), 200);
    assert_eq!(next.await.unwrap().unwrap().status(), 200);
    assert!(client.gaps().iter().all(|gap| *gap >= SECOND), "{:?}", client.gaps());
    assert_eq!(client.sent(), 6);
}

/// Nor does it come too close to one of its own partition that went to its family's queue meanwhile.
#[tokio::test(start_paused = true)]
async fn who_was_not_made_ready_keeps_the_gap_of_its_partition_too() {
    let (client, permits) = (Client::new([answer(200)]), Arc::new(Semaphore::new(1)));
    let limit = ConcurrencyLimit::with_semaphore(client.clone(), Arc::clone(&permits));
    let each = Pacing::new().gap(5 * SECOND);
    let families = families(Pacing::new().gap(3 * SECOND).per_partition(each));
    let (mut stuck, others) = (service(&families, limit), gated(&families, client.clone()));
    let of = |key: &str| with(get(URL), Partition::of(key));
    let _ = others.clone().oneshot(of("other")).await.unwrap();
    let mut waits = Box::pin(called(&mut stuck, of("one")).await);
    assert!(poll_once(waits.as_mut()).is_pending());
    let permit = Arc::clone(&permits).acquire_owned().await.unwrap();
    sleep(3_000 * MS).await;
    assert!(poll_once(waits.as_mut()).is_pending());
    sleep(1_100 * MS).await;
    let _ = others.clone().oneshot(of("third")).await.unwrap();
    let (gate, sends) = (families.gate("vendor").unwrap().partition(Partition::of("one")), client.clone());
    let same = tokio::spawn(gate.run(move || sends.oneshot(get(URL)), |_| Verdict::Good));
    sleep(2_900 * MS).await;
    drop(permit);
    assert_eq!(waits.await.unwrap().status(), 200);
    assert_eq!(same.await.unwrap().unwrap().unwrap().status(), 200);
    assert_eq!(client.gaps(), [4_100 * MS, 3 * SECOND, 5 * SECOND]);
    assert_eq!(paced(&families).queued, 0);
    let start = Instant::now();
    let _ = others.oneshot(of("one")).await.unwrap();
    assert_eq!(start.elapsed(), 5 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn limits_that_change_hold_for_the_hundreds_that_wait() {
    let (gap, window) = (Pacing::new().gap(50 * MS), Pacing::new().at_most(3, SECOND));
    let each = Pacing::new().in_flight(1).per_partition(Pacing::new().gap(20 * MS));
    // Other limits, and how long 280 take then, in milliseconds.
    let cases = [
        (Some(Pacing::new().gap(10 * MS)), 2_700..2_900),
        (Some(Pacing::new().gap(200 * MS)), 55_600..56_100),
        (Some(window), 92_900..93_300),
        (Some(Pacing::new().in_flight(1)), 270..300),
        (Some(each), 270..300),
        (Some(Pacing::new().steered(true)), 0..10),
        (None, 0..10),
    ];
    for (next, takes) in cases {
        let (families, client) = (families(gap.clone()), Client::new([answer(200).delay(MS)]));
        let vendor = forbear::stack(&families).budget(300 * SECOND).service(client.clone());
        let start = Instant::now();
        let partition = |number: u32| with(get(URL), Partition::of(number.to_le_bytes()));
        let vendor = &vendor;
        let sends = crowd::all((0..300).map(|number| vendor.send(partition(number))));
        let change = async {
            sleep(975 * MS).await;
            assert_eq!(client.sent(), 20);
            let family = Family::new("vendor").host("vendor.test");
            families.replace(next.iter().fold(family, |family, next| family.pacing(next.clone()))).unwrap();
        };
        let (answers, ()) = tokio::join!(sends, change);
        assert!(answers.iter().all(Result::is_ok), "{next:?}");
        let took = (start.elapsed() - 975 * MS).as_millis();
        assert!(takes.contains(&took), "{next:?}: {took}");
        assert_eq!((client.sent(), paced_now(&families)), (300, next.is_some()));
    }
}

fn paced_now(families: &forbear::Families) -> bool {
    families.health().family("vendor").unwrap().pacing.is_some()
}

/// The probe and those that are let through while it recovers may have to wait for their turn for longer than a grant lives.
#[tokio::test(start_paused = true)]
async fn all_are_served_after_a_strike_however_slow_the_pace_is() {
    let each = Pacing::new().in_flight(1).per_partition(Pacing::new().at_most(5, 60 * SECOND));
    for pacing in [
        Pacing::new().gap(40 * SECOND),
        Pacing::new().in_flight(1),
        Pacing::new().at_most(3, 60 * SECOND),
        Pacing::new().at_most(30, 600 * SECOND),
        each,
    ] {
        let fine = answer(200).delay(10 * MS);
        let (families, client) = (families(pacing.clone()), Client::new([fine, fine, limited(429, 2), fine]));
        let vendor = forbear::stack(&families).budget(4_000 * SECOND).service(client.clone());
        let vendor = &vendor;
        let sends = (0..60_u8).map(|number| vendor.send(with(get(URL), Partition::of([number % 3]))));
        let answers = crowd::all(sends).await;
        let good = |answer: &Result<http::Response<_>, _>| {
            answer.as_ref().is_ok_and(|answer| answer.status() == 200)
        };
        assert_eq!(
            (answers.iter().filter(|answer| good(answer)).count(), client.sent()),
            (60, 61),
            "{pacing:?}"
        );
        let health = paced(&families);
        assert_eq!((health.queued, health.in_flight.unwrap_or(0), health.refusals.len()), (0, 0, 0));
    }
}
