//! How one vendor phrases its signals.
