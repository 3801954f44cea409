//! What the fuzz targets share with the test that keeps them alive.

pub mod targets;
