//! A gate knows its family by name, whatever becomes of it.

use std::convert::Infallible;

use bytes::Bytes;
use forbear::{Error, Families, Family, HealthPhase, Partition, Unknown, Verdict, stack};
use http_body_util::Full;
use tokio::time::sleep;
use tower::{Layer, ServiceExt};

use crate::common::{Client, SECOND, get, limited as answers};
use crate::{cooling, gate, limited, phase, says, social};

fn is_unknown<T>(run: Result<T, Error>) -> bool {
    matches!(run, Err(Error::UnknownFamily(unknown)) if unknown.name().is_some())
}

#[tokio::test(start_paused = true)]
async fn a_name_that_no_family_has_is_an_error() {
    let unknown = social().gate("socal").unwrap_err();
    assert_eq!(unknown.name(), Some("socal"));
    assert_eq!(unknown.to_string(), r#"no family is named "socal"; register it, or correct the name"#);
    let ours = || -> Result<(), Error> {
        let _ = social().gate("socal")?;
        Ok(())
    };
    assert!(is_unknown(ours()));
}

#[tokio::test(start_paused = true)]
async fn a_replaced_family_keeps_cooling_for_gates_that_were_made_before() {
    let families = cooling(30 * SECOND).await;
    let gate = gate(&families).no_wait();
    families.replace(Family::new("social").host("other.test")).unwrap();
    assert!(matches!(says(&gate, Verdict::Good).await, Err(Error::Cooling(_))));
    sleep(31 * SECOND).await;
    assert!(says(&gate, Verdict::Good).await.is_ok());
    assert_eq!(phase(&families), HealthPhase::Recovering);
}

#[tokio::test(start_paused = true)]
async fn a_removed_family_is_unknown_to_who_comes_and_to_who_waited() {
    let families = cooling(30 * SECOND).await;
    let gate = gate(&families);
    let remove = async {
        sleep(SECOND).await;
        families.remove("social").unwrap();
    };
    let (waited, ()) = tokio::join!(says(&gate, Verdict::Good), remove);
    assert!(is_unknown(waited));
    assert!(is_unknown(says(&gate, Verdict::Good).await));
    assert_eq!(families.health().unknown, 2);
    families.register(Family::new("social")).unwrap();
    assert!(says(&gate.no_wait(), Verdict::Good).await.is_ok(), "it begins anew");
}

/// Families of which nobody is registered, and `social.test` was limited over HTTP.
async fn automatic() -> Families {
    let families = Families::builder().build().unwrap();
    let service = stack(&families).budget(SECOND).layer(Client::new([answers(429, 30)]));
    let _ = service.oneshot(get("http://social.test/feed")).await.unwrap();
    families
}

#[tokio::test(start_paused = true)]
async fn an_automatic_family_is_found_by_its_host_once_it_has_state() {
    assert!(Families::builder().build().unwrap().gate("social.test").is_err());
    let families = automatic().await;
    let gate = families.gate("social.test").unwrap().no_wait();
    let refused = says(&gate, Verdict::Good).await.unwrap_err();
    assert_eq!(refused.to_string(), "social.test is cooling, retry in 30s (429 retry-after via /feed)");
    sleep(31 * SECOND).await;
    assert!(says(&gate, limited(60 * SECOND)).await.is_ok());
    assert_eq!(families.health().to_string(), "social.test  cooling 1m00s  rate_limit");
}

#[tokio::test(start_paused = true)]
async fn the_gate_of_a_host_follows_it_into_the_family_that_it_is_given_to() {
    let families = automatic().await;
    let gate = families.gate("social.test").unwrap().no_wait();
    families.register(Family::new("social").host("social.test")).unwrap();
    let Err(Error::Cooling(refused)) = says(&gate, Verdict::Good).await else { panic!("it cools") };
    assert_eq!(refused.family(), "social");
    // And back again, where its cool-down goes too.
    families.remove("social").unwrap();
    let Err(Error::Cooling(refused)) = says(&gate, Verdict::Good).await else { panic!("it cools") };
    assert_eq!(refused.family(), "social.test");
}

#[tokio::test(start_paused = true)]
async fn in_shadow_everything_runs_and_health_says_what_would_have_been() {
    let families = cooling(30 * SECOND).await;
    families.shadow(true);
    let gate = gate(&families);
    // What would have been refused changes nothing.
    assert!(says(&gate, limited(300 * SECOND)).await.is_ok());
    let health = families.health();
    let social = health.family("social").unwrap();
    assert_eq!((social.refusals, social.strikes, social.remaining), (1, 1, Some(30 * SECOND)));
    families.remove("social").unwrap();
    assert!(says(&gate, Verdict::Good).await.is_ok());
    families.shadow(false);
    assert!(is_unknown(says(&gate, Verdict::Good).await));
    assert_eq!(families.health().unknown, 2);
}

/// A program that may call known vendors only, and calls them from inside a run: each is charged to its own family.
#[tokio::test(start_paused = true)]
async fn a_stack_inside_a_run_asks_its_own_family() {
    let families = Families::builder()
        .family(Family::new("social"))
        .family(Family::new("news").host("news.test"))
        .unknown(Unknown::Refuse)
        .build()
        .unwrap();
    let client =
        tower::service_fn(|_| async { Ok::<_, Infallible>(http::Response::new(Full::<Bytes>::default())) });
    let news = stack(&families).budget(SECOND).service(client);
    let run = gate(&families).run(|| news.send(get("http://news.test/")), |_| Verdict::Good);
    assert_eq!(run.await.unwrap().unwrap().status(), 200);
    let health = families.health();
    assert_eq!(["social", "news"].map(|name| health.family(name).unwrap().attempts), [1, 1]);
}

/// What the run was let through by is gone; the vendor that said no is not.
#[tokio::test(start_paused = true)]
async fn a_signal_reaches_the_family_that_was_removed_and_registered_again_meanwhile() {
    for partition in [None, Some(Partition::of("one"))] {
        let social = || Family::new("social").per_partition();
        let families = Families::builder().family(social()).build().unwrap();
        let mut run = gate(&families);
        if let Some(partition) = partition {
            run = run.partition(partition);
        }
        let again = async {
            families.remove("social").unwrap();
            families.register(social()).unwrap();
        };
        run.run(|| again, |()| limited(60 * SECOND)).await.unwrap();
        let health = families.health();
        assert_eq!(health.families[0].closed_partitions, usize::from(partition.is_some()), "{health}");
        assert!(
            matches!(says(&run.clone().no_wait(), Verdict::Good).await, Err(Error::Cooling(_))),
            "{health}"
        );
    }
}
