//! Sweeps on real sockets.

mod families;
mod support;
mod waits;
