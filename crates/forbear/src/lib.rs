//! Tower middleware for outbound HTTP.

pub mod body;
