//! The decision table of `docs/stale.md`, row by row.

use std::time::Duration;

use bytes::Bytes;
use forbear::stale::{Fallback, Served, StalePolicy};
use forbear::{Error, Families, Family, NoQueue, NoWait, Operator, Pacing, StaleLayer, StaleService, Vendor};
use forbear_mock::{MockService, MockVendor, Reply, reply};
use http::header::CACHE_CONTROL;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};

use crate::documented::table_of;

const SECOND: Duration = Duration::from_secs(1);
const URL: &str = "http://vendor.test/a";

type Answer = Result<Response<Bytes>, Error>;

/// What there is, and who asks.
struct Stage {
    mock: MockVendor,
    families: Families,
    service: StaleService<Vendor<MockService>>,
    before: usize,
}

/// What one row comes to: what each asker was told, by the words of `Served`, and how many attempts were made until he was
/// told, and a minute later.
#[derive(Debug)]
struct Seen {
    told: Vec<String>,
    attempts: (usize, usize),
}

fn good() -> Reply {
    reply(200).header("cache-control", "max-age=10").body("good")
}

impl Stage {
    fn new(policy: StalePolicy, pacing: Option<Pacing>) -> Self {
        let mock = MockVendor::in_process().script(good());
        let family = Family::new("vendor").host("vendor.test").stale(policy);
        let family = if let Some(pacing) = pacing { family.pacing(pacing) } else { family };
        let families = Families::builder().family(family).build().unwrap();
        let stale = StaleLayer::memory(1 << 20);
        let service = forbear::stack(&families).budget(5 * SECOND).stale(stale).service(mock.service());
        Self { mock, families, service, before: 0 }
    }

    /// Where nothing is stored.
    fn empty() -> Self {
        Self::new(StalePolicy::new(), None)
    }

    /// Where an answer is stored, which is past its freshness.
    async fn old(policy: StalePolicy) -> Self {
        let mut stage = Self::new(policy, None);
        stage.ask(get()).await.unwrap();
        tokio::time::sleep(20 * SECOND).await;
        stage.before = 1;
        stage
    }

    async fn ask(&self, request: Request<Full<Bytes>>) -> Answer {
        let (head, body) = self.service.send(request).await?.into_parts();
        Ok(Response::from_parts(head, body.collect().await.map_err(Error::from_inner)?.to_bytes()))
    }

    fn attempts(&self) -> usize {
        self.mock.attempts().len() - self.before
    }

    async fn seen(&self, answers: Vec<Answer>) -> Seen {
        let at_once = self.attempts();
        tokio::time::sleep(60 * SECOND).await;
        Seen { told: answers.iter().map(told).collect(), attempts: (at_once, self.attempts()) }
    }

    /// What one who asks sees.
    async fn one(&self, request: Request<Full<Bytes>>) -> Seen {
        let answer = self.ask(request).await;
        self.seen(vec![answer]).await
    }

    /// What ten who ask at once see.
    async fn ten(&self) -> Seen {
        let answers = futures_util::future::join_all((0..10).map(|_| self.ask(get()))).await;
        self.seen(answers).await
    }
}

/// The words of the table for it, and the status where it is not 200.
fn told(answer: &Answer) -> String {
    match answer {
        Err(error) => error.reason().to_owned(),
        Ok(response) => {
            let status = response.status().as_u16();
            let word = match response.extensions().get::<Served>().unwrap() {
                Served::Stale { because, .. } => format!("{because:?}"),
                Served::Fallback { .. } if status == 200 => "Served::Fallback".to_owned(),
                Served::Fallback { because } => format!("{because:?}"),
                served => format!("Served::{served:?}"),
            };
            if status == 200 { word } else { format!("{status} {word}") }
        }
    }
}

fn get() -> Request<Full<Bytes>> {
    Request::get(URL).body(Full::default()).unwrap()
}

fn saying(directive: &str) -> Request<Full<Bytes>> {
    let mut request = get();
    request.headers_mut().insert(CACHE_CONTROL, directive.parse().unwrap());
    request
}

fn with<T: Clone + Send + Sync + 'static>(extension: T) -> Request<Full<Bytes>> {
    let mut request = get();
    request.extensions_mut().insert(extension);
    request
}

fn fallback() -> StalePolicy {
    StalePolicy::new().fallback(Fallback::json("[]"))
}

