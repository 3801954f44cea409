//! What the layers hold of a huge upload.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use forbear::NoWait;
use forbear::body::Replay;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, Full};
use tower::service_fn;

use crate::support::{self, SECOND, registered};

const FRAME: usize = 16 * 1024;
const GIB: u64 = 1 << 30;
const MIB: usize = 1 << 20;
static ZEROS: [u8; FRAME] = [0; FRAME];

/// Bytes alive now, and the most that ever were.
#[derive(Default)]
struct Alive {
    now: AtomicUsize,
    most: AtomicUsize,
}

/// Stands for its bytes, and is counted as long as one clone of them is alive.
struct Counted(Arc<Alive>);

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &ZEROS
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.now.fetch_sub(FRAME, Ordering::Relaxed);
    }
}

struct Upload {
    left: u64,
    announced: bool,
    alive: Arc<Alive>,
}

impl Body for Upload {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(left) = self.left.checked_sub(FRAME as u64) else { return Poll::Ready(None) };
        self.left = left;
        let now = self.alive.now.fetch_add(FRAME, Ordering::Relaxed) + FRAME;
        self.alive.most.fetch_max(now, Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_owner(Counted(Arc::clone(&self.alive)))))))
    }

    fn size_hint(&self) -> SizeHint {
        if self.announced { SizeHint::with_exact(self.left) } else { SizeHint::default() }
    }
}

/// Reads a whole upload, frame by frame, and then answers 429.
async fn swallow(request: Request<Replay<Upload>>) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut body = pin!(request.into_body());
    let mut read = 0;
    while let Some(frame) = body.frame().await {
        read += frame.ok().and_then(|frame| frame.into_data().ok()).map_or(0, |data| data.len() as u64);
    }
    assert_eq!(read, GIB, "the first attempt always gets every byte");
    Ok(support::limited("1"))
}

// linkerd/linkerd2-proxy#1039: bodies were kept without a bound, even where nothing could be sent again.
#[tokio::test(start_paused = true)]
async fn a_gibibyte_passes_through_in_less_than_a_mebibyte() {
    for (announced, no_wait) in [(true, false), (false, false), (false, true)] {
        let alive = Arc::<Alive>::default();
        let body = Upload { left: GIB, announced, alive: Arc::clone(&alive) };
        let mut request = Request::post("http://vendor.test/upload").body(body).unwrap();
        if no_wait {
            request.extensions_mut().insert(NoWait);
        }
        let vendor = forbear::stack(&registered()).budget(60 * SECOND).service(service_fn(swallow));
        let response = vendor.send(request).await.unwrap();
        assert_eq!(response.status(), 429);
        assert!(alive.most.load(Ordering::Relaxed) < MIB);
        assert_eq!(alive.now.load(Ordering::Relaxed), 0, "nothing is kept after the answer");
    }
}
