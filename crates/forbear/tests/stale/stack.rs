//! All layers together.

use forbear::stale::StalePolicy;

use crate::haste::stacked;
use crate::vendor::{answer, body};
use crate::*;

#[tokio::test(start_paused = true)]
async fn what_is_stored_is_not_waited_for_and_what_is_not_is() {
    let vendor = Vendor::counting("max-age=10");
    let service = stacked(&vendor, None, StalePolicy::new());
    let stored = service.send(get(URL)).await.unwrap();
    assert_eq!(stored.into_body().collect().await.unwrap().to_bytes(), "1");
    tokio::time::sleep(11 * SECOND).await;
    let mut limited = 1;
    vendor.now(move |_| {
        limited -= 1;
        Ok(if limited >= 0 { answer(429, &[("retry-after", "5")], "") } else { answer(200, &[], "new") })
    });
    let begun = tokio::time::Instant::now();
    let stale = service.send(get(URL)).await.unwrap();
    assert_eq!(because(*stale.extensions().get().unwrap()), Some(Because::Limited));
    assert_eq!(begun.elapsed(), Duration::ZERO);
    let other = service.send(get("http://vendor.test/b")).await.unwrap();
    assert_eq!(other.extensions().get(), Some(&Served::Live));
    assert!((5 * SECOND..6 * SECOND).contains(&begun.elapsed()), "{:?}", begun.elapsed());
    assert_eq!(vendor.attempts(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_budget_that_ends_tells_what_the_vendor_said_last() {
    let vendor = Vendor::new(|_| Ok(answer(503, &[("retry-after", "20")], "")));
    let service = stacked(&vendor, None, StalePolicy::new());
    vendor.takes(8 * SECOND);
    let upload = Request::post(URL).body(body("x")).unwrap();
    assert_eq!(service.send(upload).await.unwrap().status(), 503);
    let begun = tokio::time::Instant::now();
    let ended = service.send(get("http://vendor.test/b")).await;
    assert!(begun.elapsed() <= 30 * SECOND + 2 * MS);
    let last = match ended {
        Ok(response) => response.status().as_u16(),
        Err(forbear::Error::BudgetExhausted(spent)) => spent.last_signal().unwrap().status.unwrap().as_u16(),
        Err(error) => panic!("{error:?}"),
    };
    assert_eq!(last, 503);
}
