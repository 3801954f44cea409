//! The truth table of signals, through the binary.

use serde_json::Value;

use crate::support::json;

#[test]
fn every_entry_is_explained_as_the_table_says() {
    let tables = [
        include_str!("../../../forbear-core/tests/vectors/signals.json"),
        include_str!("../../../forbear-core/tests/vectors/more.json"),
    ];
    let entries: Vec<Value> =
        tables.iter().flat_map(|table| serde_json::from_str::<Vec<Value>>(table).unwrap()).collect();
    assert!(entries.len() > 175, "{}", entries.len());
    let mut wrong = Vec::new();
    for entry in &entries {
        for end in ["\r\n", "\n"] {
            let found = explained(entry, end);
            let mut expected = entry["expect"].clone();
            let limited = expected.as_object_mut().unwrap().remove("rate_limited").unwrap();
            expected["limited"] = limited;
            let evidence = found["evidence"].as_array().unwrap();
            assert!(evidence.iter().all(|one| one["source"].is_string() && one["value"].is_string()));
            assert!(!evidence.is_empty() || found["limited"] == false, "{}", entry["id"]);
            let mut essence = found.clone();
            essence.as_object_mut().unwrap().remove("evidence");
            if essence != expected {
                wrong.push(format!(
                    "{} {}\n  found    {essence}\n  expected {expected}",
                    entry["vendor"], entry["id"]
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn explained(entry: &Value, end: &str) -> Value {
    let (vendor, now) = (entry["vendor"].as_str().unwrap(), entry["now"].as_str().unwrap());
    json(&["--dialect", vendor, "--now", now], &raw(entry, end))
}

/// Strings are UTF-8 bytes, lists are repeated lines, and `headers_hex` overrides `headers`.
fn raw(entry: &Value, end: &str) -> Vec<u8> {
    let mut raw = format!("HTTP/1.1 {} Status{end}", entry["status"]).into_bytes();
    let mut line = |name: &str, value: &[u8]| {
        raw.extend_from_slice(format!("{name}: ").as_bytes());
        raw.extend_from_slice(value);
        raw.extend_from_slice(end.as_bytes());
    };
    let hex = entry["headers_hex"].as_object();
    for (name, value) in entry["headers"].as_object().unwrap() {
        if hex.is_some_and(|hex| hex.contains_key(name)) {
            continue;
        }
        for value in value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice) {
            line(name, value.as_str().unwrap().as_bytes());
        }
    }
    for (name, hex) in hex.into_iter().flatten() {
        let hex = hex.as_str().unwrap();
        let bytes: Vec<u8> =
            (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
        line(name, &bytes);
    }
    raw.extend_from_slice(end.as_bytes());
    raw.extend_from_slice(entry["body"].as_str().unwrap().as_bytes());
    raw
}
