//! What a pacer must hold to.
