//! The stack around the clients that it has an adapter for, on real sockets: each case through each of them.

mod adapters;
mod amplification;
mod bodies;
mod cases;
mod connections;
mod errors;
mod forwarder;
mod hostile;
mod middleware;
mod passing;
mod permits;
mod redirects;
mod server;
mod streams;
mod tls;
mod upload;
