//! How a logical request waits for its vendor, whoever sends it: the layer that sends HTTP again, or a run of what is not
//! HTTP.

mod patience;
mod wait;

pub(crate) use patience::{Caller, Patience};
pub(crate) use wait::{Wait, Waited};
