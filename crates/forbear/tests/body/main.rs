//! Bodies through their public API: sent again, looked at, thrown away.

mod drain;
mod peek;
mod replay;
mod replay_clones;
mod replay_faults;
mod replay_memory;
mod replay_model;
mod support;
