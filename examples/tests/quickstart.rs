//! The quickstart does what it says, and says what it does.

use std::time::Duration;

use forbear_examples::quickstart;

#[tokio::test]
async fn the_quickstart_keeps_its_promises_and_tells_the_story() {
    let mut out = Vec::new();
    let summary = quickstart::run(&mut out).await.unwrap();
    let story = String::from_utf8(out).unwrap();

    assert_eq!(summary.broken_promises(), [""; 0], "{story}");
    assert!(summary.took < Duration::from_secs(10), "{story}");

    // The vendor's own log: six calls, the 429, three that waited, the second 429. No refused call reached it.
    let seen: Vec<_> = summary.attempts.iter().map(|attempt| attempt.status().unwrap().as_u16()).collect();
    assert_eq!(seen, [200, 200, 200, 200, 200, 200, 429, 200, 200, 200, 429], "{story}");

    for told in [
        "quotes sees /chart and says 429",
        "429 inflight_limit  via /chart",
        "not sent: quotes is cooling, retry in",
        "quotes  recovering at",
        "quotes  cooling 5m00s  429 retry-after  via /chart",
    ] {
        assert!(story.contains(told), "no line says {told:?}:\n{story}");
    }
}
