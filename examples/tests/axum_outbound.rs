//! The axum server waits where it may, and says when to come back where it may not.

use std::time::Duration;

use forbear_examples::axum_outbound;

#[tokio::test]
async fn handlers_share_one_stack_and_map_refusals() {
    let seen = axum_outbound::run().await.unwrap();
    let statuses: Vec<_> = seen.iter().map(|seen| (seen.path, seen.status, seen.attempts)).collect();
    let expected = [
        ("/quote/acme", 200, 1),
        ("/quote/busy", 200, 3),
        ("/quote/closed", 503, 4),
        ("/quote/acme", 503, 4),
        ("/health", 200, 4),
    ];
    assert_eq!(statuses, expected, "{seen:?}");
    assert_eq!((seen[0].body.as_str(), seen[1].body.as_str()), ("7.25", "8.50"));
    assert!(seen[1].took >= Duration::from_secs(1), "the vendor is left alone as long as it asked: {seen:?}");
    for refused in &seen[2..4] {
        assert!(refused.took < Duration::from_secs(1), "{refused:?}");
        assert!(refused.retry_after.is_some_and(|left| (115..=120).contains(&left)), "{refused:?}");
    }
    assert!(seen[3].body.starts_with("quotes is cooling, retry in"), "{seen:?}");
    assert!(seen[4].body.starts_with("quotes  cooling"), "{seen:?}");
}
