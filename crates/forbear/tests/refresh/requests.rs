use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use forbear::{Budget, Families, Family, FamilyName, NoWait, Priority, Refresh};
use http::{Request, Response};

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn a_request_does_not_wait_and_goes_in_the_background_to_the_sources_family() {
    let families = families(&["quotes"]);
    let seen = Arc::new(Mutex::new(None));
    let sees = Arc::clone(&seen);
    let service = tower::service_fn(move |request: Request<Body>| {
        let extensions = request.extensions();
        let left = extensions.get::<Budget>().map(Budget::remaining);
        *sees.lock().unwrap() = Some((
            extensions.get::<NoWait>().copied(),
            extensions.get::<Priority>().copied(),
            extensions.get::<FamilyName>().cloned(),
            left,
        ));
        async { Ok::<_, Infallible>(Response::new(Body::default())) }
    });
    let shelf = Shelf::new();
    let refresh = Refresh::over(&families, service, TestStore::new())
        .source(shelved(quotes().timeout(7 * SECOND), &shelf))
        .build()
        .unwrap();
    refresh.demand("quotes", ["A"]).await.unwrap();
    let running = run(&refresh);
    until(|| shelf.len() == 1).await;
    let seen = seen.lock().unwrap().take().unwrap();
    let family = FamilyName::from_static("quotes");
    assert_eq!(seen, (Some(NoWait), Some(Priority::Background), Some(family), Some(7 * SECOND)));
    running.stop().await;
}

/// A family that is removed while it has work is not called, and goes on where it is registered again.
#[tokio::test(start_paused = true)]
async fn a_family_that_is_gone_is_not_called() {
    let families: Families = families(&["quotes"]);
    let (shelf, mock) =
        (Shelf::new(), forbear_mock::MockVendor::in_process().script(forbear_mock::reply(200)));
    let refresh = Refresh::builder(vendor(&families, &mock), TestStore::new())
        .source(shelved(quotes(), &shelf))
        .build()
        .unwrap();
    families.remove("quotes").unwrap();
    refresh.demand("quotes", ["A"]).await.unwrap();
    let running = run(&refresh);
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!(shelf.len(), 0);
    assert_eq!(refresh.row("quotes", "A").await.unwrap().unwrap().attempts, 0);
    families.register(Family::new("quotes").host("quotes.test")).unwrap();
    tokio::time::sleep(2 * MINUTE).await;
    assert_eq!(shelf.len(), 1);
    running.stop().await;
}
