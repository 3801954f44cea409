//! Families of hosts that nobody registered, and sets of families.

use forbear::{Families, Family, Unknown};
use tokio::time::sleep;

use crate::charged;
use crate::common::{SECOND, get};

#[tokio::test(start_paused = true)]
async fn each_host_and_port_has_one_when_it_signalled() {
    let families = Families::builder().build().unwrap();
    for (uri, name) in [
        ("http://A.test./x", "a.test"),
        ("http://a.test:80/y", "a.test"),
        ("https://a.test:80/", "a.test:80"),
        ("https://u:p@b.test:443/?key=1", "b.test"),
        ("http://[::1]:8080/", "[::1]:8080"),
    ] {
        assert_eq!(charged(&families, get(uri)).await.as_deref(), Some(name), "{uri}");
    }
    let names: Vec<_> = families.health().families.iter().map(|family| family.family.to_string()).collect();
    assert_eq!(names, ["[::1]:8080", "a.test", "a.test:80", "b.test"]);
    assert_eq!(families.health().overflows, 0);
}

#[tokio::test(start_paused = true)]
async fn registered_ones_come_first_in_health_and_have_no_automatic_twin() {
    let builder = Families::builder().family(Family::new("z").host("z.test")).family(Family::new("y"));
    let families = builder.build().unwrap();
    assert_eq!(families.health().to_string(), "z  open\ny  open");
    let _ = charged(&families, get("http://a.test/")).await;
    let _ = charged(&families, get("http://z.test/")).await;
    let names: Vec<_> = families.health().families.iter().map(|family| family.family.to_string()).collect();
    assert_eq!(names, ["z", "y", "a.test"]);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_charged_where_unknown_hosts_pass_through() {
    let families = Families::builder().unknown(Unknown::PassThrough).build().unwrap();
    assert_eq!(charged(&families, get("http://a.test/")).await, None);
}

#[tokio::test(start_paused = true)]
async fn clones_share_everything_and_two_sets_nothing() {
    let (one, other) = (Families::builder().build().unwrap(), Families::builder().build().unwrap());
    let clone = one.clone();
    let _ = charged(&one, get("http://a.test/")).await;
    assert!(clone.health().family("a.test").is_some(), "{}", clone.health());
    assert_eq!(clone.health().to_string(), one.health().to_string());
    assert_eq!(other.health().to_string(), "");
}

/// 2 min on a registered family's ladder, 5 s on an automatic one's, for the same answer without a delay.
#[tokio::test(start_paused = true)]
async fn an_automatic_family_has_the_short_ladder() {
    use tower::{Layer, ServiceExt};
    let families = Families::builder().family(Family::new("registered").host("r.test")).build().unwrap();
    let client = crate::common::Client::new([crate::common::answer(429)]);
    let service = forbear::FamilyCooldownLayer::new(families.clone()).layer(client);
    for uri in ["http://r.test/", "http://a.test/"] {
        let _ = service.clone().oneshot(get(uri)).await.unwrap();
    }
    let health = families.health();
    let remaining = |name: &str| health.family(name).unwrap().remaining;
    assert_eq!((remaining("registered"), remaining("a.test")), (Some(120 * SECOND), Some(5 * SECOND)));
    sleep(5 * SECOND).await;
    assert_eq!(families.health().family("a.test").unwrap().phase.to_string(), "probing");
}
