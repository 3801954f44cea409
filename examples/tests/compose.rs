//! Each neighbour does its own work in its documented place.

use std::time::Duration;

use forbear_examples::compose;

const ATTEMPT: Duration = Duration::from_millis(500);
const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn faults_limits_redirects_and_slow_attempts_keep_apart() {
    let rows = compose::run().await.unwrap();
    let costs: Vec<_> = rows.iter().map(|row| (row.status, row.attempts, row.strikes)).collect();
    let expected = [
        // tower::retry sends the cloned body again; a fault is no signal.
        (200, 2, (0, 0)),
        (500, 1, (0, 0)),
        (200, 2, (0, 0)),
        // RetryAfterLayer waits, and tower::retry does not see a fault in it.
        (200, 2, (1, 0)),
        // Both, in one logical request: the tape that was cloned rewinds.
        (200, 3, (1, 0)),
        (200, 3, (1, 0)),
    ];
    assert_eq!(costs, expected, "{rows:#?}");
    assert!(rows.iter().all(|row| row.same), "every attempt brings the whole body: {rows:#?}");

    let took: Vec<_> = rows.iter().map(|row| row.took).collect();
    assert!(took[0] < SECOND && took[1] < SECOND, "{took:?}");
    assert!(took[2] >= ATTEMPT && took[2] < 4 * ATTEMPT, "the attempt ends, not the request: {took:?}");
    assert!(
        took[3..].iter().all(|took| *took >= SECOND),
        "a wait is not cut by the attempt timeout: {took:?}"
    );
}