/// The rows in their order: each as often as it has cases.
async fn walk(row: usize) -> Vec<Seen> {
    let plain = StalePolicy::new;
    match row {
        0 => {
            let mut stage = Stage::empty();
            stage.ask(get()).await.unwrap();
            stage.before = 1;
            vec![stage.one(get()).await]
        }
        1 => vec![Stage::old(plain()).await.one(saying("only-if-cached")).await],
        2 => vec![Stage::old(plain()).await.one(saying("max-stale=100")).await],
        3 => {
            let of_policy = Stage::old(plain().while_revalidate(60 * SECOND)).await;
            let of_answer = Stage::empty();
            of_answer.mock.set_script(good().header("cache-control", "stale-while-revalidate=600"));
            of_answer.ask(get()).await.unwrap();
            tokio::time::sleep(20 * SECOND).await;
            let of_answer = Stage { before: 1, ..of_answer };
            vec![of_policy.one(get()).await, of_answer.one(get()).await]
        }
        4 => {
            let mut stage = Stage::old(plain()).await;
            stage.mock.set_script(reply(500));
            stage.ask(get()).await.unwrap();
            stage.before += 1;
            vec![stage.one(get()).await]
        }
        5 => {
            let stage = Stage::old(plain()).await;
            stage.mock.set_script(good().delay(SECOND));
            vec![stage.ten().await]
        }
        6 => {
            let confirmed = Stage::empty();
            confirmed.mock.set_script([good().header("etag", "\"1\""), reply(304)]);
            confirmed.ask(get()).await.unwrap();
            tokio::time::sleep(20 * SECOND).await;
            let confirmed = Stage { before: 1, ..confirmed };
            vec![Stage::old(plain()).await.one(get()).await, confirmed.one(get()).await]
        }
        7 => {
            let (cools, paused) = (Stage::old(plain()).await, Stage::old(plain()).await);
            cools.families.cool("vendor", 100 * SECOND, Operator::new("test", "a test")).unwrap();
            paused.families.pause("vendor", Operator::new("test", "a test")).unwrap();
            vec![cools.one(get()).await, paused.one(get()).await]
        }
        8 => {
            let mut all = Vec::new();
            for status in [429, 500, 502, 503, 504] {
                let stage = Stage::old(plain()).await;
                stage.mock.set_script(reply(status));
                all.push(stage.one(get()).await);
            }
            all
        }
        9 => {
            let paced = Stage::new(plain(), Some(Pacing::new().gap(3600 * SECOND)));
            paced.ask(get()).await.unwrap();
            tokio::time::sleep(20 * SECOND).await;
            let paced = Stage { before: 1, ..paced };
            let fails = Stage::old(plain()).await;
            fails.mock.set_script(reply(200).close_before_head());
            vec![paced.one(with(NoQueue)).await, fails.one(get()).await]
        }
        10 => {
            let stage = Stage::old(plain()).await;
            stage.mock.set_script(good().delay(3 * SECOND));
            vec![stage.one(with(forbear::Budget::within(SECOND))).await]
        }
        11 => {
            let stage = Stage::old(plain().patience(SECOND)).await;
            stage.mock.set_script(good().delay(3 * SECOND));
            vec![stage.one(get()).await]
        }
        12 => vec![Stage::empty().one(saying("only-if-cached")).await],
        13 => {
            let stage = Stage::empty();
            stage.mock.set_script(good().delay(SECOND));
            vec![stage.ten().await]
        }
        14 => vec![Stage::empty().one(get()).await],
        15 | 16 => {
            let policy = if row == 15 { fallback } else { plain };
            let mut all = Vec::new();
            for status in [429, 500, 502, 503, 504] {
                let stage = Stage::new(policy(), None);
                stage.mock.set_script(reply(status).delay(SECOND));
                all.push(stage.ten().await);
            }
            let cools = Stage::new(policy(), None);
            cools.families.cool("vendor", 100 * SECOND, Operator::new("test", "a test")).unwrap();
            all.push(cools.one(with(NoWait)).await);
            let fails = Stage::new(policy(), None);
            fails.mock.set_script(reply(200).delay(SECOND).close_before_head());
            all.push(fails.ten().await);
            all
        }
        _ => panic!("a row that is not walked: write how one comes to it"),
    }
}

/// What the third column says of each case of a row.
fn expected(row: usize, served: &str, cases: usize) -> Vec<String> {
    let words: Vec<_> =
        served.split([',', ' ', ';']).filter(|word| word.starts_with(char::is_uppercase)).collect();
    let all = |word: &str| vec![word.to_owned(); cases];
    match row {
        // What that attempt brings.
        5 | 13 => all("Served::Live"),
        8 => {
            let [limited, fault] = words[..] else { panic!("{words:?}") };
            [limited, fault, fault, fault, fault].map(str::to_owned).to_vec()
        }
        9 => words.iter().map(ToString::to_string).collect(),
        12 => vec![format!("504 {}", words[0])],
        16 => {
            let own = [429, 500, 502, 503, 504].map(|status| format!("{status} Served::Live"));
            own.into_iter().chain(["operator".to_owned(), "client-failed".to_owned()]).collect()
        }
        _ => {
            assert_eq!(words.len(), 1, "{served}");
            all(words[0])
        }
    }
}

#[tokio::test(start_paused = true)]
async fn each_row_of_the_decision_table_is_as_it_says() {
    let rows = table_of(include_str!("../../docs/stale.md"), "there is");
    for (at, row) in rows.iter().enumerate() {
        let [_, and, served, attempts] = &row[..] else { panic!("{row:?}") };
        let cases = walk(at).await;
        for (seen, expected) in cases.iter().zip(expected(at, served, cases.len())) {
            assert!(seen.told.iter().all(|told| *told == expected), "{and}: {expected} is not {seen:?}");
            let (at_once, later) = seen.attempts;
            let fits = match attempts.as_str() {
                "none" => later == 0,
                "one, in the background" => at_once == 0 && later == 1,
                "one" | "none more" | "one, which goes on in the background" => later == 1,
                "at most one" => later <= 1,
                other => panic!("{other:?}: say here how many that are"),
            };
            assert!(fits, "{and}: {attempts} is not {seen:?}");
        }
    }
    assert_eq!(rows.len(), 17, "each row is walked");
}
