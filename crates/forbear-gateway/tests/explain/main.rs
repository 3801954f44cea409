//! `forbear explain`, as it is called.

mod arguments;
mod capture;
mod support;
mod text;
mod vectors;
