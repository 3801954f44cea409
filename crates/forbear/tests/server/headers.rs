//! Where the inbound deadline is read from, and what is left unread.

use std::convert::Infallible;
use std::time::Duration;

use forbear::inbound::DeadlineHeader;
use forbear::{Budget, InboundBudgetLayer};
use http::{HeaderName, HeaderValue, Request, Response};
use tower::{Layer, ServiceExt};

use crate::common::{MS, SECOND, Told, with};

/// What a handler has left behind `layer`, for a request with these header lines.
async fn left(layer: &InboundBudgetLayer, lines: &[(&str, &[u8])]) -> Option<Duration> {
    let mut request = Request::new(());
    for (name, value) in lines {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        request.headers_mut().append(name, HeaderValue::from_bytes(value).unwrap());
    }
    seen(layer, request).await
}

async fn seen(layer: &InboundBudgetLayer, request: Request<()>) -> Option<Duration> {
    let look = tower::service_fn(|_: Request<()>| {
        let call = Budget::current();
        async move {
            assert_eq!(Budget::current(), call);
            Ok::<_, Infallible>(Response::new(call.map(|budget| budget.remaining())))
        }
    });
    layer.layer(look).oneshot(request).await.unwrap().into_body()
}

#[tokio::test(start_paused = true)]
async fn the_shortest_of_header_grpc_timeout_and_default_is_the_budget() {
    let ten = InboundBudgetLayer::new(10 * SECOND);
    let up_to_sixty = ten.clone().maximum(60 * SECOND);
    let callers = InboundBudgetLayer::unlimited();
    let capped = callers.clone().maximum(5 * SECOND);
    let short = ten.clone().maximum(3 * SECOND);
    let (ms, grpc): (&str, &str) = ("x-request-timeout-ms", "grpc-timeout");
    for (lines, expected) in [
        (&[] as &[(&str, &[u8])], [Some(10_000), Some(10_000), None, None, Some(3_000)]),
        (&[(ms, b"300")], [Some(300), Some(300), Some(300), Some(300), Some(300)]),
        (&[(grpc, b"2S")], [Some(2_000), Some(2_000), Some(2_000), Some(2_000), Some(2_000)]),
        (&[(ms, b"300"), (grpc, b"200m")], [Some(200), Some(200), Some(200), Some(200), Some(200)]),
        (&[(ms, b"300"), (grpc, b"1H")], [Some(300), Some(300), Some(300), Some(300), Some(300)]),
        (&[(ms, b"20000")], [Some(10_000), Some(20_000), Some(20_000), Some(5_000), Some(3_000)]),
        (&[(grpc, b"2M")], [Some(10_000), Some(60_000), Some(120_000), Some(5_000), Some(3_000)]),
        (&[(ms, b"0")], [Some(0), Some(0), Some(0), Some(0), Some(0)]),
    ] {
        let mut got = Vec::new();
        for layer in [&ten, &up_to_sixty, &callers, &capped, &short] {
            got.push(left(layer, lines).await);
        }
        let expected = expected.map(|millis| millis.map(Duration::from_millis));
        assert_eq!(got, expected, "{lines:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_header_and_its_unit_are_the_servers_choice() {
    let name = HeaderName::from_static("x-deadline");
    let seconds = InboundBudgetLayer::new(10 * SECOND).header(DeadlineHeader::seconds(name.clone()));
    assert_eq!(left(&seconds, &[("x-deadline", b"0.3")]).await, Some(300 * MS));
    assert_eq!(left(&seconds, &[("x-request-timeout-ms", b"1")]).await, Some(10 * SECOND));
    let millis = seconds.clone().header(DeadlineHeader::milliseconds(name));
    assert_eq!(left(&millis, &[("x-deadline", b"3")]).await, Some(3 * MS));
    let none = seconds.no_header().no_grpc_timeout();
    let lines: &[(&str, &[u8])] = &[("x-deadline", b"1"), ("grpc-timeout", b"1n")];
    assert_eq!(left(&none, lines).await, Some(10 * SECOND));
}

/// A caller that sends nonsense gets what one gets that sends nothing, and the log has no part of it.
#[tokio::test(start_paused = true)]
async fn hostile_values_are_left_out_with_a_debug_event_that_does_not_hold_them() {
    let layer = InboundBudgetLayer::new(10 * SECOND);
    let events = Told::default();
    events.listen();
    for value in ["-1", "NaN", "inf", "CANARY", "1e3", "", "1,2", "0x7f", "+5", "3 0"] {
        for name in ["x-request-timeout-ms", "grpc-timeout"] {
            assert_eq!(left(&layer, &[(name, value.as_bytes())]).await, Some(10 * SECOND), "{value:?}");
            let lines = events.take();
            let expected = format!("DEBUG an inbound deadline is not understood, and left out header={name}");
            assert_eq!(lines, [expected], "{value:?}");
        }
    }
    assert_eq!(left(&layer, &[("x-request-timeout-ms", b"\xff\xfe")]).await, Some(10 * SECOND));
    assert_eq!(left(&layer, &[("grpc-timeout", "9".repeat(8000).as_bytes())]).await, Some(10 * SECOND));
    events.take();
    // Well formed, and longer than anything.
    let huge = "2".repeat(8000);
    assert_eq!(left(&layer, &[("x-request-timeout-ms", huge.as_bytes())]).await, Some(10 * SECOND));
    let endless = left(&InboundBudgetLayer::unlimited(), &[("x-request-timeout-ms", huge.as_bytes())]).await;
    assert!(endless.is_some_and(|left| left > Duration::from_secs(86_400 * 365 * 100)), "{endless:?}");
    assert_eq!(events.take(), [] as [String; 0]);
}

#[tokio::test(start_paused = true)]
async fn of_repeated_lines_the_shortest_that_is_understood_counts() {
    let layer = InboundBudgetLayer::new(10 * SECOND);
    let name = "x-request-timeout-ms";
    let lines: &[(&str, &[u8])] =
        &[(name, b"900"), (name, b"-5"), (name, b"400"), (name, b"NaN"), (name, b"700")];
    assert_eq!(left(&layer, lines).await, Some(400 * MS));
    let lines: &[(&str, &[u8])] =
        &[("grpc-timeout", b"3S"), ("grpc-timeout", b"250m"), ("grpc-timeout", b"1")];
    assert_eq!(left(&layer, lines).await, Some(250 * MS));
}

#[tokio::test(start_paused = true)]
async fn a_budget_in_the_requests_extensions_is_one_more_source() {
    let carrying = |total| with(Request::new(()), Budget::within(total));
    let layer = InboundBudgetLayer::new(10 * SECOND);
    assert_eq!(seen(&layer, carrying(2 * SECOND)).await, Some(2 * SECOND));
    assert_eq!(seen(&layer, carrying(20 * SECOND)).await, Some(10 * SECOND));
    assert_eq!(seen(&InboundBudgetLayer::unlimited(), carrying(2 * SECOND)).await, Some(2 * SECOND));
}
