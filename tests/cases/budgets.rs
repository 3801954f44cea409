//! Whatever a vendor does, a budget is conserved.

use std::io;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use forbear::body::Peeked;
use forbear::{Budget, BudgetLayer, Error, NoWait, Paced};
use http::Response;
use proptest::collection::vec;
use proptest::option::{of, weighted};
use proptest::prelude::*;
use tokio::time::Instant;
use tower::{ServiceExt, service_fn};

use crate::support::{Body, MILLISECOND, answer, client, get, registered};

/// A timer's own grain, once for each budget that ends.
const GRAIN: Duration = Duration::from_millis(3);

/// What one attempt meets.
#[derive(Debug, Clone)]
struct Answer {
    status: Option<u16>,
    retry_after: Option<u32>,
    after: u32,
}

/// One logical request inside the outer one.
#[derive(Debug, Clone)]
struct Inner {
    total: Option<u32>,
    carried: Option<u32>,
    attempts: Option<NonZeroU32>,
    grace: u32,
    no_wait: bool,
}

#[derive(Debug, Clone)]
struct Story {
    outer: u32,
    outer_attempts: Option<NonZeroU32>,
    inner: Vec<Inner>,
    script: Vec<Answer>,
}

fn few() -> impl Strategy<Value = Option<NonZeroU32>> {
    of((1_u32..6).prop_map(|few| NonZeroU32::MIN.saturating_add(few - 1)))
}

fn stories() -> impl Strategy<Value = Story> {
    let status = prop_oneof![3 => Just(Some(429)), 2 => Just(Some(503)), 1 => Just(Some(500)), 1 => Just(Some(200)), 1 => Just(None)];
    let answers = (status, of(0_u32..8), 0_u32..2_000);
    let answers = answers.prop_map(|(status, retry_after, after)| Answer { status, retry_after, after });
    let inner = (of(0_u32..15_000), of(0_u32..15_000), few(), 0_u32..1_000, weighted(0.2, Just(())));
    let inner = inner.prop_map(|(total, carried, attempts, grace, no_wait)| Inner {
        total,
        carried,
        attempts,
        grace,
        no_wait: no_wait.is_some(),
    });
    (0_u32..30_000, few(), vec(inner, 1..4), vec(answers, 1..20))
        .prop_map(|(outer, outer_attempts, inner, script)| Story { outer, outer_attempts, inner, script })
}

/// What one inner request was allowed, and how it ended.
struct Ended {
    deadline: Instant,
    began: usize,
    sent: usize,
    at: Instant,
    error: Option<Error>,
}

type Starts = Arc<Mutex<Vec<Instant>>>;

/// A vendor that plays `script`, the last answer for ever, and notes when each attempt began.
fn vendor(script: Vec<Answer>) -> (crate::support::Client, Starts) {
    let starts = Starts::default();
    let noted = Arc::clone(&starts);
    let play = move |_| {
        let (noted, script) = (Arc::clone(&noted), script.clone());
        async move {
            let number = {
                let mut noted = noted.lock().unwrap();
                noted.push(Instant::now());
                noted.len() - 1
            };
            let now = script[number.min(script.len() - 1)].clone();
            tokio::time::sleep(now.after * MILLISECOND).await;
            let mut response = answer(now.status.ok_or_else(|| io::Error::other("reset"))?);
            if let Some(seconds) = now.retry_after {
                response.headers_mut().insert("retry-after", seconds.into());
            }
            Ok(response)
        }
    };
    (client(play), starts)
}

/// The inner requests one after another, inside one outer budget.
async fn tell(story: Story) -> Result<(), TestCaseError> {
    let (client, starts) = vendor(story.script);
    let families = registered();
    let entered = Instant::now();
    let outer_deadline = entered + story.outer * MILLISECOND;
    let ended = Arc::new(Mutex::new(Vec::new()));
    let inside = {
        let (ended, starts, inner) = (Arc::clone(&ended), Arc::clone(&starts), story.inner.clone());
        service_fn(move |_: http::Request<Body>| {
            let (ended, starts, inner) = (Arc::clone(&ended), Arc::clone(&starts), inner.clone());
            let (families, client) = (families.clone(), client.clone());
            async move {
                let mut last: Result<Response<Paced<Peeked<Body>>>, Error> =
                    Ok(answer(204).map(Peeked::plain).map(Paced::plain));
                for one in inner {
                    let mut stack = forbear::stack(&families).grace(one.grace * MILLISECOND);
                    if let Some(total) = one.total {
                        stack = stack.budget(total * MILLISECOND);
                    }
                    if let Some(attempts) = one.attempts {
                        stack = stack.attempts(attempts);
                    }
                    let mut request = get("/");
                    if one.no_wait {
                        request.extensions_mut().insert(NoWait);
                    }
                    let shortest = [one.total, one.carried].into_iter().flatten().min();
                    let own = shortest.map(|total| Instant::now() + total * MILLISECOND);
                    if let Some(carried) = one.carried {
                        request.extensions_mut().insert(Budget::within(carried * MILLISECOND));
                    }
                    let began = starts.lock().unwrap().len();
                    let answered = stack.service(client.clone()).send(request).await;
                    let sent = starts.lock().unwrap().len() - began;
                    let deadline = own.map_or(outer_deadline, |own| own.min(outer_deadline));
                    last = answered;
                    let error = last.as_ref().err().map(|error| Error::from_inner(error.to_string()));
                    ended.lock().unwrap().push(Ended { deadline, began, sent, at: Instant::now(), error });
                }
                last
            }
        })
    };
    let mut outer = BudgetLayer::new(story.outer * MILLISECOND);
    if let Some(attempts) = story.outer_attempts {
        outer = outer.attempts(attempts);
    }
    let answered = tower::Layer::layer(&outer, inside).oneshot(get("/")).await;
    let (took, starts) = (entered.elapsed(), starts.lock().unwrap().clone());

    prop_assert!(took <= story.outer * MILLISECOND + GRAIN, "{took:?}");
    prop_assert!(starts.iter().all(|start| *start <= outer_deadline));
    if let Some(most) = story.outer_attempts {
        prop_assert!(starts.len() <= most.get() as usize, "{} attempts in all", starts.len());
    }
    for (number, (one, inner)) in ended.lock().unwrap().iter().zip(&story.inner).enumerate() {
        let grace = inner.grace * MILLISECOND;
        prop_assert!(one.at <= one.deadline + grace + GRAIN, "{number} ended late: {:?}", one.error);
        let begun = &starts[one.began..one.began + one.sent];
        prop_assert!(begun.iter().all(|start| *start <= one.deadline), "{number} began an attempt too late");
        if let Some(most) = inner.attempts {
            prop_assert!(one.sent <= most.get() as usize, "{number} sent {}", one.sent);
        }
    }
    drop(answered);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    // urllib3/urllib3#1338, Azure/go-autorest#214: nested budgets bound every wait and every attempt inside them.
    #[test]
    fn nested_budgets_are_conserved(story in stories()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
        runtime.block_on(tell(story))?;
    }
}
