//! What every store must do, as tests for who writes one.

pub mod work;
