//! reqwest behind a stack, and a stack in reqwest-middleware.

use forbear_examples::reqwest_client;

#[tokio::test]
async fn both_wait_and_keep_to_what_either_was_told() {
    assert_eq!(
        reqwest_client::run().await.unwrap(),
        [
            r#"quote: {"price":17}"#,
            "busy: served after 2 attempts",
            "closed: 429 Too Many Requests, 429 retry-after",
            "middleware: quotes is cooling",
            "stack: quotes is cooling",
        ]
    );
}
