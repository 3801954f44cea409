//! The vendor on a loopback socket.
//!
//! One server of our own plays ordinary replies and faults alike, so that a script can mix them on one port.

mod answer;
mod io;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use crate::engine::Engine;

pub(crate) use self::io::HalfClose;
use self::io::{Ending, Socket};

/// How long the drop of a server waits for its thread, which a closure of a script may hold up.
const ENDS_WITHIN: Duration = Duration::from_secs(1);

/// A listening socket; dropping it closes the socket and every connection on it.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    thread: ThreadId,
    /// Ends the server's thread by being dropped.
    running: Option<oneshot::Sender<()>>,
    /// Fails when the thread has let go of its runtime, and with it of every socket.
    ended: Mutex<Receiver<()>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.running = None;
        // A closure of a script may own the vendor, and be dropped where it runs.
        if thread::current().id() != self.thread
            && let Ok(ended) = self.ended.get_mut()
        {
            let _ = ended.recv_timeout(ENDS_WITHIN);
        }
    }
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
    let (ends, ended) = mpsc::channel::<()>();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a mock vendor needs a runtime of its own");
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
        .expect("a mock vendor needs a port of 127.0.0.1");
    let address = listener.local_addr().expect("a bound socket has an address");
    let thread = thread::Builder::new()
        .name("forbear-mock".to_owned())
        .spawn(move || {
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).expect("a listener that does not block");
                tokio::spawn(accept(listener, engine));
                // Ends by an error, when the sender is gone; every task ends with the runtime.
                let _ = stop.await;
            });
            drop(runtime);
            drop(ends);
        })
        .expect("a mock vendor needs a thread of its own");
    let thread = thread.thread().id();
    Server { address, thread, running: Some(running), ended: Mutex::new(ended) }
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
