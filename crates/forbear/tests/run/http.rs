//! A command and the routes of one vendor, on a real socket, in one family.

use std::time::Duration;

use bytes::Bytes;
use forbear::body::Replay;
use forbear::{Error, Families, Family, FamilyGate, HealthPhase, NoWait, Vendor, Verdict};
use forbear_mock::{MockVendor, reply};
use http::{Request, StatusCode};
use http_body_util::Full;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use tokio::time::{Instant, sleep};

use crate::common::{MS, SECOND, answer, get, with};
use crate::{cooling, gate, limited, phase, says};

type Body = Full<Bytes>;

struct Program {
    mock: MockVendor,
    families: Families,
    http: Vendor<Client<HttpConnector, Replay<Body>>>,
    cli: FamilyGate,
}

impl Program {
    async fn new() -> Self {
        let mock = MockVendor::start().await.script(reply(200));
        let families =
            Families::builder().family(Family::new("social").host(mock.authority())).build().unwrap();
        let client = Client::builder(TokioExecutor::new()).build_http();
        let http = forbear::stack(&families).budget(30 * SECOND).service(client);
        let cli = gate(&families).route("post").budget(30 * SECOND);
        Self { mock, families, http, cli }
    }

    fn get(&self, path: &str) -> Request<Body> {
        Request::get(self.mock.url(path)).body(Body::default()).unwrap()
    }

    async fn sent(&self, path: &str) -> Result<StatusCode, Error> {
        Ok(self.http.send(self.get(path)).await?.status())
    }

    async fn sent_now(&self, path: &str) -> Result<StatusCode, Error> {
        Ok(self.http.send(with(self.get(path), NoWait)).await?.status())
    }
}

fn refused(error: Error) -> (String, Option<String>, Duration) {
    let Error::Cooling(cooling) = error else { unreachable!("{error:?}") };
    (cooling.reason().to_string(), cooling.route().map(str::to_owned), cooling.retry_in().unwrap())
}

#[tokio::test]
async fn a_limited_command_cools_the_routes_and_a_good_route_opens_the_command() {
    let program = Program::new().await;
    let start = Instant::now();
    assert!(says(&program.cli, limited(1500 * MS)).await.is_ok());
    let (reason, route, retry_in) = refused(program.sent_now("/feed").await.unwrap_err());
    assert_eq!((reason.as_str(), route.as_deref()), ("rate_limit", Some("post")));
    assert!(retry_in <= 1500 * MS);
    program.mock.assert_attempts(0);

    // The route waits, and is the probe for both.
    assert_eq!(program.sent("/feed").await.unwrap(), StatusCode::OK);
    assert!(start.elapsed() >= 1500 * MS);
    assert_eq!(phase(&program.families), HealthPhase::Recovering);
    assert!(says(&program.cli, Verdict::Good).await.is_ok());
    program.mock.assert_attempts(1);
}

#[tokio::test]
async fn a_limited_route_cools_the_command_and_a_good_command_opens_the_routes() {
    let program = Program::new().await;
    program.mock.set_route("/feed", reply(429).header("retry-after-ms", "1500"));
    let start = Instant::now();
    assert_eq!(program.sent_now("/feed").await.unwrap(), StatusCode::TOO_MANY_REQUESTS);
    let now = program.cli.clone().no_wait();
    let (reason, route, retry_in) = refused(says(&now, Verdict::Good).await.unwrap_err());
    assert_eq!((reason.as_str(), route.as_deref()), ("retry-after", Some("/feed")));
    assert!(retry_in <= 1500 * MS);

    assert!(says(&program.cli, Verdict::Good).await.is_ok());
    assert!(start.elapsed() >= 1500 * MS);
    assert_eq!(phase(&program.families), HealthPhase::Recovering);
    assert_eq!(program.sent("/profile").await.unwrap(), StatusCode::OK);
    program.mock.assert_attempts(2);
    assert_eq!(program.families.health().family("social").unwrap().attempts, 3);
}

#[tokio::test(start_paused = true)]
async fn a_command_that_probes_keeps_the_routes_waiting_for_its_verdict() {
    let families = cooling(SECOND).await;
    sleep(2 * SECOND).await;
    let answers = crate::common::Client::new([answer(200)]);
    let http = forbear::stack(&families).budget(30 * SECOND).service(answers.clone());
    let cli = gate(&families);
    let start = Instant::now();
    let probe = cli.run(|| sleep(100 * MS), |()| limited(5 * SECOND));
    let late = async {
        sleep(50 * MS).await;
        http.send(get("http://social.test/feed")).await
    };
    let (probe, late) = tokio::join!(probe, late);
    assert!(probe.is_ok());
    assert_eq!(late.unwrap().status(), StatusCode::OK);
    assert!(start.elapsed() >= 5 * SECOND, "it waited out what the command was told: {:?}", start.elapsed());
    assert_eq!(answers.sent(), 1);
}
