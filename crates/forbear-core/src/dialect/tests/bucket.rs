//! What names a bucket.

use std::collections::HashSet;
use std::time::SystemTime;

use http::header::{HeaderMap, HeaderName, HeaderValue};

use super::words::toml;
use crate::dialect::Dialect;

fn told(dialect: &Dialect, lines: &[(&'static str, &'static str)]) -> (Option<u64>, Option<Box<str>>) {
    let line = |(name, value): &(&'static str, &'static str)| {
        (HeaderName::from_static(name), HeaderValue::from_static(value))
    };
    let headers: HeaderMap = lines.iter().map(line).collect();
    (dialect.bucket_told(&headers), dialect.bucket(&headers, SystemTime::UNIX_EPOCH))
}

#[test]
fn who_knows_the_fingerprint_of_an_answer_knows_its_bucket() {
    let dialect = toml(
        r#"bucket = [{ header = "x-bucket", prefix = "b:" }, { header = "x-kind", json = "/of", prefix = "k:" }, { header = "x-last" }]"#,
    );
    let mut fingerprints = HashSet::new();
    for (lines, name) in [
        (&[("x-bucket", "1")][..], "b:1"),
        (&[("x-bucket", "2"), ("x-kind", "2")], "b:2"),
        (&[("x-kind", "{\"of\":1}")], "k:1"),
        (&[("x-bucket", "{\"of\":1}")], "b:{\"of\":1}"),
        (&[("x-last", "{\"of\":1}")], "{\"of\":1}"),
    ] {
        let (fingerprint, bucket) = told(&dialect, lines);
        assert_eq!(bucket.as_deref(), Some(name));
        assert_eq!(told(&dialect, &[lines, &[("x-other", "1")]].concat()).0, fingerprint, "{name}");
        assert!(fingerprints.insert(fingerprint.unwrap()), "{name}");
    }
    assert!(!fingerprints.contains(&0));
    assert_eq!(told(&dialect, &[("x-other", "1")]), (None, None));
    assert_eq!(told(&Dialect::standard(), &[("x-bucket", "1")]), (None, None));
}

#[test]
fn a_dialect_knows_whether_routes_matter() {
    for (text, expected) in [
        ("", false),
        ("of = \"family\"", false),
        ("bucket = { header = \"x-bucket\" }\nof = \"bucket\"", true),
        ("of = \"route\"", true),
        ("[[rule]]\nstatus = 403\nof = \"partition\"", false),
        ("[[rule]]\nstatus = 403\nof = \"bucket\"\nscope = \"tiles\"", true),
        ("[[rule]]\nstatus = 403\nof = \"route\"", true),
    ] {
        assert_eq!(toml(text).names_buckets(), expected, "{text}");
    }
    assert!(!Dialect::standard().names_buckets());
}
