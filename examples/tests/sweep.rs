//! One 429 costs one wait, one that is too long is reported, and nothing that succeeded is lost.

use std::time::Duration;

use forbear_examples::sweep;

#[tokio::test]
async fn what_fits_is_waited_out_the_rest_is_reported_and_nothing_is_lost() {
    let played = sweep::run().await.unwrap();
    let of = |vendor: &str| played.rows.iter().filter(|row| row.item.starts_with(vendor)).collect::<Vec<_>>();
    assert!(of("quotes").iter().all(|row| row.what.starts_with("200 OK")), "{played:#?}");
    // Two are served and the next is refused; the one beside that on its way may be served still.
    let late =
        of("filings").iter().filter(|row| row.what.contains("later: filings: 429 inflight_limit")).count();
    assert!((3..=4).contains(&late), "{played:#?}");
    assert_eq!(played.summary, format!("{} done, {late} deferred, 1 failed", 24 - late), "{played:#?}");
    assert!(of("nonsense")[0].what.ends_with("an item is a vendor and a number"), "{played:#?}");
    let last = |vendor| of(vendor).iter().map(|row| row.at).max().unwrap();
    let second = Duration::from_secs(1);
    assert!(last("news") < last("quotes") && last("quotes") >= second, "{played:#?}");
    assert!(last("quotes") < 9 * second, "{played:#?}");
    // The one that was refused is asked again; of those whose family cools none is asked to be refused.
    let [quotes, filings, news] = played.attempts;
    assert!((13..=14).contains(&quotes) && (3..=4).contains(&filings), "{played:#?}");
    assert_eq!(news, 6);
    assert!(played.health.contains("filings  cooling"), "{played:#?}");
}
