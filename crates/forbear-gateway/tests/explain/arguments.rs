//! What it is called with, and what it says where that is wrong.

use std::path::PathBuf;

use crate::support::{explain, forbear, json};

const LIMITED: &[u8] = b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 5\r\n\r\n";

/// A file of this test run.
fn file(name: &str, content: &[u8]) -> String {
    let path =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("explain-{}-{name}", std::process::id()));
    std::fs::write(&path, content).unwrap();
    path.into_os_string().into_string().unwrap()
}

/// Standard error of a call that is wrong, which prints nothing else.
fn refused(status: i32, arguments: &[&str], input: &[u8]) -> String {
    let ran = explain(arguments, input);
    assert_eq!((ran.status, &*ran.out), (status, ""), "{ran:?}");
    assert!(ran.err.starts_with("error: "), "{ran:?}");
    ran.err
}

#[test]
fn a_file_is_read_as_standard_input_is() {
    let named = explain(&["--json", &file("limited", LIMITED)], b"");
    assert_eq!((named.status, named.err.as_str()), (0, ""));
    assert_eq!(named.out, explain(&["--json", "-"], LIMITED).out);
    assert_eq!(
        named.out,
        "{\"limited\":true,\"class\":\"throttled\",\"delay_ms\":5000,\"scope\":null,\"reason\":\"retry-after\",\
         \"retryable\":true,\"evidence\":[{\"source\":\"retry-after\",\"value\":\"5\"}]}\n"
    );
}

#[test]
fn what_is_no_limit_is_no_failure() {
    let ran = explain(&["--json", "-"], b"HTTP/2 200 \r\n\r\nhello");
    assert_eq!(ran.status, 0);
    assert_eq!(
        ran.out,
        "{\"limited\":false,\"class\":null,\"delay_ms\":null,\"scope\":null,\"reason\":null,\"retryable\":null,\
         \"evidence\":[]}\n"
    );
}

#[test]
fn now_is_the_callers_clock() {
    let until = b"HTTP/1.1 429 X\r\nretry-after: Mon, 30 Nov 2026 00:01:00 GMT\r\n\r\n";
    assert_eq!(json(&["--now", "2026-11-30T00:00:00Z"], until)["delay_ms"], 60_000);
    assert_eq!(json(&["--now", "2026-11-30T02:00:30+02:00"], until)["delay_ms"], 30_000);
    let past = b"HTTP/1.1 429 X\r\nretry-after: Thu, 01 Jan 1970 00:00:00 GMT\r\n\r\n";
    assert_eq!(json(&[], past)["delay_ms"], 0);
    let last = b"HTTP/1.1 429 X\r\nretry-after: Fri, 31 Dec 9999 23:59:59 GMT\r\n\r\n";
    let from_2025 = 253_402_300_799_000 - 1_735_689_600_000_u64;
    assert!((1..from_2025).contains(&json(&[], last)["delay_ms"].as_u64().unwrap()));
    assert!(refused(2, &["--now", "soon", "-"], LIMITED).contains("--now is `soon`"));
}

#[test]
fn an_input_that_cannot_be_read_says_what_to_give() {
    assert!(refused(1, &["-"], b"").contains("the input is empty"));
    assert!(refused(1, &["--json", "-"], b"{\"error\": 1}").contains("no status line"));
    assert!(refused(1, &["-"], &[0, 0xff, 0x1b, b'\n']).contains(r"`\0�\u{1b}`"));
    assert!(refused(1, &["no such\u{1b} file"], b"").contains(r"cannot read `no such\u{1b} file`"));
    assert!(refused(1, &[env!("CARGO_TARGET_TMPDIR")], b"").contains("curl -si"));
}

#[test]
fn an_unknown_dialect_names_the_nearest() {
    let error = refused(2, &["--dialect", "githb", "-"], LIMITED);
    assert!(error.contains("did you mean `github`?") && error.contains("--list"), "{error}");
    assert_eq!(json(&["--dialect", "generic-http"], LIMITED), json(&[], LIMITED));
}

