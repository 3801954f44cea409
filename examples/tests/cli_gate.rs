//! A command and a route of one vendor cool each other, and open the family for each other.

use std::time::Duration;

use forbear_examples::cli_gate;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn a_command_and_a_route_of_one_vendor_share_its_gate() {
    let rows = cli_gate::run().await.unwrap();
    let got: Vec<_> = rows.iter().map(|row| row.got.as_str()).collect();
    assert_eq!(got[0], "exit status: 75", "the output is the caller's: {rows:#?}");
    assert!(rows[0].health.starts_with("social  cooling"), "{rows:#?}");
    assert!(rows[0].health.ends_with("rate_limit  via post"), "{rows:#?}");
    assert!(
        got[1].starts_with("social is cooling") && got[1].ends_with("(rate_limit via post)"),
        "{rows:#?}"
    );
    assert_eq!(got[2], "200 OK", "{rows:#?}");
    assert!(rows[0].took + rows[1].took + rows[2].took >= SECOND, "{rows:#?}");
    assert_eq!(got[3], "429 Too Many Requests", "{rows:#?}");
    assert_eq!(got[4], "exit status: 0", "{rows:#?}");
    assert!(rows[4].took >= SECOND / 2 && rows[4].health.starts_with("social  recovering"), "{rows:#?}");
    assert!(got[5].contains("1 attempt: the deadline passed"), "{rows:#?}");
    assert!(rows[5].took < 30 * SECOND, "{rows:#?}");
}

#[test]
fn the_delay_is_read_from_what_the_tool_prints() {
    assert_eq!(cli_gate::retry_in("error: rate limit reached, try again in 25s\n"), Some(25 * SECOND));
    for without in ["error: no such post", "try again in a while", "try again in s"] {
        assert_eq!(cli_gate::retry_in(without), None, "{without}");
    }
}
