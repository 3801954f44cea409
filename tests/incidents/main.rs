//! The three incidents that forbear makes impossible, replayed on real sockets.

mod fifteen_minute_call;
mod self_imposed_outage;
mod stampede;
