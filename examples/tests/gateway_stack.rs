//! The reverse proxy waits for its callers, and passes on what it may not wait for.

use std::time::Duration;

use forbear_examples::gateway_stack;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn the_gateway_waits_passes_on_and_refuses() {
    let passed = gateway_stack::run().await.unwrap();
    let seen: Vec<_> = passed.iter().map(|passed| (passed.status, passed.attempts)).collect();
    assert_eq!(seen, [(201, 1), (201, 3), (429, 4), (503, 4), (200, 5), (404, 5)], "{passed:#?}");
    assert_eq!((&passed[1].body[..], &passed[4].body[..]), (&b"booked"[..], &b"nothing new"[..]));
    assert!(passed[1].took >= SECOND, "the vendor is left alone as long as it asked: {passed:#?}");
    assert_eq!(passed[2].retry_after, Some(60), "the vendor's own answer: {passed:#?}");
    assert!(passed[3].retry_after.is_some_and(|left| (50..=60).contains(&left)), "{passed:#?}");
    assert!(passed[2..].iter().all(|passed| passed.took < SECOND), "{passed:#?}");
    assert!(passed[3].body.starts_with(b"orders is cooling, retry in"), "{passed:#?}");
}
