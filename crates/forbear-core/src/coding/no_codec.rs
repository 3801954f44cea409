use super::Progress;
use super::sink::Sink;

/// No coding can be undone.
#[derive(Debug)]
pub(super) enum Codec {}

impl Codec {
    pub(super) const fn named(_: &[u8]) -> Option<Self> {
        None
    }

    pub(super) const fn decode(&mut self, _: &[u8], _: &mut Sink) -> Progress {
        match *self {}
    }
}
