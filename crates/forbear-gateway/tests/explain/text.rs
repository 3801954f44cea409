//! What people are shown. The page in `docs/` shows the same.

use crate::support::explain;

const PAGE: &str = include_str!("../../../../docs/explain.md");

macro_rules! shown {
    ($($test:ident $name:literal $dialect:literal;)*) => {
        $(
            #[test]
            fn $test() {
                let response = include_bytes!(concat!("responses/", $name, ".http"));
                let text = include_str!(concat!("responses/", $name, ".txt"));
                let ran = explain(&["--dialect", $dialect, "--now", "2026-11-30T00:00:00Z", "-"], response);
                assert_eq!((ran.status, ran.err.as_str()), (0, ""));
                assert_eq!(ran.out, text, "\n{}", ran.out);
            }
        )*
    };
}

shown! {
    a_limit_with_a_quota "github-primary" "github";
    a_limit_that_may_not_be_sent_again "openai-quota" "openai";
    an_overloaded_vendor_without_words "overloaded" "generic-http";
    a_limit_in_a_200 "shopify" "shopify-graphql";
    no_limit "github-served" "github";
}

#[test]
fn the_page_shows_what_is_printed() {
    let json = explain(&["--json", "-"], b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 5\r\n\r\n").out;
    for text in
        [include_str!("responses/github-primary.txt"), include_str!("responses/openai-quota.txt"), &json]
    {
        assert!(PAGE.contains(text), "docs/explain.md does not show\n{text}");
    }
}
