//! Hosts, ports and routes.

use forbear::{Families, Family, FamilyName, Unknown};

use crate::charged;
use crate::common::{get, with};

fn families() -> Families {
    Families::builder()
        .family(Family::new("host").host("api.test"))
        .family(Family::new("port").host("api.test:8443"))
        .family(Family::new("charts").route("api.test", "/v8/{*rest}").route("cdn.test", "/charts/{id}"))
        .family(Family::new("one chart").route("cdn.test", "/charts/today"))
        .family(Family::new("v6").host("[2001:db8::1]"))
        .unknown(Unknown::Refuse)
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn requests_belong_to_the_family_of_their_host_port_and_path() {
    for (uri, family) in [
        ("https://api.test/v1", "host"),
        ("https://u:p@API.test.:443/v1?q=1", "host"),
        ("http://api.test:80/v1", "host"),
        ("https://api.test:9999/v1", "host"),
        ("https://api.test:8443/v1", "port"),
        ("https://API.TEST:8443/v1", "port"),
        ("https://api.test/v8/finance/chart?x=1", "charts"),
        ("https://API.test./v8/finance/chart", "charts"),
        ("https://api.test/v80", "host"),
        ("https://cdn.test/charts/7", "charts"),
        ("https://cdn.test/charts/today", "one chart"),
        ("https://cdn.test/charts/7/8", "refused"),
        ("https://cdn.test/", "refused"),
        ("https://[2001:DB8::1]:8080/", "v6"),
        ("https://xapi.test/", "refused"),
        ("https://api.test.evil.test/", "refused"),
        ("/v1", "refused"),
    ] {
        assert_eq!(charged(&families(), get(uri)).await.as_deref(), Some(family), "{uri}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_name_wins_over_everything() {
    for uri in ["https://api.test:8443/v1", "https://unknown.test/", "/relative"] {
        let request = with(get(uri), FamilyName::from_static("charts"));
        assert_eq!(charged(&families(), request).await.as_deref(), Some("charts"), "{uri}");
        let request = with(get(uri), FamilyName::new("Charts"));
        assert_eq!(
            charged(&families(), request).await.as_deref(),
            Some("refused"),
            "names have a case: {uri}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_host_field_counts_only_where_the_uri_has_no_host() {
    for (uri, host, family) in [
        ("/v1", "API.test:8443", "port"),
        ("/v8/x", "api.test", "charts"),
        ("https://api.test/", "cdn.test", "host"),
    ] {
        let mut request = get(uri);
        request.headers_mut().insert("host", host.parse().unwrap());
        assert_eq!(charged(&families(), request).await.as_deref(), Some(family), "{uri} {host}");
    }
}
