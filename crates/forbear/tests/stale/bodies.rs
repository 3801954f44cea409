//! Bodies on their way: what they take, and what those who read them see.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::stream;
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::StreamBody;

use crate::vendor::{Fault, boxed, ok};
use crate::*;

type Pieces = Box<dyn Iterator<Item = Bytes> + Send>;

/// A vendor whose bodies come in these pieces, and how many bytes it has given.
fn in_pieces(pieces: impl Fn() -> Pieces + Send + 'static) -> (Vendor, Arc<AtomicUsize>) {
    let given = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&given);
    let vendor = Vendor::new(move |_| {
        let given = Arc::clone(&counts);
        let pieces = pieces().map(move |piece| {
            given.fetch_add(piece.len(), Ordering::SeqCst);
            Ok::<_, Fault>(Frame::data(piece))
        });
        let mut response = ok(&[("cache-control", "max-age=60")], "");
        *response.body_mut() = boxed(StreamBody::new(stream::iter(pieces)));
        Ok(response)
    });
    (vendor, given)
}

async fn length(answer: Answer) -> usize {
    answer.into_body().collect().await.unwrap().to_bytes().len()
}

/// Whether the next who ask for it are served from memory.
async fn is_stored(service: &StaleService<Vendor>, url: &str) -> bool {
    length(send(service, get(url)).await).await;
    settle().await;
    served(&send(service, get(url)).await) == Served::Fresh
}

const KIB: usize = 1024;

/// Half a mebibyte for each of two hundred, and nobody reads.
#[tokio::test(start_paused = true)]
async fn bodies_that_nobody_reads_take_as_much_as_may_be_kept_and_no_more() {
    let (vendor, given) = in_pieces(|| Box::new((0..8).map(|_| Bytes::from(vec![7; 64 * KIB]))));
    let service = StaleLayer::memory(4 << 20).layer(vendor.clone());
    let url = |number: usize| format!("http://vendor.test/{number}");
    let mut answers = Vec::new();
    for number in 0..200 {
        answers.push(send(&service, get(&url(number))).await);
        settle().await;
    }
    let given = given.load(Ordering::SeqCst);
    // Five mebibytes, and of each the piece that did not fit.
    assert!((4 << 20..(5 << 20) + 200 * 64 * KIB).contains(&given), "{given}");
    for (number, answer) in answers.into_iter().enumerate() {
        // Some go without reading.
        if number % 2 == 0 {
            assert_eq!(length(answer).await, 512 * KIB);
        }
    }
    // All of it is given back: what has room is one attempt for all who ask.
    let before = vendor.attempts();
    for number in 1_000..1_020 {
        let all = (0..3).map(|_| async { length(send(&service, get(&url(number))).await).await });
        assert_eq!(futures_util::future::join_all(all).await, [512 * KIB; 3]);
    }
    assert_eq!(vendor.attempts(), before + 20);
    assert!(service.stored_bytes() <= 4 << 20);
}

/// Else a few who do not read would make everybody ask for himself.
#[tokio::test(start_paused = true)]
async fn a_small_body_has_room_whatever_others_take() {
    let vendor = Vendor::new(|request| {
        let large = request.uri().path() != "/a";
        Ok(ok(&[("cache-control", "max-age=60")], &"x".repeat(if large { 900 * KIB } else { 10 * KIB })))
    });
    let service = service(&vendor);
    let mut unread = Vec::new();
    for number in 0..10 {
        unread.push(send(&service, get(&format!("{URL}/{number}"))).await);
        settle().await;
    }
    let all = (0..100).map(|_| async { length(send(&service, get(URL)).await).await });
    assert!(futures_util::future::join_all(all).await.iter().all(|length| *length == 10 * KIB));
    assert_eq!(vendor.attempts(), 11);
    drop(unread);
}

