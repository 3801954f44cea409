use std::borrow::Cow;
use std::fmt;

use http::header::HeaderMap;

use super::codec::Codec;
use super::names::codings;
use super::sink::Sink;
use crate::dialect::Dialect;

/// Whether more of a body would tell more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// More bytes of the body may give more decoded ones.
    More,
    /// Nothing that follows is looked at: a limit is reached, or the coding is at its end.
    Done,
    /// The body is not what its head says, so it says nothing.
    Failed,
}

/// Decodes the start of a body, within bounds.
///
/// Memory: [the table](super); all of it is freed when it is dropped.
pub struct Decoder {
    /// In the order in which they are undone.
    stages: Vec<Stage>,
    out: Sink,
    /// Coded bytes that are still looked at.
    left: usize,
    progress: Progress,
}

/// One coding of several.
struct Stage {
    codec: Codec,
    /// What goes into the next stage; the last one decodes into the decoder's own.
    between: Sink,
    progress: Progress,
}

impl Decoder {
    /// The most codings that are undone.
    pub const MAX_CODINGS: usize = 3;

    /// The most bytes of a coded body that are looked at: 17 KiB. [`Dialect::MAX_BODY`] bytes that cannot be
    /// compressed are less than 1 KiB longer in [`Decoder::MAX_CODINGS`] codings.
    pub const MAX_CODED: usize = Dialect::MAX_BODY + 1024;

    /// A decoder for the body of a message with these `headers`, which gives at most [`Dialect::MAX_BODY`] bytes.
    ///
    /// `None` where `Content-Encoding` names a coding that is not known here, or more than
    /// [`Decoder::MAX_CODINGS`]: such a body cannot be looked at.
    #[must_use]
    pub fn for_headers(headers: &HeaderMap) -> Option<Self> {
        let codings = codings(headers)?;
        if codings.is_empty() {
            return Some(Self::identity(Dialect::MAX_BODY));
        }
        let stage = |codec| Stage { codec, between: Sink::new(Self::MAX_CODED), progress: Progress::More };
        let stages = codings.into_iter().map(stage).collect();
        Some(Self { stages, ..Self::new(Dialect::MAX_BODY, Self::MAX_CODED) })
    }

    /// A decoder for a body that is not coded, which gives its first `limit` bytes.
    #[must_use]
    pub const fn identity(limit: usize) -> Self {
        Self::new(limit, limit)
    }

    const fn new(limit: usize, left: usize) -> Self {
        let progress = if left == 0 { Progress::Done } else { Progress::More };
        Self { stages: Vec::new(), out: Sink::new(limit), left, progress }
    }

    /// Looks at the next bytes of the body. After anything but [`Progress::More`] it changes nothing any more.
    pub fn push(&mut self, data: &[u8]) -> Progress {
        if self.progress == Progress::More {
            let data = data.get(..self.left).unwrap_or(data);
            self.left = self.left.saturating_sub(data.len());
            self.decode(data);
            self.progress = self.settled();
        }
        self.progress
    }

    /// What was decoded so far; nothing where it failed.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        if self.progress == Progress::Failed { &[] } else { self.out.bytes() }
    }

    /// [`Decoder::bytes`], without a copy.
    #[must_use]
    pub fn into_bytes(mut self) -> Vec<u8> {
        if self.progress == Progress::Failed { Vec::new() } else { self.out.take() }
    }

    /// How many more bytes of the body are looked at, at most.
    #[must_use]
    pub const fn left(&self) -> usize {
        match self.progress {
            Progress::More => self.left,
            Progress::Done | Progress::Failed => 0,
        }
    }

    fn decode(&mut self, data: &[u8]) {
        let Some((last, between)) = self.stages.split_last_mut() else {
            self.out.extend(data);
            return;
        };
        let mut input = Cow::Borrowed(data);
        for stage in between {
            stage.progress = advance(stage.progress, &mut stage.codec, &input, &mut stage.between);
            input = Cow::Owned(stage.between.take());
        }
        last.progress = advance(last.progress, &mut last.codec, &input, &mut self.out);
    }

    /// What came out last decides: an earlier stage may have run ahead of it, by as much as a piece was long.
    fn settled(&self) -> Progress {
        let ended = self.stages.iter().rev().map(|stage| stage.progress).find(|said| *said != Progress::More);
        ended.unwrap_or(if self.left == 0 { Progress::Done } else { Progress::More })
    }
}

fn advance(progress: Progress, codec: &mut Codec, input: &[u8], sink: &mut Sink) -> Progress {
    match progress {
        Progress::More => match codec.decode(input, sink) {
            // Whether what follows could be decoded is no question any more.
            _ if sink.is_full() => Progress::Done,
            said => said,
        },
        ended => ended,
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder")
            .field("codings", &self.stages.len())
            .field("decoded", &self.out.bytes().len())
            .field("progress", &self.progress)
            .finish_non_exhaustive()
    }
}
