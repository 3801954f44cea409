//! Refusals, and whom they concern.

use forbear::{Error, Families, Family, FamilyName, RefusalCause, Unknown};
use tokio::time::{Instant, sleep};
use tower::ServiceExt;

use crate::common::{Client, SECOND, answer, get, limited, with};
use crate::{URL, families, phase, refusal, service};

#[tokio::test(start_paused = true)]
async fn a_cooling_family_refuses_at_once_on_every_route() {
    let (families, client) = (families(), Client::new([limited(429, 5), answer(200)]));
    let service = service(&families, client.clone());
    let start = Instant::now();
    assert_eq!(service.clone().oneshot(get(URL)).await.unwrap().status(), 429);
    sleep(2 * SECOND).await;
    let cooling = refusal(service.oneshot(get("http://u:p@vendor.test/b?key=1#x")).await).unwrap();
    assert_eq!((cooling.family(), cooling.cause()), ("vendor", RefusalCause::Cooling));
    assert_eq!((cooling.retry_in(), cooling.retry_at()), (Some(3 * SECOND), Some(start + 5 * SECOND)));
    assert_eq!((cooling.reason().as_str(), cooling.route()), ("retry-after", Some("/a")));
    assert_eq!(cooling.signal().unwrap().delay.unwrap().duration, 5 * SECOND);
    assert_eq!(cooling.url().unwrap().to_string(), "http://vendor.test/b");
    assert_eq!(cooling.to_string(), "vendor is cooling, retry in 3.0s (429 retry-after via /a)");
    assert_eq!((client.sent(), start.elapsed()), (1, 2 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn refusals_are_counted_and_never_strike() {
    let (families, client) = (families(), Client::new([limited(429, 5)]));
    let service = service(&families, client);
    let _ = service.clone().oneshot(get(URL)).await.unwrap();
    for _ in 0..50 {
        assert!(refusal(service.clone().oneshot(get(URL)).await).is_some());
    }
    let health = families.health();
    let health = health.family("vendor").unwrap();
    assert_eq!((health.strikes, health.refusals, health.level), (1, 50, 1));
    assert_eq!(health.remaining, Some(5 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn an_unknown_host_gets_a_family_of_its_own_when_it_signals() {
    let families = Families::builder().unknown(Unknown::PerHost).build().unwrap();
    let client = Client::new([answer(200), limited(429, 5), answer(200)]);
    let service = service(&families, client.clone());
    let _ = service.clone().oneshot(get("http://a.test:8080/")).await.unwrap();
    assert_eq!(families.health().to_string(), "");
    let limited = service.clone().oneshot(get("http://a.test:8080/")).await.unwrap();
    assert_eq!(limited.extensions().get::<forbear::Signal>().unwrap().family(), Some("a.test:8080"));
    assert_eq!(families.health().to_string(), "a.test:8080  cooling 5.0s  429 retry-after  via /");
    assert!(refusal(service.clone().oneshot(get("http://A.test:8080/x")).await).is_some());
    for other in ["http://a.test/", "http://b.test:8080/"] {
        assert_eq!(service.clone().oneshot(get(other)).await.unwrap().status(), 200, "{other}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_host_is_refused_where_the_policy_says_so() {
    let client = Client::new([answer(200)]);
    let error =
        service(&families(), client.clone()).oneshot(get("http://u:p@b.test/x?key=1")).await.unwrap_err();
    assert!(error.is_refusal());
    assert!(
        matches!(&error, Error::UnknownFamily(unknown)
            if unknown.url().unwrap().as_str() == "http://b.test/x" && unknown.name().is_none()),
        "{error:?}"
    );
    assert_eq!(
        error.to_string(),
        "no family has http://b.test/x; register its host, or choose another Unknown policy"
    );
    assert_eq!(client.sent(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_host_passes_through_and_nothing_is_learned() {
    let families = Families::builder().unknown(Unknown::PassThrough).build().unwrap();
    let client = Client::new([limited(429, 5)]);
    for _ in 0..3 {
        let answer = service(&families, client.clone()).oneshot(get(URL)).await.unwrap();
        assert!(answer.extensions().get::<forbear::Signal>().is_none());
    }
    assert_eq!((client.sent(), families.health().to_string().as_str()), (3, ""));
}

#[tokio::test(start_paused = true)]
async fn a_family_name_wins_over_the_host_and_a_wrong_one_is_an_error() {
    for unknown in [Unknown::PerHost, Unknown::Refuse, Unknown::PassThrough] {
        let families = Families::builder()
            .family(Family::new("vendor").host("vendor.test"))
            .family(Family::new("other"))
            .unknown(unknown)
            .build()
            .unwrap();
        let client = Client::new([limited(429, 5)]);
        let service = service(&families, client.clone());
        let named = with(get(URL), FamilyName::from_static("other"));
        let answer = service.clone().oneshot(named).await.unwrap();
        assert_eq!(answer.extensions().get::<forbear::Signal>().unwrap().family(), Some("other"));
        assert_eq!(
            (phase(&families, "vendor").as_str(), phase(&families, "other").as_str()),
            ("open", "cooling")
        );
        let wrong = with(get(URL), FamilyName::new("othr"));
        let error = service.oneshot(wrong).await.unwrap_err();
        assert_eq!(error.to_string(), r#"no family is named "othr"; register it, or correct the name"#);
        assert!(
            matches!(&error, Error::UnknownFamily(unknown)
                if unknown.name() == Some("othr") && unknown.url().is_none()),
            "{error:?}"
        );
        assert_eq!(client.sent(), 1);
    }
}

/// The client was told the host in a header, as by a proxy that forwards a path.
#[tokio::test(start_paused = true)]
async fn a_relative_uri_belongs_to_the_family_of_its_host_field() {
    let families = Families::builder().family(Family::new("vendor").host("vendor.test")).build().unwrap();
    for (host, name) in [("vendor.test", "vendor"), ("other.test", "other.test")] {
        let request = || {
            let mut request = get("/a");
            request.headers_mut().insert("host", host.parse().unwrap());
            request
        };
        let service = service(&families, Client::new([limited(429, 5)]));
        let answer = service.clone().oneshot(request()).await.unwrap();
        assert_eq!(answer.extensions().get::<forbear::Signal>().unwrap().family(), Some(name));
        assert_eq!(refusal(service.oneshot(request()).await).unwrap().family(), name);
    }
}
