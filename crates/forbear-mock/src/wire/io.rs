//! A socket that can be ended in other ways than in order.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// How a connection is to end; asked for by an answer, done by the socket.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    reset: AtomicBool,
    half_close: AtomicBool,
}

impl Ending {
    pub(crate) fn reset(&self) {
        self.reset.store(true, Ordering::Relaxed);
    }

    /// Whether the last answer of the connection was given.
    pub(crate) fn is_half_closed(&self) -> bool {
        self.half_close.load(Ordering::Relaxed)
    }

    fn is_reset(&self) -> bool {
        self.reset.load(Ordering::Relaxed)
    }
}

/// Asks for the half-close when it is dropped, with the body that it came with.
#[derive(Debug)]
pub(crate) struct HalfClose(pub(crate) Arc<Ending>);

impl Drop for HalfClose {
    fn drop(&mut self) {
        self.0.half_close.store(true, Ordering::Relaxed);
    }
}

#[derive(Debug)]
pub(crate) struct Socket {
    stream: TcpStream,
    ending: Arc<Ending>,
    half_closed: bool,
}

impl Socket {
    pub(crate) fn new(stream: TcpStream, ending: Arc<Ending>) -> Self {
        Self { stream, ending, half_closed: false }
    }

    fn check(&self) -> io::Result<()> {
        if self.ending.is_reset() { Err(ErrorKind::ConnectionReset.into()) } else { Ok(()) }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.ending.is_reset() {
            // Closed with a linger time of zero, a socket sends RST.
            let _ = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check()?;
        if !self.half_closed {
            return Pin::new(&mut self.stream).poll_read(cx, buf);
        }
        // What comes after a half-close is taken and never answered.
        loop {
            let mut scratch = [0; 4096];
            let mut taken = ReadBuf::new(&mut scratch);
            ready!(Pin::new(&mut self.stream).poll_read(cx, &mut taken))?;
            if taken.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    /// hyper flushes when its own buffer is empty: whatever was answered has then been written.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check()?;
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        if !self.half_closed && self.ending.is_half_closed() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
            self.half_closed = true;
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
