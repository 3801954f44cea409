//! Shared parts of the tests: clients, vendors and log capture.
