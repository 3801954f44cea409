//! A handler that reads its vendor's answers looks first whether they are limited.

use forbear::refusal::Kind;
use forbear::{BoxError, Error, Refusal, RefusalResponseLayer};
use http_body_util::BodyExt;
use tower::{Layer, ServiceExt, service_fn};

use crate::common::{Client, SECOND, answer, get, limited};
use crate::{URL, ask, families, handler, told, vendor};

#[tokio::test(start_paused = true)]
async fn a_limited_answer_is_a_refusal_and_any_other_is_handed_on() {
    let vendor = vendor(&families(), &Client::new([answer(200), answer(404), limited(429, 120)]));
    for status in [200, 404] {
        let handed_on = Refusal::check(ask(&vendor).await.unwrap()).unwrap();
        assert_eq!(handed_on.status(), status);
        handed_on.into_body().collect().await.unwrap();
    }
    let refusal = Refusal::check(ask(&vendor).await.unwrap()).unwrap_err();
    assert_eq!((refusal.kind(), refusal.status().as_u16()), (Kind::Limited, 503));
    assert_eq!((refusal.family(), refusal.retry_in()), (Some("quotes"), Some(120 * SECOND)));
    assert_eq!(refusal.to_string(), "quotes limits this server, retry in 2m00s");

    let shadow = families();
    shadow.shadow(true);
    let vendor = crate::vendor(&shadow, &Client::new([limited(429, 120)]));
    assert_eq!(Refusal::check(ask(&vendor).await.unwrap()).unwrap().status(), 429);
}

/// As an error of the program's own, or of forbear's, it still says who limits, and until when.
#[tokio::test(start_paused = true)]
async fn a_refusal_that_a_handler_returns_as_an_error_reaches_the_caller() {
    let limits = || vendor(&families(), &Client::new([limited(429, 120)]));
    let ours = handler(move || {
        let vendor = limits();
        async move { Refusal::check(ask(&vendor).await?).map_err(Error::from_inner) }
    });
    let boxed = service_fn(move |_| {
        let vendor = limits();
        async move { Ok::<_, BoxError>(Refusal::check(ask(&vendor).await?)?) }
    });
    let layer = RefusalResponseLayer::new();
    let answers = [
        layer.layer(ours).oneshot(get(URL)).await.unwrap(),
        layer.boxed().layer(boxed).oneshot(get(URL)).await.unwrap(),
    ];
    for answer in answers {
        let told = told(answer).await;
        assert_eq!((told.status, told.retry_after.as_deref()), (503, Some("120")));
        assert_eq!((told.by.as_deref(), &told.problem["family"]), (Some("vendor"), &"quotes".into()));
    }
}