#[test]
fn arguments_that_do_not_go_together_are_refused() {
    let dialect = file("alone.toml", b"name = \"acme\"");
    for (arguments, names) in [
        (&["--dialect", "github", "--dialect-file", &dialect, "-"][..], "--dialect-file"),
        (&["--list", "-"], "--list"),
        (&["--list", "--json"], "--json"),
        (&[], "<FILE>"),
        (&["-", "-"], "unexpected argument"),
        (&["--jsn", "-"], "--json"),
    ] {
        let error = refused(2, arguments, LIMITED);
        assert!(error.contains(names), "{arguments:?}: {error}");
    }
    assert_eq!(forbear(&[], b"").status, 2);
    assert_eq!(forbear(&["explian"], b"").status, 2);
}

#[test]
fn a_dialect_of_ones_own_is_read() {
    let dialect = file(
        "acme.toml",
        br#"
        name = "acme"
        [[rule]]
        status = 420
        when = { json = "/code", is = "calm" }
        class = "overloaded"
        reason = { json = "/code" }
        delay = { json = "/wait", unit = "seconds" }
        "#,
    );
    let answer = b"HTTP/1.1 420 Enhance Your Calm\n\n{\"code\": \"calm\", \"wait\": 1.5}";
    let found = json(&["--dialect-file", &dialect], answer);
    assert_eq!(
        (&found["class"], &found["delay_ms"], &found["reason"]),
        (&"overloaded".into(), &1500.into(), &"calm".into())
    );
    assert_eq!(json(&[], answer)["limited"], false);
}

#[test]
fn a_wrong_dialect_names_file_line_and_key() {
    for (name, content, parts) in [
        (
            "key",
            &b"name = \"acme\"\n\n[[rule]]\nstatus = [429, 42]\n"[..],
            ["line 4:", "`rule[0].status`", "`42`"],
        ),
        ("word", b"name = \"acme\"\nstandrad = true\n", ["line 2", "`standrad`", "`standard`"]),
        ("toml", b"name = \"acme\n", ["line 1", "name = \"acme", "dialect cannot be read"]),
        ("missing", b"# nothing\n[[rule]]\nstatus = 429\n", ["`name`", "missing", "dialect cannot be read"]),
        ("bytes", b"name = \"acme\"\n# \xff\n", ["line 2", "UTF-8", ""]),
    ] {
        let path = file(&format!("wrong-{name}.toml"), content);
        let error = refused(2, &["--dialect-file", &path, "-"], LIMITED);
        assert!(error.contains(&path) && parts.iter().all(|part| error.contains(part)), "{error}");
    }
    let error = refused(2, &["--dialect-file", "no such file", "-"], LIMITED);
    assert!(error.contains("no such file: cannot be read"), "{error}");
}

#[test]
fn the_list_has_every_name_with_hosts_and_sources() {
    let ran = explain(&["--list"], b"");
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    let rows: Vec<&str> = ran.out.lines().collect();
    assert!(rows.is_sorted(), "{rows:?}");
    assert_eq!(rows.len(), forbear_core::presets::NAMES.len() + 1);
    for name in forbear_core::presets::NAMES.iter().copied().chain(["generic-http"]) {
        assert!(rows.iter().any(|row| row.split(' ').next() == Some(name)), "{name}");
    }
    let first = rows[0].find("api.airtable.com").unwrap();
    let second = rows[0].find("airtable.com/developers").unwrap();
    for row in &rows {
        let cells: Vec<&str> = row.split("  ").filter(|cell| !cell.is_empty()).map(str::trim).collect();
        let [_, hosts, source] = cells[..] else { panic!("{row}") };
        assert_eq!(row.find(&format!(" {hosts} ")), Some(first - 1), "{row}");
        assert!(row[second..].starts_with(source) || hosts.starts_with("api.binance.com"), "{row}");
    }
    let github = rows.iter().find(|row| row.starts_with("github ")).unwrap();
    assert!(github.contains("api.github.com") && github.contains("docs.github.com/en/rest"), "{github}");
}
