//! What is counted adds up.

use std::collections::BTreeMap;

use fastrand::Rng;
use forbear::stale::Fallback;
use forbear::{Families, Family, NoWait};
use http::Method;
use http::header::{CACHE_CONTROL, IF_NONE_MATCH};

use crate::vendor::{Fault, answer, ok};
use crate::*;

const HOSTS: [&str; 4] = ["quotes.test", "news.test", "one.test", "two.test"];

/// A vendor whose answers are good, bad, or none, by chance.
fn wild(seed: u64) -> Vendor {
    let mut random = Rng::with_seed(seed);
    Vendor::new(move |request| {
        let age = [
            "max-age=1",
            "max-age=0",
            "max-age=1, stale-while-revalidate=2",
            "no-store",
            "max-age=1, must-revalidate",
        ];
        match random.u8(..12) {
            0 => Err(Fault("no connection")),
            1 => Ok(answer(503, &[], "down")),
            2 => Ok(answer(429, &[("retry-after", "1")], "too many")),
            3 | 4 if request.headers().contains_key(IF_NONE_MATCH) => {
                Ok(answer(304, &[("etag", "\"1\"")], ""))
            }
            5 => Ok(answer(304, &[], "")),
            _ => Ok(ok(&[("cache-control", random.choice(age).unwrap()), ("etag", "\"1\"")], "good")),
        }
    })
}

fn any(random: &mut Rng) -> Request<Body> {
    let url = format!("http://{}/{}", random.choice(HOSTS).unwrap(), random.u8(..8));
    let mut request = get(&url);
    let headers = request.headers_mut();
    match random.u8(..10) {
        0 => drop(headers.insert(IF_NONE_MATCH, "\"1\"".parse().unwrap())),
        1 => drop(headers.insert(CACHE_CONTROL, "only-if-cached".parse().unwrap())),
        2 => drop(headers.insert(CACHE_CONTROL, "no-cache".parse().unwrap())),
        3 => drop(headers.insert(CACHE_CONTROL, "max-stale=1".parse().unwrap())),
        4 => *request.method_mut() = Method::HEAD,
        5 => drop(request.extensions_mut().insert(NoWait)),
        6 => drop(request.extensions_mut().insert(forbear::Budget::within(MS * random.u32(..40)))),
        _ => {}
    }
    request
}

/// What the caller saw, as it is counted.
fn kind(answer: &Result<Answer, forbear::Error>) -> String {
    let Ok(answer) = answer else { return "refused".into() };
    match served(answer) {
        Served::Fallback { because: Because::OnlyIfCached } => "refused".into(),
        Served::Fallback { .. } => "fallback".into(),
        Served::Stale { because, .. } => because.to_string(),
        served => format!("{served:?}").to_lowercase(),
    }
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_requests_of_all_kinds_some_of_which_are_given_up_are_each_counted_once() {
    for seed in 0..4 {
        let vendor = wild(seed);
        vendor.takes(20 * MS);
        let policy = StalePolicy::new().patience(15 * MS).max_stale(3 * SECOND);
        let families = Families::builder()
            .family(
                Family::new("quotes")
                    .host("quotes.test")
                    .stale(policy.clone().fallback(Fallback::json("[]"))),
            )
            .family(Family::new("news").host("news.test").stale(policy))
            .build()
            .unwrap();
        let service = layer().families(&families).layer(vendor.clone());
        let mut random = Rng::with_seed(seed);
        let mut asked = Vec::new();
        for _ in 0..2_500 {
            let (request, service) = (any(&mut random), service.clone());
            let (longest, reads) = (MS * random.u32(..100), random.bool());
            asked.push(tokio::spawn(async move {
                let host = request.uri().host().unwrap().to_owned();
                let answer = tokio::time::timeout(longest, service.oneshot(request)).await.ok()?;
                let kind = kind(&answer);
                if let Ok(answer) = answer
                    && reads
                {
                    let _ = answer.into_body().collect().await;
                }
                Some((host, kind))
            }));
            if random.u8(..4) == 0 {
                tokio::time::sleep(MS * random.u32(..60)).await;
            }
        }
        let mut seen: BTreeMap<&str, BTreeMap<String, u64>> = BTreeMap::new();
        let mut gone = 0;
        for one in asked {
            let Some((host, kind)) = one.await.unwrap() else {
                gone += 1;
                continue;
            };
            let family = match host.as_str() {
                "quotes.test" => "quotes",
                "news.test" => "news",
                _ => "",
            };
            *seen.entry(family).or_default().entry(kind).or_default() += 1;
        }
        assert!(gone > 100, "{gone} were given up");
        tokio::time::sleep(100 * SECOND).await;
        let health = families.health();
        for (family, seen) in seen {
            let counted = match family {
                "" => health.stale.clone().unwrap(),
                name => health.family(name).unwrap().stale.clone().unwrap(),
            };
            let mut told: BTreeMap<String, u64> =
                counted.stale.iter().map(|(why, times)| (why.to_string(), *times)).collect();
            let others = [
                ("live", counted.live),
                ("fresh", counted.fresh),
                ("fallback", counted.fallbacks),
                ("refused", counted.refused),
            ];
            told.extend(others.map(|(kind, times)| (kind.to_owned(), times)));
            told.retain(|_, times| *times > 0);
            assert_eq!(told, seen, "{family:?} with {seed}");
            assert!(told.len() >= 6, "{told:?}");
        }
        assert_eq!(vendor.in_flight(), 0);
    }
}
