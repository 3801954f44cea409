//! Bodies: JSON, XML, HTML, streams of events, and what is none of them.

use forbear_core::dialect::Dialect;
use forbear_core::presets;

use crate::targets::holds::{answer, cut};
use crate::targets::message::Message;

/// Any bytes, by the standard dialect and a vendor's. One that looks at JSON alone reads nothing in a document of which the
/// end is missing; others read what stands before that.
pub fn target(input: &[u8]) {
    let message = Message::read(input);
    let (status, headers) = (message.status, message.headers());
    for dialect in [Dialect::standard(), message.dialect()] {
        answer(&dialect, status, &headers, message.body);
        if reads_json_alone(dialect.name()) {
            let at =
                input.iter().fold(0_usize, |at, byte| at.wrapping_mul(31).wrapping_add(usize::from(*byte)));
            cut(&dialect, status, &headers, message.body, at);
        }
    }
}

fn reads_json_alone(name: &str) -> bool {
    let others = ["xml =", "title =", "text ="];
    // The standard dialect is no preset.
    presets::named(name).map_or(true, |preset| !others.iter().any(|place| preset.toml().contains(place)))
}
