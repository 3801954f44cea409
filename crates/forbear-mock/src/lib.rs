//! Scripted vendors for tests.
