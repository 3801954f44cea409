//! Who goes when, and who is not queued.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use forbear::{Caller, Families, NoQueue, NoWait, Pacing, PacingCause, Priority};
use http::Request;
use tokio::time::{Instant, sleep};
use tower::ServiceExt;

use crate::common::{Client, MS, SECOND, Sent, answer, get, with};
use crate::{URL, crowd, families, gated, paced, refused, service};

/// Sends `requests` one after the other in time, all at this moment; which of them went first, second and so on.
async fn order(families: &Families, requests: Vec<Request<Sent>>) -> Vec<usize> {
    let client = Client::new([answer(200)]);
    let service = service(families, client);
    let went = Arc::new(Mutex::new(Vec::new()));
    let sends = requests.into_iter().enumerate().map(|(number, request)| {
        let (service, went) = (service.clone(), Arc::clone(&went));
        async move {
            assert_eq!(service.oneshot(request).await.unwrap().status(), 200);
            went.lock().unwrap().push(number);
        }
    });
    let _ = crowd::all(sends).await;
    let went = went.lock().unwrap();
    went.clone()
}

#[tokio::test(start_paused = true)]
async fn attempts_keep_their_gap_first_come_first_served() {
    let (families, client) = (families(Pacing::new().gap(50 * MS)), Client::new([answer(200)]));
    let service = gated(&families, client.clone());
    let start = Instant::now();
    let sends = (0..20).map(|_| service.clone().oneshot(get(URL)));
    let answers = crowd::all(sends).await;
    assert!(answers.iter().all(|answer| answer.as_ref().unwrap().status() == 200));
    assert!(client.gaps().iter().all(|gap| *gap >= 50 * MS), "{:?}", client.gaps());
    assert!(start.elapsed() <= 19 * 52 * MS, "{:?}", start.elapsed());
    assert_eq!(order(&families, (0..5).map(|_| get(URL)).collect()).await, [0, 1, 2, 3, 4]);
}

#[tokio::test(start_paused = true)]
async fn no_span_holds_more_than_its_window_allows() {
    let (families, client) = (families(Pacing::new().at_most(10, SECOND)), Client::new([answer(200)]));
    let service = gated(&families, client.clone());
    let start = Instant::now();
    let _ = crowd::all((0..95).map(|_| service.clone().oneshot(get(URL)))).await;
    let gaps = client.gaps();
    // Ten more lie between an attempt and the eleventh after it.
    assert!(gaps.windows(10).all(|ten| ten.iter().sum::<Duration>() > SECOND), "{gaps:?}");
    assert_eq!(client.sent(), 95);
    assert!((9 * SECOND..9100 * MS).contains(&start.elapsed()), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn interactive_goes_before_background_which_keeps_its_share() {
    let families = families(Pacing::new().gap(50 * MS).background_share(25));
    let requests = (0..12).map(|number| {
        let priority = if number < 6 { Priority::Background } else { Priority::Interactive };
        with(get(URL), priority)
    });
    let went = order(&families, requests.collect()).await;
    // The first found nobody there.
    assert_eq!(went[0], 0);
    let background: Vec<_> =
        went.iter().enumerate().skip(1).filter(|(_, number)| **number < 6).map(|(place, _)| place).collect();
    assert!(background[0] > 1 && background[0] <= 4 && background[1] <= 8, "{went:?}");
    assert!(background[2] >= 9, "{went:?}");
}

#[tokio::test(start_paused = true)]
async fn callers_that_name_themselves_take_turns() {
    let families = families(Pacing::new().gap(50 * MS));
    let (job, user) = (Caller::of("job"), Caller::of("user"));
    let requests = (0..14).map(|number| with(get(URL), if number < 11 { job } else { user }));
    let went = order(&families, requests.collect()).await;
    let last_of_user = went.iter().position(|number| *number == 13).unwrap();
    assert!(last_of_user <= 7, "{went:?}");
}

#[tokio::test(start_paused = true)]
async fn no_queue_is_refused_at_once_and_no_wait_is_queued() {
    let (families, client) = (families(Pacing::new().gap(SECOND)), Client::new([answer(200)]));
    let service = gated(&families, client.clone());
    let _ = service.clone().oneshot(get(URL)).await.unwrap();
    sleep(400 * MS).await;
    let start = Instant::now();
    let error =
        service.clone().oneshot(with(get("http://u:p@vendor.test/b?key=1"), NoQueue)).await.unwrap_err();
    assert!(error.is_refusal());
    assert_eq!((error.status().as_u16(), error.reason(), error.family()), (503, "no-queue", Some("vendor")));
    assert_eq!(error.retry_in(), Some(600 * MS));
    let refused = refused::<()>(Err(error)).unwrap();
    assert_eq!(
        (refused.family(), refused.cause(), refused.reason()),
        ("vendor", PacingCause::NoQueue, "no-queue")
    );
    assert_eq!((refused.retry_in(), refused.queued()), (Some(600 * MS), 0));
    assert_eq!(refused.url().unwrap().as_str(), "http://vendor.test/b");
    assert_eq!(
        refused.to_string(),
        "vendor is paced, and this attempt does not wait for its turn; retry in 600ms"
    );
    assert!(start.elapsed().is_zero());
    assert_eq!(service.oneshot(with(get(URL), NoWait)).await.unwrap().status(), 200);
    assert_eq!((client.sent(), client.gaps()[0]), (2, SECOND));
    assert_eq!(paced(&families).refusals.get("no-queue"), Some(&1));
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_refuses() {
    let families = families(Pacing::new().gap(SECOND).queue(2));
    let service = service(&families, Client::new([answer(200)]));
    let answers = crowd::all((0..5).map(|_| service.clone().oneshot(get(URL)))).await;
    let refusals: Vec<_> = answers.into_iter().filter_map(refused).collect();
    assert_eq!(refusals.len(), 2);
    assert!(
        refusals.iter().all(|refused| refused.cause() == PacingCause::QueueFull && refused.queued() == 2)
    );
    assert_eq!((paced(&families).waited, paced(&families).queued), (2, 0));
}
