//! Pacing: what holds where the client is called, what holds at the vendor's socket, and how much of the limit is used.

mod paused;
mod support;
mod wire;
