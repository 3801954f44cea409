//! What a server's callers are told: status, seconds, header and problem.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use forbear::refusal::Kind;
use forbear::{BudgetLayer, Error, Families, Operator, Refusal, RefusalResponseLayer, Spent, Unknown, stack};
use http::Response;
use http_body_util::{BodyExt, Full};
use tokio::time::sleep;
use tower::{Layer, ServiceExt};

use crate::common::{Client, MS, SECOND, answer, fails, get, hangs, limited};
use crate::{URL, ask, families, handler, told, vendor};

fn alice() -> Operator {
    Operator::new("alice", "the vendor asked by mail")
}

/// Seconds that are left, not those that the vendor said; never too few.
#[tokio::test(start_paused = true)]
async fn retry_after_is_what_remains_rounded_up() {
    let vendor = stack(&families()).budget(500 * MS).service(Client::new([limited(429, 120)]));
    let server = RefusalResponseLayer::new().layer(handler(move || {
        let vendor = vendor.clone();
        async move { ask(&vendor).await }
    }));
    let mut seconds = Vec::new();
    for wait in [Duration::ZERO, Duration::ZERO, 500 * MS, 499 * MS, MS, MS, 117_999 * MS] {
        sleep(wait).await;
        let told = told(server.clone().oneshot(get("/")).await.unwrap()).await;
        assert_eq!(told.status, 503);
        seconds.push((told.retry_after.unwrap(), told.by.unwrap()));
    }
    let seconds: Vec<_> = seconds.iter().map(|(left, by)| (left.as_str(), by.as_str())).collect();
    let local = |left| (left, "local");
    let expected =
        [("120", "vendor"), local("120"), local("120"), local("120"), local("119"), local("119"), local("1")];
    assert_eq!(seconds, expected);
}

/// The moment the response is made counts, not that of the error.
#[tokio::test(start_paused = true)]
async fn a_refusal_that_was_kept_tells_what_is_left_of_it() {
    let families = families();
    families.cool("quotes", 90 * SECOND, alice()).unwrap();
    let error = ask(&vendor(&families, &Client::new([answer(200)]))).await.unwrap_err();
    assert_eq!(
        (error.retry_in(), error.family(), error.reason()),
        (Some(90 * SECOND), Some("quotes"), "operator")
    );
    let refusal = Refusal::of(&error);
    assert_eq!((refusal.kind(), refusal.retry_in()), (Kind::Refused, Some(90 * SECOND)));
    sleep(30_500 * MS).await;
    let before = told(refusal.response::<Full<Bytes>>()).await;
    assert_eq!(before.retry_after.as_deref(), Some("60"));
    assert_eq!(before.problem["detail"], "quotes is not called, retry in 1m00s");
    sleep(90 * SECOND).await;
    let after = told(refusal.response::<Full<Bytes>>()).await;
    assert_eq!((after.status, after.retry_after.as_deref()), (503, Some("0")));
    assert_eq!(after.problem["detail"], "quotes is not called");
}

#[tokio::test(start_paused = true)]
async fn a_problem_has_all_that_is_known_and_nothing_else() {
    let families = families();
    families.cool("quotes", 90 * SECOND, alice()).unwrap();
    let error = ask(&vendor(&families, &Client::new([answer(200)]))).await.unwrap_err();
    let problem = told(Refusal::of(&error).response::<Full<Bytes>>()).await.problem;
    let mut keys: Vec<_> = problem.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["detail", "family", "reason", "retry_at", "status", "title", "type"]);
    assert_eq!(problem["type"], Kind::Refused.uri());
    assert_eq!((&problem["status"], &problem["family"]), (&503.into(), &"quotes".into()));
    let retry_at = problem["retry_at"].as_str().unwrap();
    #[expect(clippy::disallowed_methods, reason = "the time that is told is the wall clock's")]
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    assert!(seconds_of(retry_at).abs_diff(wall + 90) <= 30, "{retry_at}");

    families.pause("quotes", alice()).unwrap();
    let error = ask(&vendor(&families, &Client::new([answer(200)]))).await.unwrap_err();
    let paused = crate::told(Refusal::of(&error).response::<Full<Bytes>>()).await;
    assert_eq!((paused.status, paused.retry_after.as_deref()), (503, None));
    assert_eq!((paused.problem.get("retry_at"), &paused.problem["reason"]), (None, &"paused".into()));
}

