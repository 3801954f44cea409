//! All layers together.

use forbear::{Families, Family, StaleService, Unknown, Vendor as Stacked};

use crate::vendor::{answer, body};
use crate::*;

/// A vendor whose requests have gone through the whole stack.
fn stacked(
    vendor: &Vendor,
) -> StaleService<
    Stacked<
        impl tower::Service<
            Request<forbear::Replay<Body>>,
            Response = Response<Body>,
            Error = vendor::Fault,
            Future: Send,
        > + Clone
        + Send
        + 'static,
    >,
> {
    let family = Family::new("vendor").host("vendor.test");
    let families = Families::builder().family(family).unknown(Unknown::Refuse).build().unwrap();
    let vendor = vendor.clone();
    let client = tower::service_fn(move |request: Request<forbear::Replay<Body>>| {
        vendor.clone().oneshot(request.map(vendor::boxed))
    });
    forbear::stack(&families).budget(30 * SECOND).stale(layer()).service(client)
}

#[tokio::test(start_paused = true)]
async fn what_is_stored_is_not_waited_for_and_what_is_not_is() {
    let vendor = Vendor::counting("max-age=10");
    let service = stacked(&vendor);
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
    let service = stacked(&vendor);
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
