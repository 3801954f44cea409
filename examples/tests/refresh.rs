//! A vendor that had enough rests, the other goes on, and no attempt is counted.

use forbear_examples::refresh;

#[tokio::test]
async fn a_vendor_that_has_had_enough_rests_and_the_other_goes_on() {
    let told = refresh::run().await.unwrap();
    let (first, last) = (&told.seen[0], &told.seen[1]);
    assert_eq!(first.kept, 6, "four quotes and all news: {told:#?}");
    assert!(first.health.contains("2 due, skipped"), "{told:#?}");
    assert!(first.health.contains("\nquotes paused ") && !first.health.contains("news paused"), "{told:#?}");
    assert_eq!(last.kept, 8, "{told:#?}");
    assert!(!last.health.contains("paused") && !last.health.contains("due,"), "{told:#?}");
    assert_eq!((told.attempts, told.refused, told.failures), (7, 1, 0), "{told:#?}");
}
