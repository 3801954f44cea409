//! A bucket that the vendor names is learned from its answers, and closed alone.

use std::time::Duration;

use bytes::Bytes;
use forbear::{Dialect, Error, Families, Family, NoWait, Partition, presets};
use forbear_mock::{MockVendor, Reply, reply};
use http::{Method, Request, StatusCode};
use http_body_util::Full;
use tower::{Service, ServiceExt};

fn families(family: Family) -> Families {
    Families::builder().family(family.host("vendor.test")).build().unwrap()
}

struct Caller<S>(S);

impl<S, RB> Caller<S>
where
    S: Service<Request<Full<Bytes>>, Response = http::Response<RB>, Error = Error> + Clone,
{
    async fn call(&self, method: Method, path: &str, credential: Option<&str>) -> Result<StatusCode, String> {
        let url = format!("http://vendor.test{path}");
        let mut request = Request::builder().method(method).uri(url).body(Full::default()).unwrap();
        request.extensions_mut().insert(NoWait);
        if let Some(credential) = credential {
            request.extensions_mut().insert(Partition::of(credential));
        }
        match self.0.clone().ready().await.unwrap().call(request).await {
            Ok(response) => Ok(response.status()),
            Err(Error::Cooling(cooling)) => Err(cooling.reason().to_string()),
            Err(error) => panic!("{error}"),
        }
    }

    async fn get(&self, path: &str) -> Result<StatusCode, String> {
        self.call(Method::GET, path, None).await
    }
}

fn github(resource: &'static str) -> Reply {
    reply(200).header("x-ratelimit-resource", resource).header("x-ratelimit-remaining", "10")
}

#[tokio::test(start_paused = true)]
async fn an_exhausted_resource_closes_the_routes_that_count_in_it_and_no_other() {
    let used_up = reply(403)
        .header("date", "Mon, 30 Nov 2026 00:00:00 GMT")
        .header("x-ratelimit-resource", "core")
        .header("x-ratelimit-remaining", "0")
        .header("x-ratelimit-reset", "1795997400");
    let mock = MockVendor::in_process()
        .script(github("core"))
        .route("/search/code", [github("search"), github("search"), reply(403).retry_after(60)])
        .route("/repos/a/7", [github("core"), used_up]);
    let families = families(Family::new("github").dialect(presets::github().dialect()));
    let caller = Caller(forbear::stack(&families).service(mock.service()));
    for path in ["/repos/a/7", "/search/code", "/user"] {
        assert_eq!(caller.get(path).await, Ok(StatusCode::OK), "{path}");
    }
    assert_eq!(caller.get("/repos/a/7").await, Ok(StatusCode::FORBIDDEN));
    let closed = Err("primary".to_owned());
    assert_eq!(caller.get("/repos/a/7").await, Err("retry-after".to_owned()), "the URL itself");
    assert_eq!(caller.get("/repos/a/8").await, closed, "the same route by its template");
    assert_eq!(caller.get("/user").await, closed, "another route of the resource");
    assert_eq!(caller.get("/search/code").await, Ok(StatusCode::OK), "another resource");
    assert_eq!(caller.get("/never/called").await, Ok(StatusCode::OK), "a route of which nothing is known");
    let health = families.health().to_string();
    assert!(health.contains("bucket core"), "{health}");

    // A secondary limit is for the whole token.
    assert_eq!(caller.get("/search/code").await, Ok(StatusCode::FORBIDDEN));
    assert_eq!(caller.get("/another").await, Err("secondary".to_owned()));
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(caller.get("/search/users").await, Ok(StatusCode::OK));
    assert_eq!(caller.get("/user").await, closed, "the resource's own window goes on");
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(caller.get("/user").await, Ok(StatusCode::OK));
}

#[tokio::test(start_paused = true)]
async fn each_credential_has_buckets_of_its_own() {
    let limited = reply(429)
        .retry_after(5)
        .header("via", "1.1 google")
        .header("x-ratelimit-bucket", "abcd")
        .header("x-ratelimit-scope", "user");
    let mock = MockVendor::in_process()
        .script(reply(200).header("x-ratelimit-bucket", "abcd"))
        .route("/channels/1/messages", [limited, reply(200)])
        .route("/gateway", reply(200).header("x-ratelimit-bucket", "other"));
    let families = families(Family::new("discord").dialect(presets::discord().dialect()));
    let caller = Caller(forbear::stack(&families).service(mock.service()));
    let get = |path: &'static str, credential: &'static str| caller.call(Method::GET, path, Some(credential));
    assert_eq!(get("/channels/2/pins", "a").await, Ok(StatusCode::OK));
    assert_eq!(get("/channels/1/messages", "a").await, Ok(StatusCode::TOO_MANY_REQUESTS));
    assert_eq!(get("/channels/2/pins", "a").await, Err("user".to_owned()), "the same bucket");
    assert_eq!(get("/gateway", "a").await, Ok(StatusCode::OK));
    assert_eq!(get("/channels/2/pins", "b").await, Ok(StatusCode::OK), "another token");
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_a_route_closes_its_method_and_path_alone() {
    let mock = MockVendor::in_process()
        .script(reply(200))
        .route("/items/1", [reply(429).retry_after(5), reply(200)]);
    let dialect = Dialect::from_toml("name = \"acme\"\nof = \"route\"").unwrap();
    let families = families(Family::new("acme").dialect(dialect));
    let caller = Caller(forbear::stack(&families).service(mock.service()));
    assert_eq!(caller.get("/items/1").await, Ok(StatusCode::TOO_MANY_REQUESTS));
    let closed = Err("retry-after".to_owned());
    assert_eq!(caller.get("/items/2").await, closed, "the same template");
    assert_eq!(caller.get("/lists/1").await, Ok(StatusCode::OK));
    assert_eq!(caller.call(Method::POST, "/items/2", None).await, Ok(StatusCode::OK), "another method");
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(caller.get("/items/2").await, Ok(StatusCode::OK));
}
