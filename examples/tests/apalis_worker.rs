//! Jobs of a queue whose vendor says 429 cost no attempt, and faults do.

use forbear_examples::apalis_worker::{self, Done};
use forbear_mock::{MockVendor, reply};

fn of<'a>(done: &'a [Done], path: &str) -> &'a Done {
    done.iter().find(|done| done.path == path).unwrap()
}

/// taskforcesh/bullmq#1571: a throttled job went back to waiting with its attempts raised past the maximum.
#[tokio::test(start_paused = true)]
async fn a_job_that_is_refused_ten_times_costs_no_attempt() {
    let mock = MockVendor::in_process().script([reply(429).retry_after(3).times(10), reply(200)]);
    let done = apalis_worker::play(&mock, &["/quotes"]).await.unwrap();
    let quotes = of(&done, "/quotes");
    assert_eq!((quotes.attempts, quotes.deferrals), (1, 10), "{done:#?}");
    mock.assert_attempts(11);
    // As long as the vendor asked, and longer at higher levels: never sooner.
    mock.assert_gap_at_least(std::time::Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn a_fault_costs_an_attempt_and_a_deferral_between_two_faults_none() {
    let mock =
        MockVendor::in_process().script([reply(500), reply(429).retry_after(3), reply(500), reply(200)]);
    let done = apalis_worker::play(&mock, &["/quotes"]).await.unwrap();
    // The second fault was the probe's, which says nothing: a moment later another may go.
    assert_eq!((done[0].attempts, done[0].deferrals), (3, 2), "{done:#?}");
}

/// Jobs of a family that cools are deferred without being sent, and done when it is well.
#[tokio::test(start_paused = true)]
async fn jobs_of_a_family_that_cools_are_deferred_unsent() {
    let mock = MockVendor::in_process().script([reply(429).retry_after(30), reply(200)]);
    let paths: Vec<_> = (0..20).map(|number| format!("/{number}")).collect();
    let paths: Vec<_> = paths.iter().map(String::as_str).collect();
    let done = apalis_worker::play(&mock, &paths).await.unwrap();
    assert_eq!(done.len(), 20);
    assert!(done.iter().all(|done| done.attempts == 1), "{done:#?}");
    let sent = mock.attempts().len();
    assert!((21..=24).contains(&sent), "up to four were on their way: {sent}");
}

#[tokio::test]
async fn the_example_ends() {
    let done = apalis_worker::run().await.unwrap();
    let seen: Vec<_> = ["/news", "/quotes", "/chart"].map(|path| of(&done, path).attempts).into();
    assert_eq!(seen, [2, 1, 1], "{done:#?}");
    assert!(of(&done, "/quotes").deferrals >= 2, "{done:#?}");
}

/// A job whose vendor fails for good does so after its attempts, and is not deferred for ever.
#[tokio::test(start_paused = true)]
async fn a_job_that_meets_nothing_but_faults_fails() {
    let mock = MockVendor::in_process().script(reply(500));
    let failed = apalis_worker::play(&mock, &["/quotes"]).await.unwrap_err();
    assert!(failed.to_string().contains("500"), "{failed}");
    mock.assert_attempts(3);
}
