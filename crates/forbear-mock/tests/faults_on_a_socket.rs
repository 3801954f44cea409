//! What a client on a real socket sees of each fault.

use std::error::Error;
use std::io::ErrorKind;
use std::time::Duration;

use bytes::Bytes;
use forbear_mock::{MockVendor, Reply, reply};
use http::Response;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

const MS: fn(u64) -> Duration = Duration::from_millis;
/// Only keeps a failure from hanging.
const LONG: Duration = Duration::from_secs(20);

type Http = Client<HttpConnector, Empty<Bytes>>;

fn client() -> Http {
    Client::builder(TokioExecutor::new()).build_http()
}

async fn get(client: &Http, vendor: &MockVendor) -> Result<Response<Incoming>, Box<dyn Error>> {
    let answer = client.get(vendor.url("/").parse().unwrap());
    Ok(timeout(LONG, answer).await.expect("an answer or an error")?)
}

/// A vendor with one fault and then a good answer, on the same port.
async fn once(fault: Reply) -> MockVendor {
    MockVendor::start().await.script([fault, reply(200).body("well")])
}

async fn assert_well(client: &Http, vendor: &MockVendor) {
    let response = get(client, vendor).await.unwrap();
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "well");
}

fn io_kind(error: &(dyn Error + 'static)) -> Option<ErrorKind> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            return Some(io.kind());
        }
        next = error.source();
    }
    None
}

/// Sends a request on a bare socket.
async fn ask(vendor: &MockVendor) -> TcpStream {
    let mut socket = TcpStream::connect(vendor.authority()).await.unwrap();
    socket.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    socket
}

/// All that comes before the connection ends, and how it ends.
async fn rest(socket: &mut TcpStream) -> (String, Option<ErrorKind>) {
    let mut bytes = Vec::new();
    let end = timeout(LONG, socket.read_to_end(&mut bytes)).await.expect("the connection ends");
    (String::from_utf8(bytes).unwrap(), end.err().map(|error| error.kind()))
}

#[tokio::test]
async fn a_reset_is_a_reset() {
    let vendor = once(reply(200).body("never seen").reset()).await;
    let client = client();
    let error = get(&client, &vendor).await.unwrap_err();
    assert_eq!(io_kind(&*error), Some(ErrorKind::ConnectionReset), "{error:?}");
    assert_eq!(vendor.attempts()[0].status(), None);
    assert_well(&client, &vendor).await;

    vendor.set_script(reply(200).reset());
    assert_eq!(rest(&mut ask(&vendor).await).await, (String::new(), Some(ErrorKind::ConnectionReset)));
}

#[tokio::test]
async fn closed_before_the_head_is_an_end_without_an_answer() {
    let vendor = once(reply(200).body("never seen").close_before_head()).await;
    let client = client();
    let error = get(&client, &vendor).await.unwrap_err();
    let cause = error.source().and_then(<dyn Error>::downcast_ref::<hyper::Error>);
    assert!(cause.is_some_and(hyper::Error::is_incomplete_message), "{error:?}");
    assert_eq!(vendor.attempts()[0].status(), None);
    assert_well(&client, &vendor).await;

    vendor.set_script(reply(200).close_before_head());
    assert_eq!(rest(&mut ask(&vendor).await).await, (String::new(), None));
}

#[tokio::test]
async fn closed_in_the_body_is_a_head_and_less_than_it_promised() {
    for (fault, promised, sent) in [
        (reply(200).body("0123456789").close_before_body(), 10, ""),
        (reply(200).body("0123456789").close_in_body(4), 10, "0123"),
        (reply(200).body("0123456789").close_in_body(10), 11, "0123456789"),
        (reply(200).body("0123456789").close_in_body(usize::MAX), 11, "0123456789"),
        (reply(200).close_before_body(), 1, ""),
        (reply(200).body("0123456789").slow_body(3, MS(1)).close_in_body(7), 10, "0123456"),
    ] {
        let vendor = once(fault.clone()).await;
        let client = client();
        let mut body = get(&client, &vendor).await.unwrap().into_body();
        let mut seen = Vec::new();
        let error = loop {
            match timeout(LONG, body.frame()).await.unwrap() {
                Some(Ok(frame)) => seen.extend(frame.into_data().unwrap()),
                Some(Err(error)) => break error,
                None => panic!("a whole body: {seen:?}"),
            }
        };
        assert_eq!(String::from_utf8(seen).unwrap(), sent);
        assert_eq!(io_kind(&error), Some(ErrorKind::UnexpectedEof), "{error:?}");
        assert_well(&client, &vendor).await;

        vendor.set_script(fault);
        let (raw, end) = rest(&mut ask(&vendor).await).await;
        let (head, body) = raw.split_once("\r\n\r\n").expect("a whole head");
        assert!(head.contains(&format!("content-length: {promised}\r\n")), "{head}");
        assert_eq!((body, end), (sent, None));
    }
}

