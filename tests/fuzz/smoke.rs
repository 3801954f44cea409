//! A short run of every fuzz target, so that none of them rots: over what the vectors and the presets hold, and over random
//! changes of it, which are the same in every run.
//!
//! `FORBEAR_CORPUS=tests/fuzz/corpus` writes what it begins with there, for cargo-fuzz.

mod seeds;
mod targets;

use std::panic::catch_unwind;
use std::{env, fs, path::Path};

use fastrand::Rng;

use seeds::Seeds;
use targets::{ALL, Target, message};

/// Changes of each target.
const CHANGES: usize = 800;

#[test]
fn hints_hold() {
    holds("hints");
}

#[test]
fn fields_hold() {
    holds("fields");
}

#[test]
fn bodies_hold() {
    holds("bodies");
}

#[test]
fn responses_hold() {
    holds("responses");
}

#[test]
fn dialects_hold() {
    holds("dialects");
}

#[test]
fn every_preset_holds_over_every_answer_of_the_vectors() {
    for answer in seeds::answers() {
        let message = message::Message::read(&answer);
        let (status, headers) = (message.status, message.headers());
        for preset in forbear_core::presets::all() {
            let dialect = preset.dialect();
            targets::holds::answer(&dialect, status, &headers, message.body);
        }
    }
}

#[test]
fn seeds_are_written_where_asked_for() {
    let Some(corpus) = env::var_os("FORBEAR_CORPUS") else { return };
    // Tests run in the folder of their package.
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(corpus);
    for ((name, _), Seeds { inputs, words }) in ALL.into_iter().zip(seeds::all()) {
        let folder = corpus.join(name);
        fs::create_dir_all(&folder).unwrap();
        for (number, input) in inputs.iter().enumerate() {
            fs::write(folder.join(format!("seed-{number:03}")), input).unwrap();
        }
        let words: String = words.iter().map(|word| format!("\"{}\"\n", numbered(word))).collect();
        fs::write(corpus.join(format!("{name}.dict")), words).unwrap();
    }
}

/// As libFuzzer reads words.
fn numbered(word: &str) -> String {
    let byte = |byte| match byte {
        b'"' | b'\\' | ..b' ' | 0x7f.. => format!("\\x{byte:02x}"),
        plain => char::from(plain).to_string(),
    };
    word.bytes().map(byte).collect()
}

/// Runs the target of this name over its seeds and their changes.
fn holds(wanted: &str) {
    let targets = ALL.into_iter().zip(seeds::all());
    let (target, inputs) = targets
        .into_iter()
        .find_map(|((name, target), Seeds { inputs, .. })| (name == wanted).then_some((target, inputs)))
        .unwrap();
    let mut rng = Rng::with_seed(7);
    inputs.iter().for_each(|input| hold(target, input));
    (0..CHANGES).for_each(|_| hold(target, &changed(&inputs, &mut rng)));
}

/// Names the input that a target panics over.
fn hold(target: Target, input: &[u8]) {
    if let Err(panic) = catch_unwind(|| target(input)) {
        eprintln!("it does not hold over {}", input.escape_ascii());
        std::panic::resume_unwind(panic);
    }
}

/// One of `inputs`, changed in one to four places.
fn changed(inputs: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    const WORDS: [&[u8]; 14] = [
        b"0",
        b"-1",
        b"1.5",
        b"99999999999999999999",
        b"\n",
        b": ",
        b",",
        b";",
        b"\"",
        b"\xff",
        b"\xc2\x9b",
        b"<",
        b"{}",
        b"null",
    ];
    let one = |rng: &mut Rng| &inputs[rng.usize(..inputs.len())];
    let mut input = one(rng).clone();
    for _ in 0..rng.usize(1..5) {
        let at = rng.usize(..=input.len());
        let end = rng.usize(at..=input.len()).min(at + 16);
        match rng.u8(..6) {
            0 => drop(input.drain(at..end)),
            1 => input.truncate(at),
            2 => input.extend_from_within(at..end),
            3 => drop(input.splice(at..end, WORDS[rng.usize(..WORDS.len())].iter().copied())),
            4 => input[at..end].iter_mut().take(1).for_each(|byte| *byte = rng.u8(..)),
            _ => {
                let other = one(rng);
                let from = rng.usize(..=other.len());
                input.splice(at.., other[from..].iter().copied());
            }
        }
    }
    input
}
