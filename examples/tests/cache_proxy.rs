//! The caching proxy asks its vendor once, and serves the old while that is down.

use forbear_examples::cache_proxy;

#[tokio::test]
async fn the_proxy_serves_what_it_has() {
    let passed = cache_proxy::run().await.unwrap();
    let seen: Vec<_> =
        passed.iter().map(|passed| (passed.status, passed.attempts, &passed.body[..])).collect();
    let expected: [(u16, usize, &[u8]); 4] =
        [(200, 1, b"104.5"), (200, 1, b"104.5"), (200, 2, b"all quiet"), (200, 3, b"all quiet")];
    assert_eq!(seen, expected, "{passed:#?}");
    assert!(passed[1].cache_status.starts_with("forbear; hit; ttl="), "{passed:#?}");
    assert!(passed[3].cache_status.ends_with("detail=server-error"), "{passed:#?}");
}
