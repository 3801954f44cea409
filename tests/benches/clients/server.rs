//! Answers every request with the same 200, over connections that stay open.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\n17";

/// The server's process; killed when dropped.
pub(crate) struct Server {
    process: Child,
    address: String,
}

impl Server {
    /// Starts this program once more, with `argument`.
    pub(crate) fn start(argument: &str) -> io::Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .arg(argument)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut address = String::new();
        let told = process.stdout.take().ok_or_else(|| io::Error::other("no output"))?;
        BufReader::new(told).read_line(&mut address)?;
        Ok(Self { process, address: address.trim().to_owned() })
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Serves until its standard input ends: so it ends with whoever started it.
pub(crate) fn serve() -> Result<(), String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    println!("{}", listener.local_addr().map_err(|error| error.to_string())?);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(stream));
        }
    });
    let _ = io::stdin().read(&mut [0]);
    Ok(())
}

fn answer(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut heads = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    // None of the requests has a body.
    while heads.read_line(&mut line)? > 0 {
        if line == "\r\n" {
            stream.write_all(ANSWER)?;
        }
        line.clear();
    }
    Ok(())
}
