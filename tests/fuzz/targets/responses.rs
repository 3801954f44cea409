//! Raw responses, as `forbear explain` reads them.

use forbear_core::dialect::Dialect;
use forbear_gateway::explanation;
use serde_json::Value;

use crate::targets::holds::wall;
use crate::targets::message::{first_line, vendor};

const MEMBERS: [&str; 7] = ["class", "delay_ms", "evidence", "limited", "reason", "retryable", "scope"];

/// The first line names the vendor. What is printed moves no terminal, and `--json` is one line with one object in it.
pub fn target(input: &[u8]) {
    let (name, response) = first_line(input);
    let dialect = Dialect::named(vendor(name)).unwrap_or_else(|_| Dialect::standard());
    let Ok(explained) = explanation(&dialect, response, wall()) else { return };
    assert!(!explained.text.contains(|c: char| c.is_control() && c != '\n'), "{:?}", explained.text);
    assert!(!explained.json.contains(char::is_control), "{:?}", explained.json);
    let Ok(Value::Object(answer)) = serde_json::from_str(&explained.json) else {
        panic!("no object: {}", explained.json);
    };
    assert!(answer.keys().map(String::as_str).eq(MEMBERS), "{}", explained.json);
    assert_eq!(answer["limited"] == Value::Bool(true), answer["class"].is_string(), "{}", explained.json);
}
