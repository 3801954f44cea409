//! What every store must do, as tests for who writes one.

pub mod cooldowns;
pub mod responses;
pub mod work;
