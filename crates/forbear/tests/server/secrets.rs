//! What callers are told holds no secret of the server's own calls.

use bytes::Bytes;
use forbear::{
    BudgetLayer, Error, Families, Family, FamilyName, InboundBudgetLayer, Operator, Refusal,
    RefusalResponseLayer, Unknown, stack,
};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use tower::{Layer, ServiceExt};

use crate::common::{Client, SECOND, Sent, answer, hangs, limited, with};

/// A URL, a header and a body with a secret in each place that has one.
fn secretive() -> Request<Sent> {
    Request::get("http://user:CANARY@vendor.test/CANARY/chart?api_key=CANARY")
        .header("authorization", "Bearer CANARY")
        .header("x-api-key", "CANARY")
        .body(Full::from("CANARY"))
        .unwrap()
}

fn families(unknown: Unknown, family: Option<Family>) -> Families {
    let builder = Families::builder().unknown(unknown);
    match family {
        Some(family) => builder.family(family).build().unwrap(),
        None => builder.build().unwrap(),
    }
}

fn quotes() -> Families {
    families(Unknown::Refuse, Some(Family::new("quotes").host("vendor.test")))
}

async fn error_of(families: &Families, client: &Client, request: Request<Sent>) -> Error {
    let answer = stack(families).budget(SECOND).service(client.clone()).send(request).await;
    answer.map(|answer| answer.status()).unwrap_err()
}

async fn assert_clean(place: &str, response: Response<Full<Bytes>>) {
    let headers = format!("{:?}", response.headers());
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let body = String::from_utf8_lossy(&body);
    assert!(body.contains("docs/problems.md#"), "{place}: {body}");
    for secret in ["CANARY", "user", "/chart"] {
        assert!(!headers.contains(secret) && !body.contains(secret), "{place}: {headers} {body}");
    }
}

/// An error that shows all it has, as many a client's does.
#[derive(Debug)]
struct Chatty;

impl std::fmt::Display for Chatty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("error sending request for url (http://user:CANARY@vendor.test/chart?api_key=CANARY)")
    }
}

impl std::error::Error for Chatty {}

#[tokio::test(start_paused = true)]
async fn no_kind_of_answer_holds_any() {
    let closed = Client::new([limited(429, 120)]);
    let cooled = quotes();
    let _ = stack(&cooled).budget(SECOND).service(closed.clone()).send(secretive()).await;
    let operated = quotes();
    operated.pause("quotes", Operator::new("user", "CANARY")).unwrap();
    let per_host = families(Unknown::PerHost, None);
    let _ = stack(&per_host).budget(SECOND).service(closed.clone()).send(secretive()).await;
    let refusing = families(Unknown::Refuse, None);
    let name = FamilyName::new("CANARY");
    let spent =
        BudgetLayer::new(SECOND).layer(Client::new([hangs()])).oneshot(secretive()).await.unwrap_err();
    for (place, error) in [
        ("cooling", error_of(&cooled, &closed, secretive()).await),
        ("paused", error_of(&operated, &closed, secretive()).await),
        ("a host's own family", error_of(&per_host, &closed, secretive()).await),
        ("unknown host", error_of(&refusing, &closed, secretive()).await),
        ("unknown name", error_of(&refusing, &closed, with(secretive(), name)).await),
        ("budget", spent),
        ("client", Error::from_inner(Chatty)),
    ] {
        assert_clean(place, Refusal::of(&error).response()).await;
    }
}

/// Nor those of the answer that is translated: its body and headers are the vendor's word to this server.
#[tokio::test(start_paused = true)]
async fn a_translated_answer_holds_none_of_the_vendors() {
    let vendor = stack(&quotes()).budget(SECOND).service(Client::new([limited(429, 120), answer(200)]));
    let server = RefusalResponseLayer::new().layer(tower::service_fn(move |request: Request<Sent>| {
        let vendor = vendor.clone();
        async move {
            let mut answer = vendor.send(request).await?.map(|_| Full::<Bytes>::from("CANARY"));
            answer.headers_mut().insert("set-cookie", "session=CANARY".parse().unwrap());
            Ok::<_, Error>(answer)
        }
    }));
    let server = InboundBudgetLayer::new(SECOND).layer(server);
    let (parts, body) = server.oneshot(secretive()).await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    assert_clean("translated", Response::from_parts(parts, Full::new(body))).await;
}
