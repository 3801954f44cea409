//! URLs as they may be shown.