#[tokio::test(start_paused = true)]
async fn a_body_in_very_many_pieces_passes_and_is_not_stored() {
    for (pieces, size, kept) in
        [(16_000, 1, true), (17_000, 1, false), (16_000, 0, true), (1_000_000, 0, false)]
    {
        let (vendor, _) = in_pieces(move || Box::new((0..pieces).map(move |_| Bytes::from(vec![7; size]))));
        // With room for them, and what they take beside their bytes.
        let service = StaleLayer::memory(8 << 20).layer(vendor.clone());
        let answer = send(&service, get(URL)).await;
        settle().await;
        assert_eq!(length(answer).await, pieces * size);
        assert_eq!(is_stored(&service, URL).await, kept, "{pieces} of {size}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_without_end_and_without_a_byte_holds_nobody_up() {
    let (vendor, _) = in_pieces(|| Box::new(std::iter::repeat_with(Bytes::new)));
    let service = service(&vendor);
    let answer = send(&service, get(URL)).await;
    settle().await;
    drop(answer);
    assert_eq!(vendor.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_left_of_a_body_is_told_while_it_is_read() {
    let vendor = Vendor::new(|_| Ok(ok(&[("cache-control", "max-age=60")], "whole")));
    let service = service(&vendor);
    for kept in [false, true] {
        let answer = send(&service, get(URL)).await;
        assert_eq!(served(&answer) == Served::Fresh, kept);
        let mut body = Box::pin(answer.into_body());
        assert_eq!(body.size_hint().exact(), Some(5));
        let frame = std::future::poll_fn(|cx| body.as_mut().poll_frame(cx)).await;
        assert_eq!(frame.unwrap().unwrap().into_data().unwrap(), "whole");
        assert_eq!(body.size_hint().exact(), Some(0));
        for _ in 0..2 {
            assert!(std::future::poll_fn(|cx| body.as_mut().poll_frame(cx)).await.is_none());
        }
        assert_eq!(body.size_hint().exact(), Some(0));
    }
}

/// Says that it is so long.
struct Says(Body, SizeHint);

impl http_body::Body for Says {
    type Data = Bytes;
    type Error = Fault;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, Fault>>> {
        std::pin::Pin::new(&mut self.0).poll_frame(cx)
    }

    fn size_hint(&self) -> SizeHint {
        self.1
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_lies_about_its_length_passes_as_it_is() {
    for (says, kept) in [(0, true), (3, true), (5, true), (1_000, true), (1 << 40, false), (u64::MAX, false)]
    {
        let vendor = Vendor::new(move |_| {
            let mut response = ok(&[("cache-control", "max-age=60")], "");
            *response.body_mut() = boxed(Says(vendor::body("whole"), SizeHint::with_exact(says)));
            Ok(response)
        });
        let service = service(&vendor);
        let mut body = Box::pin(send(&service, get(URL)).await.into_body());
        let frame = std::future::poll_fn(|cx| body.as_mut().poll_frame(cx)).await;
        assert_eq!(frame.unwrap().unwrap().into_data().unwrap(), "whole");
        assert!(std::future::poll_fn(|cx| body.as_mut().poll_frame(cx)).await.is_none());
        let hint = body.size_hint();
        assert!(hint.upper().is_none_or(|upper| hint.lower() <= upper), "{says}: {hint:?}");
        assert_eq!(ask(&service, URL).await.0 == Served::Fresh, kept, "{says}");
    }
}

/// A body that panics at its second piece, however it was begun.
#[tokio::test(start_paused = true)]
async fn a_body_that_panics_is_cut_off_and_the_next_is_whole() {
    let attempts = AtomicUsize::new(0);
    let (vendor, _) = in_pieces(move || {
        let first = attempts.fetch_add(1, Ordering::SeqCst) == 0;
        let pieces = (0..4).map(move |piece| {
            assert!(!first || piece < 2, "the body panics");
            Bytes::from(vec![7; 10])
        });
        Box::new(pieces)
    });
    let service = service(&vendor);
    let (one, others) = tokio::join!(
        async { send(&service, get(URL)).await.into_body().collect().await },
        futures_util::future::join_all((0..100).map(|_| ask(&service, URL)))
    );
    assert_eq!(one.unwrap_err().to_string(), "the response was cut off");
    assert!(others.iter().all(|(_, text)| text.len() == 40));
    assert_eq!((vendor.attempts(), vendor.in_flight()), (2, 0));
}
