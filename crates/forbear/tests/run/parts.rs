//! Parts of a family that have limits of their own, for runs and for HTTP alike.

use forbear::{Class, Error, Families, Family, NoWait, Partition, Scope, Verdict, signal::Signal, stack};
use tokio::time::{Instant, sleep};
use tower::{Layer, ServiceExt};

use crate::common::{Client, SECOND, answer, get, limited as answers, with};
use crate::{gate, limited, says, social};

#[tokio::test(start_paused = true)]
async fn one_credential_is_throttled_and_a_signal_of_the_family_cools_all() {
    let families = Families::builder().family(Family::new("social").per_partition()).build().unwrap();
    let (one, other) = (Partition::of("one"), Partition::of("other"));
    let of = |partition| gate(&families).partition(partition).no_wait();
    assert!(says(&of(one), limited(30 * SECOND)).await.is_ok());
    assert!(says(&of(other), Verdict::Good).await.is_ok());
    assert!(says(&gate(&families).no_wait(), Verdict::Good).await.is_ok());
    let Err(Error::Cooling(refused)) = says(&of(one), Verdict::Good).await else { panic!("it cools") };
    assert_eq!(refused.partition(), families.health().families[0].partitions[0].partition.as_deref());

    let start = Instant::now();
    assert!(says(&gate(&families).partition(one), Verdict::Good).await.is_ok());
    assert!((30 * SECOND..32 * SECOND).contains(&start.elapsed()), "{:?}", start.elapsed());

    let everybody = Signal::without_status(Class::Throttled).delay(5 * SECOND).scope(Scope::Family);
    assert!(says(&of(other), everybody.into()).await.is_ok());
    for partition in [one, other] {
        let Err(Error::Cooling(refused)) = says(&of(partition), Verdict::Good).await else {
            panic!("it cools")
        };
        assert_eq!(refused.partition(), None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_credential_is_one_over_http_and_in_a_run() {
    let family =
        Family::new("social").host("social.test").partition_by_header("authorization").per_partition();
    let families = Families::builder().family(family).build().unwrap();
    let service = stack(&families).budget(SECOND).layer(Client::new([answers(429, 30), answer(200)]));
    let mut request = get("http://social.test/feed");
    request.headers_mut().insert("authorization", "Bearer one".parse().unwrap());
    assert_eq!(service.oneshot(request).await.unwrap().status(), 429);
    let gate = gate(&families).no_wait();
    let refused = says(&gate.clone().partition(Partition::of("Bearer one")), Verdict::Good).await;
    assert!(matches!(refused, Err(Error::Cooling(_))));
    assert!(says(&gate.partition(Partition::of("Bearer two")), Verdict::Good).await.is_ok());
}

/// Refused each time while the routes are served: the tool gets a gate of its own, until it is accepted.
#[tokio::test(start_paused = true)]
async fn a_command_that_is_always_refused_does_not_close_the_routes() {
    let families = social();
    let http = stack(&families).budget(10 * SECOND).layer(Client::new([answer(200)]));
    let feed = || http.clone().oneshot(with(get("http://social.test/feed"), NoWait));
    let export = gate(&families).route("export").budget(30 * SECOND);
    let apart = || families.health().families[0].partitions.first().and_then(|part| part.partition.clone());
    let start = Instant::now();
    while apart().is_none() {
        assert!(says(&export, limited(5 * SECOND)).await.is_ok());
        assert!(start.elapsed() < 120 * SECOND, "{}", families.health());
        sleep(6 * SECOND).await;
        let _ = feed().await;
    }
    assert_eq!(apart().as_deref(), Some("route export"));
    assert!(says(&export, limited(30 * SECOND)).await.is_ok());
    assert!(matches!(says(&export.clone().no_wait(), Verdict::Good).await, Err(Error::Cooling(_))));
    assert_eq!(feed().await.unwrap().status(), 200, "{}", families.health());

    sleep(120 * SECOND).await;
    assert!(says(&export, Verdict::Good).await.is_ok());
    assert_eq!(apart(), None, "{}", families.health());
}
