//! A vendor that is called over HTTP and through its command line tool. Whichever of the two is told to stop, both stop,
//! and whichever is served first opens the family for both.

mod tool;

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use forbear::{Error, Families, Family, FamilyGate, NoWait, Vendor, body::Replay};
use forbear_mock::{MockVendor, reply};
use http::Request;
use http_body_util::Empty;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use tokio::time::Instant;

use crate::BoxError;
pub use tool::retry_in;

/// What each call may take in all, waits included.
const BUDGET: Duration = Duration::from_secs(8);

/// One call, and what came of it.
#[derive(Debug)]
pub struct Row {
    /// Who called what.
    pub what: &'static str,
    /// What the caller got.
    pub got: String,
    /// How long it took.
    pub took: Duration,
    /// The family's line of health after it.
    pub health: String,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, got, took, health } = self;
        write!(f, "{what:<34} {took:>7.1?}  {got}\n{:44}{health}", "")
    }
}

struct Program {
    mock: MockVendor,
    families: Families,
    http: Vendor<Client<HttpConnector, Replay<Empty<Bytes>>>>,
    cli: FamilyGate,
}

/// Plays it, in about three seconds.
///
/// # Errors
/// Where a socket cannot be had, or a request cannot be made.
pub async fn run() -> Result<Vec<Row>, BoxError> {
    let mock = MockVendor::start().await.script([reply(200), reply(429).retry_after(1), reply(200)]);
    let families = Families::builder().family(Family::new("social").host(mock.authority())).build()?;
    let client = Client::builder(TokioExecutor::new()).build_http();
    let http = forbear::stack(&families).budget(BUDGET).service(client);
    let cli = families.gate("social")?.route("post").budget(BUDGET);
    let program = Program { mock, families, http, cli };

    let hasty = program.cli.clone().route("export").budget(Duration::from_millis(300));
    Ok(vec![
        program.tool("the tool is limited", &program.cli, tool::IS_LIMITED).await,
        program.route("a route that does not wait", true).await?,
        program.route("a route that waits", false).await?,
        program.route("a route is limited", true).await?,
        program.tool("the tool waits", &program.cli, tool::POSTS).await,
        program.tool("the tool hangs", &hasty, tool::HANGS).await,
    ])
}

impl Program {
    async fn tool(&self, what: &'static str, gate: &FamilyGate, script: &'static str) -> Row {
        let start = Instant::now();
        let got = match gate.run(|| tool::social(script), tool::classify).await {
            Ok(Ok(output)) => output.status.to_string(),
            Ok(Err(broken)) => format!("the tool cannot be run: {broken}"),
            // It was not run, or did not end in time.
            Err(error) => error.to_string(),
        };
        self.row(what, got, start)
    }

    async fn route(&self, what: &'static str, at_once: bool) -> Result<Row, BoxError> {
        let mut request = Request::get(self.mock.url("/feed")).body(Empty::new())?;
        if at_once {
            request.extensions_mut().insert(NoWait);
        }
        let start = Instant::now();
        let got = match self.http.send(request).await {
            Ok(response) => response.status().to_string(),
            Err(error @ Error::Cooling(_)) => error.to_string(),
            Err(error) => return Err(error.into()),
        };
        Ok(self.row(what, got, start))
    }

    fn row(&self, what: &'static str, got: String, start: Instant) -> Row {
        Row { what, got, took: start.elapsed(), health: self.families.health().to_string() }
    }
}