/// Seconds since 1970 of `2026-03-01T12:04:58.250Z`, by way of an HTTP date.
fn seconds_of(text: &str) -> u64 {
    let number = |from: usize, to: usize| text[from..to].parse::<usize>().unwrap();
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (day, month, year) = (number(8, 10), months[number(5, 7) - 1], number(0, 4));
    let date = (1..=7).find_map(|weekday| {
        let name = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"][weekday - 1];
        httpdate::parse_http_date(&format!("{name}, {day:02} {month} {year} {} GMT", &text[11..19])).ok()
    });
    assert!(text.ends_with('Z') && text.len() == 24, "{text}");
    date.unwrap().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

#[tokio::test(start_paused = true)]
async fn a_budget_that_is_gone_is_a_timeout_where_nobody_knows_more() {
    let service = BudgetLayer::new(SECOND).layer(Client::new([hangs()]));
    let error = service.oneshot(get(URL)).await.unwrap_err();
    let told = told(Refusal::of(&error).response::<Full<Bytes>>()).await;
    assert_eq!((told.status, told.retry_after, told.by.as_deref()), (504, None, Some("local")));
    assert_eq!(told.problem["type"], Kind::BudgetExhausted.uri());
    assert_eq!((told.problem.get("family"), told.problem.get("retry_at")), (None, None));
}

/// The vendor's answer was let go for a wait of two seconds, which then became one of a minute.
#[tokio::test(start_paused = true)]
async fn a_budget_that_is_gone_with_the_end_known_says_when() {
    let families = families();
    let vendor = vendor(&families, &Client::new([limited(429, 2)]));
    let waiting = tokio::spawn(async move { ask(&vendor).await });
    sleep(SECOND).await;
    families.cool("quotes", 60 * SECOND, alice()).unwrap();
    let error = waiting.await.unwrap().unwrap_err();
    let Error::BudgetExhausted(spent) = &error else { panic!("{error:?}") };
    assert_eq!(
        (spent.what(), spent.family(), spent.retry_in()),
        (Spent::NextWait, Some("quotes"), Some(60 * SECOND))
    );
    let told = told(Refusal::of(&error).response::<Full<Bytes>>()).await;
    assert_eq!(
        (told.status, told.retry_after.as_deref(), told.by.as_deref()),
        (503, Some("60"), Some("local"))
    );
    assert_eq!((&told.problem["family"], &told.problem["reason"]), (&"quotes".into(), &"operator".into()));
}

#[tokio::test(start_paused = true)]
async fn what_no_waiting_cures_is_told_as_it_is() {
    let refusing = Families::builder().unknown(Unknown::Refuse).build().unwrap();
    let unknown = ask(&vendor(&refusing, &Client::new([answer(200)]))).await.unwrap_err();
    let unknown = told(Refusal::of(&unknown).response::<Full<Bytes>>()).await;
    assert_eq!((unknown.status, unknown.retry_after, unknown.by.as_deref()), (500, None, Some("local")));
    let failed = ask(&vendor(&families(), &Client::new([fails()]))).await.unwrap_err();
    let failed = told(Refusal::of(&failed).response::<Full<Bytes>>()).await;
    assert_eq!((failed.status, failed.retry_after, failed.by), (502, None, None));
}

/// The vendor's own limited answer: translated, or handed on by choice; in shadow mode left alone.
#[tokio::test(start_paused = true)]
async fn a_limited_answer_is_translated_or_handed_on() {
    let handing_on = |families: &Families| {
        let vendor = vendor(families, &Client::new([limited(429, 120)]));
        handler(move || {
            let vendor = vendor.clone();
            async move { ask(&vendor).await }
        })
    };
    let translated = RefusalResponseLayer::new().layer(handing_on(&families()));
    let translated = told(translated.oneshot(get("/")).await.unwrap()).await;
    assert_eq!((translated.status, translated.retry_after.as_deref()), (503, Some("120")));
    assert_eq!(
        (&translated.problem["type"], translated.by.as_deref()),
        (&Kind::Limited.uri().into(), Some("vendor"))
    );
    assert_eq!(
        (&translated.problem["family"], &translated.problem["reason"]),
        (&"quotes".into(), &"retry-after".into())
    );

    let passed = RefusalResponseLayer::new().pass_on_limited().layer(handing_on(&families()));
    let passed = passed.oneshot(get("/")).await.unwrap();
    assert_eq!(
        (passed.status().as_u16(), &passed.headers()["forbear-refusal"]),
        (429, &"vendor".parse().unwrap())
    );
    assert_eq!(passed.headers()["retry-after"], "120");
    assert!(passed.into_body().collect().await.unwrap().to_bytes().is_empty());

    let shadow = families();
    shadow.shadow(true);
    let untouched = RefusalResponseLayer::new().layer(handing_on(&shadow));
    let untouched = untouched.oneshot(get("/")).await.unwrap();
    assert_eq!((untouched.status().as_u16(), untouched.headers().get("forbear-refusal")), (429, None));
}

/// The header is this server's word alone: a vendor's is taken away, and one that a handler made by `Refusal` stays.
#[tokio::test(start_paused = true)]
async fn the_header_is_nobody_elses_word() {
    let layer = RefusalResponseLayer::new();
    let forged = layer.layer(handler(|| async {
        Ok(Response::builder().header("forbear-refusal", "local").body(Full::default()).unwrap())
    }));
    assert_eq!(forged.oneshot(get("/")).await.unwrap().headers().get("forbear-refusal"), None);

    let families = families();
    families.pause("quotes", alice()).unwrap();
    let vendor = vendor(&families, &Client::new([answer(200)]));
    let own = layer.layer(layer.layer(handler(move || {
        let vendor = vendor.clone();
        async move { Ok(Refusal::of(&ask(&vendor).await.unwrap_err()).response()) }
    })));
    assert_eq!(told(own.oneshot(get("/")).await.unwrap()).await.by.as_deref(), Some("local"));
}
