//! Bodies that are streams of events.

use std::time::SystemTime;

use http::{HeaderMap, StatusCode};

use super::words::{headers, read, toml};
use crate::dialect::Dialect;
use crate::dialect::words::{Place, Rule};
use crate::signal::Class;

#[test]
fn a_stream_of_events_is_looked_into_where_one_asks() {
    let event = "event: error\r\ndata: {\"type\":\"error\",\r\ndata: \"error\":{\"type\":\"overloaded_error\"}}\r\n\r\n";
    let plain = "data: {\"type\":\"message_start\"}\n\n";
    let lines = [("content-type", "text/event-stream; charset=utf-8")];
    let rule =
        Rule::on([200]).when(Place::json("/error/type").is(["overloaded_error"])).class(Class::Overloaded);
    let deaf = Dialect::builder("acme").rule(rule.clone()).build().unwrap();
    let asked = Dialect::builder("acme").rule(rule).event_streams().build().unwrap();
    let wants = |dialect: &Dialect| {
        dialect.wants_body(&dialect.read_head(StatusCode::OK, &headers(&lines), SystemTime::UNIX_EPOCH))
    };
    assert_eq!((wants(&deaf), wants(&asked)), (false, true));
    let limited = |dialect: &Dialect, body: &str| read(dialect, 200, &lines, body).signal().is_some();
    assert!(limited(&asked, event) && limited(&asked, &format!(": hello\n\n{event}{plain}")));
    assert!(!limited(&deaf, event), "not asked");
    assert!(!limited(&asked, &format!("{plain}{event}")), "the first event alone");
    assert!(!limited(&asked, event.trim_end()), "an event that is not whole is none");
}

#[test]
fn enough_of_a_stream_of_events_is_its_first() {
    let enough = |kind: &'static str, seen: &str| {
        Dialect::enough(&headers(&[("content-type", kind)]))(seen.as_bytes())
    };
    assert!(enough("text/event-stream", "data: {}\n\n"));
    assert!(enough("Text/Event-Stream; charset=utf-8", ": hello\n\ndata: {}\r\n\r\n"));
    assert!(!enough("text/event-stream", "data: {}\n"));
    assert!(!enough("text/event-stream", ": hello\n\nevent: x\n\n"));
    assert!(!enough("application/json", "data: {}\n\n"));
    assert!(!Dialect::enough(&HeaderMap::new())(b"data: {}\n\n"));
}

#[test]
fn the_lines_of_an_event_are_lines_of_its_data() {
    let dialect = toml(
        "event-streams = true\n[[rule]]\nstatus = 200\nwhen = { text = true, starts-with = \"slow\\ndown\" }",
    );
    let lines = [("content-type", "text/event-stream")];
    let limited = |body: &str| read(&dialect, 200, &lines, body).signal().is_some();
    assert!(limited("data: slow\ndata: down\n\n") && limited("data:slow\r\ndata:down\r\n\r\n"));
    assert!(!limited("data: slowdown\n\n") && !limited("data: slow\n\ndata: down\n\n"));
}
