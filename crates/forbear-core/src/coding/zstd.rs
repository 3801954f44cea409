use std::fmt;

use mzstd::{
    DecodeError, DecodeLimits, DecodeOperation, DecoderConfig, DecoderSessionOwned, DecoderStatus,
    Decompressor, InvalidDataKind,
};

use super::Progress;
use super::sink::Sink;

/// The largest window of the coding `zstd`, 8 MiB (RFC 9659).
const WINDOW_LOG: u8 = 23;

/// The coding `zstd`.
pub(super) struct Zstd(Box<DecoderSessionOwned>);

impl Zstd {
    pub(super) fn new() -> Self {
        let limits = DecodeLimits::DEFAULT.with_max_window_log(WINDOW_LOG).unwrap_or_default();
        Self(Box::new(Decompressor::new(DecoderConfig::from(limits)).into_session()))
    }

    pub(super) fn decode(&mut self, mut input: &[u8], sink: &mut Sink) -> Progress {
        while !sink.is_full() {
            let said = sink.fill(|window| match self.0.process(input, window, DecodeOperation::Process) {
                Ok(progress) => (progress.produced, Ok(progress)),
                Err(failure) => (failure.produced, Err(failure.into_error())),
            });
            match said {
                Ok(progress) => {
                    input = input.get(progress.consumed..).unwrap_or_default();
                    match progress.status {
                        DecoderStatus::NeedsOutput => {}
                        DecoderStatus::NeedsInput => return Progress::More,
                        DecoderStatus::Finished => return Progress::Done,
                    }
                }
                // What follows the last frame is no business of ours.
                Err(DecodeError::InvalidData { kind: InvalidDataKind::Magic })
                    if self.0.frames_decoded() > 0 =>
                {
                    return Progress::Done;
                }
                Err(_) => return Progress::Failed,
            }
        }
        Progress::Done
    }
}

impl fmt::Debug for Zstd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Zstd").finish_non_exhaustive()
    }
}
