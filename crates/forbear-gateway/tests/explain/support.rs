use std::io::{ErrorKind, Write as _};
use std::process::{Command, Stdio};

/// What a call came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Calls the binary with `arguments`, and `input` on its standard input.
pub(crate) fn forbear(arguments: &[&str], input: &[u8]) -> Ran {
    let mut child = Command::new(env!("CARGO_BIN_EXE_forbear"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        let written = stdin.write_all(&input);
        // It does not read what it has no use for.
        assert!(written.is_ok() || written.is_err_and(|error| error.kind() == ErrorKind::BrokenPipe));
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Ran {
        status: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The same for `explain`.
pub(crate) fn explain(arguments: &[&str], input: &[u8]) -> Ran {
    forbear(&[&["explain"], arguments].concat(), input)
}

/// The object that `explain --json` prints in one line.
pub(crate) fn json(arguments: &[&str], input: &[u8]) -> serde_json::Value {
    let ran = explain(&[arguments, &["--json", "-"]].concat(), input);
    assert_eq!((ran.status, ran.out.matches('\n').count()), (0, 1), "{ran:?}");
    serde_json::from_str(&ran.out).unwrap()
}
