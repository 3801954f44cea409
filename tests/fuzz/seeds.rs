//! What the targets begin with: the signal vectors and the presets.

use forbear_core::presets::{self, NAMES};
use serde_json::Value;

use crate::targets::dialects::DIVIDER;

/// Inputs of one target, and words that a fuzzer may put into them.
pub(crate) struct Seeds {
    pub(crate) inputs: Vec<Vec<u8>>,
    pub(crate) words: Vec<String>,
}

/// In the order of the targets.
pub(crate) fn all() -> [Seeds; 5] {
    let answers = answers();
    let hints =
        answers.iter().filter(|answer| holds(answer, b"retry-after") || holds(answer, b"x-amz")).cloned();
    let responses = vectors().iter().map(response).collect();
    let rest = &answers[..answers.len().min(NAMES.len())];
    let dialect = |(preset, answer): (presets::Preset, &Vec<u8>)| {
        [preset.toml().as_bytes(), DIVIDER.as_bytes(), answer].concat()
    };
    let dialects = presets::all().zip(rest.iter().cycle()).map(dialect).collect();
    let own = |words: &[&str]| [words.iter().map(|word| (*word).to_owned()).collect(), names()].concat();
    [
        Seeds {
            inputs: hints.collect(),
            words: own(&["retry-after", "retry-after-ms", "age", "date", "GMT", "Mon, ", "\n"]),
        },
        Seeds {
            inputs: answers.clone(),
            words: own(&["ratelimit", "ratelimit-policy", ";r=0", ";t=", ";w=", ";pk=:", "\"", "\n"]),
        },
        Seeds {
            inputs: answers,
            words: own(&["\n\n", "{\"", "\":", "<Error>", "</", "<title>", "<![CDATA[", "data: ", "\\u0000"]),
        },
        Seeds {
            inputs: responses,
            words: own(&[
                "HTTP/1.1 429\n",
                "transfer-encoding: chunked\n",
                "content-length: ",
                "\r\n",
                "0\r\n\r\n",
            ]),
        },
        Seeds {
            inputs: dialects,
            words: own(&[
                "[[rule]]\n",
                "[[dimension]]\n",
                "status = ",
                "when = ",
                "unit = ",
                "{}",
                "reader = ",
                "absent = true",
            ]),
        },
    ]
}

/// The vectors as messages, each with its vendor.
pub(crate) fn answers() -> Vec<Vec<u8>> {
    vectors().iter().map(message).collect()
}

fn vectors() -> Vec<Value> {
    let table = include_str!("../../crates/forbear-core/tests/vectors/signals.json");
    serde_json::from_str(table).unwrap()
}

/// The names of vendors and of all headers in the vectors.
fn names() -> Vec<String> {
    let mut names: Vec<String> = NAMES.iter().map(|name| (*name).to_owned()).collect();
    for entry in &vectors() {
        names.extend(entry["headers"].as_object().unwrap().keys().map(|name| format!("{name}: ")));
    }
    names.sort();
    names.dedup();
    names
}

fn message(entry: &Value) -> Vec<u8> {
    let first = format!("{} {}\n", entry["status"], entry["vendor"].as_str().unwrap());
    with_head(first, entry, "\n")
}

fn response(entry: &Value) -> Vec<u8> {
    let first = format!("{}\nHTTP/1.1 {} As it is\r\n", entry["vendor"].as_str().unwrap(), entry["status"]);
    with_head(first, entry, "\r\n")
}

fn with_head(first: String, entry: &Value, end: &str) -> Vec<u8> {
    let mut text = first;
    for (name, value) in entry["headers"].as_object().unwrap() {
        for line in value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice) {
            text.extend([name, ": ", line.as_str().unwrap(), end]);
        }
    }
    text.extend([end, entry["body"].as_str().unwrap()]);
    text.into_bytes()
}

fn holds(text: &[u8], wanted: &[u8]) -> bool {
    text.windows(wanted.len()).any(|window| window == wanted)
}
