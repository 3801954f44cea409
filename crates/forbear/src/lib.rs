//! Tower middleware for outbound HTTP.