#[tokio::test]
async fn a_half_close_ends_one_direction_after_the_answer() {
    let large = "x".repeat(4 << 20);
    for (body, pieces) in [("", 1), ("whole", 1), ("whole", 5), (&large, 1)] {
        let piece = body.len().div_ceil(pieces).max(1);
        let vendor = once(reply(200).body(body.to_owned()).slow_body(piece, MS(1)).half_close()).await;
        let mut socket = ask(&vendor).await;
        let (raw, end) = rest(&mut socket).await;
        let (head, seen) = raw.split_once("\r\n\r\n").expect("a whole head");
        assert!(!head.contains("connection: close"), "nothing warns of it: {head}");
        assert!(seen == body, "{} bytes of {}", seen.len(), body.len());
        assert_eq!(end, None);

        // The other direction is open still: a closed one would answer the first of these with a reset.
        for _ in 0..3 {
            socket.write_all(b"GET /again HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
            let well = get(&client(), &vendor).await.unwrap();
            assert_eq!(well.into_body().collect().await.unwrap().to_bytes(), "well");
        }
        assert!(socket.take_error().unwrap().is_none());
        vendor.assert_attempts_on("/again", 0);
    }
}

#[tokio::test]
async fn a_client_with_a_pool_gets_over_a_half_close() {
    let vendor = once(reply(200).body("whole").half_close()).await;
    let client = client();
    let first = get(&client, &vendor).await.unwrap();
    assert_eq!(first.into_body().collect().await.unwrap().to_bytes(), "whole");
    // The pool may not have noticed yet; then this call fails, and the next has a connection of its own.
    let mut answer = get(&client, &vendor).await;
    if answer.is_err() {
        answer = get(&client, &vendor).await;
    }
    assert_eq!(answer.unwrap().into_body().collect().await.unwrap().to_bytes(), "well");
    vendor.assert_attempts(2);
}

#[tokio::test]
async fn a_slow_body_follows_its_head_in_pieces() {
    let vendor = once(reply(200).body("01234567").slow_body(3, MS(20))).await;
    let before = Instant::now();
    let response = get(&client(), &vendor).await.unwrap();
    assert_eq!(response.headers()["content-length"], "8");
    let mut body = response.into_body();
    let mut pieces = Vec::new();
    while let Some(frame) = body.frame().await {
        let piece = frame.unwrap().into_data().unwrap();
        // The vendor cannot have sent it earlier; a busy machine may let two arrive as one.
        let sent: usize = pieces.iter().map(Bytes::len).sum::<usize>() + piece.len();
        assert!(before.elapsed() >= MS(20) * u32::try_from(sent.div_ceil(3)).unwrap());
        pieces.push(piece);
    }
    assert_eq!(pieces.concat(), b"01234567");
}

#[tokio::test]
async fn the_head_of_a_slow_body_does_not_wait_for_it() {
    let vendor = once(reply(200).body("never").slow_body(1, Duration::from_secs(3600))).await;
    let response = get(&client(), &vendor).await.unwrap();
    assert_eq!(response.status(), 200);
    // The client gives up on it, and the vendor is free for others.
    drop(response);
    assert_well(&client(), &vendor).await;
}

#[tokio::test]
async fn a_delay_holds_back_a_fault_too() {
    for fault in [reply(200).reset(), reply(200).close_before_head()] {
        let vendor = once(fault.delay(MS(40))).await;
        let before = Instant::now();
        get(&client(), &vendor).await.unwrap_err();
        assert!(before.elapsed() >= MS(40));
    }
}

#[tokio::test]
async fn a_request_that_breaks_off_is_logged_and_does_not_move_the_script() {
    let vendor = MockVendor::start().await.script([reply(429), reply(200)]);
    let mut socket = TcpStream::connect(vendor.authority()).await.unwrap();
    socket.write_all(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nhalf").await.unwrap();
    socket.shutdown().await.unwrap();
    rest(&mut socket).await;
    assert_eq!(get(&client(), &vendor).await.unwrap().status(), 429);
    vendor.assert_attempts(2);
    assert_eq!(vendor.attempts()[0].body(), "half");
}

mod http2 {
    use super::*;
    use hyper::client::conn::http2::{SendRequest, handshake};

    async fn connect(vendor: &MockVendor) -> SendRequest<Empty<Bytes>> {
        let socket = TokioIo::new(TcpStream::connect(vendor.authority()).await.unwrap());
        let (sender, connection) = handshake(TokioExecutor::new(), socket).await.unwrap();
        tokio::spawn(connection);
        sender
    }

    async fn get(sender: &mut SendRequest<Empty<Bytes>>, url: String) -> hyper::Result<Response<Incoming>> {
        let request = http::Request::get(url).body(Empty::new()).unwrap();
        timeout(LONG, sender.send_request(request)).await.expect("an answer or an error")
    }

    #[tokio::test]
    async fn a_close_ends_its_stream_alone() {
        let vendor = MockVendor::start()
            .await
            .script(reply(200).body("well"))
            .route("/head", reply(200).close_before_head())
            .route("/body", reply(200).body("0123456789").close_in_body(4))
            .route("/half", reply(200).body("whole").half_close());
        let mut sender = connect(&vendor).await;
        get(&mut sender, vendor.url("/head")).await.unwrap_err();
        let broken = get(&mut sender, vendor.url("/body")).await.unwrap();
        assert_eq!(broken.headers()["content-length"], "10");
        broken.into_body().collect().await.unwrap_err();
        for path in ["/half", "/"] {
            let response = get(&mut sender, vendor.url(path)).await.unwrap();
            response.into_body().collect().await.unwrap();
        }
        assert_eq!(vendor.attempts()[0].authority(), Some(vendor.authority().as_str()));
    }

    #[tokio::test]
    async fn a_reset_ends_the_connection() {
        let vendor = once(reply(200).reset()).await;
        let mut sender = connect(&vendor).await;
        let error = get(&mut sender, vendor.url("/")).await.unwrap_err();
        assert_eq!(io_kind(&error), Some(ErrorKind::ConnectionReset), "{error:?}");
        get(&mut sender, vendor.url("/")).await.unwrap_err();
        vendor.assert_attempts(1);
    }
}

/// What a vendor says of its body's length need not be true.
#[tokio::test]
async fn a_length_that_is_not_the_bodys_is_sent_as_it_stands() {
    for (method, status, length, sent) in [
        ("GET", 200, "8", "whole"),
        ("GET", 200, "2", "wh"),
        ("GET", 200, "0", ""),
        ("GET", 200, "5", "whole"),
        ("HEAD", 200, "8", ""),
        ("GET", 304, "8", ""),
    ] {
        let lie = reply(status).header("content-length", length).body("whole");
        let vendor = MockVendor::start().await.script(lie);
        let mut socket = TcpStream::connect(vendor.authority()).await.unwrap();
        let request = format!("{method} / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        socket.write_all(request.as_bytes()).await.unwrap();
        let (raw, end) = rest(&mut socket).await;
        let (head, seen) = raw.split_once("\r\n\r\n").expect("a whole head");
        assert!(head.contains(&format!("content-length: {length}")), "{head}");
        assert_eq!((seen, end), (sent, None), "{method} {status} {length}");
    }
}

#[tokio::test]
async fn a_body_cut_short_of_a_false_length_is_cut_where_it_was_asked() {
    for (length, cut, sent) in [("8", 2, "wh"), ("2", 4, "w")] {
        let lie = reply(200).header("content-length", length).body("whole").close_in_body(cut);
        let (raw, end) = rest(&mut ask(&MockVendor::start().await.script(lie)).await).await;
        let (_, seen) = raw.split_once("\r\n\r\n").expect("a whole head");
        assert_eq!((seen, end), (sent, None), "{length}");
    }
}

/// A client may have sent its next requests before it read the answer.
#[tokio::test]
async fn what_was_sent_ahead_of_a_half_close_is_neither_answered_nor_logged() {
    let vendor = once(reply(200).body("whole").half_close()).await;
    let mut socket = TcpStream::connect(vendor.authority()).await.unwrap();
    let three = ["/", "/again", "/again"].map(|path| format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n"));
    socket.write_all(three.concat().as_bytes()).await.unwrap();
    let (raw, end) = rest(&mut socket).await;
    assert!(raw.ends_with("\r\n\r\nwhole"), "{raw}");
    assert_eq!(end, None);
    assert_well(&client(), &vendor).await;
    vendor.assert_attempts_on("/again", 0);
}
