//! The vendor on a loopback socket.
//!
//! One server of our own plays ordinary replies and faults alike, so that a script can mix them on one port.

mod answer;
mod io;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use crate::engine::Engine;

pub(crate) use self::io::HalfClose;
use self::io::{Ending, Socket};

/// A listening socket; dropping it closes the socket and every connection on it.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    /// Ends the server's thread by being dropped.
    _running: oneshot::Sender<()>,
}

impl Server {
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Starts a server that answers from the engine.
///
/// It has a thread and a runtime of its own: a paused clock or a blocked runtime of the test does not reach it.
pub(crate) fn serve(engine: Arc<Engine>) -> Server {
    let (running, stop) = oneshot::channel::<()>();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a mock vendor needs a runtime of its own");
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
        .expect("a mock vendor needs a port of 127.0.0.1");
    let address = listener.local_addr().expect("a bound socket has an address");
    thread::Builder::new()
        .name("forbear-mock".to_owned())
        .spawn(move || {
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).expect("a listener that does not block");
                tokio::spawn(accept(listener, engine));
                // Ends by an error, when the sender is gone; every task ends with the runtime.
                let _ = stop.await;
            });
        })
        .expect("a mock vendor needs a thread of its own");
    Server { address, _running: running }
}

async fn accept(listener: TcpListener, engine: Arc<Engine>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(connection(stream, Arc::clone(&engine)))),
            // That of a connection that is gone already, or of a process out of descriptors, which will have some
            // again when connections end.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

async fn connection(stream: TcpStream, engine: Arc<Engine>) {
    // A small piece of a slow body is on its way at once.
    let _ = stream.set_nodelay(true);
    let ending = Arc::new(Ending::default());
    let socket = TokioIo::new(Socket::new(stream, Arc::clone(&ending)));
    let answers =
        service_fn(move |request| answer::answer(Arc::clone(&engine), Arc::clone(&ending), request));
    // How a connection ends, well or not, is for the client to see and for the log to tell.
    let _ = Builder::new(TokioExecutor::new()).serve_connection(socket, answers).await;
}
