//! Every chunking, cap and place to break off, against what must come out.

use std::task::Poll;

use forbear::body::Replay;
use http_body::Body;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::{Script, Step, data, poll, read, trailers};

/// Lengths of frames: mostly tiny, some above the size at which small frames are merged.
fn lengths() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![vec(0..4_usize, 0..120), vec(prop_oneof![0..8_usize, 500..600_usize], 0..12)]
}

fn script(lengths: &[usize], pending: &[bool], trailing: bool, exact: bool) -> (Script, Vec<u8>) {
    let (mut steps, mut all) = (Vec::new(), Vec::new());
    for (at, length) in lengths.iter().enumerate() {
        if pending.get(at).copied().unwrap_or_default() {
            steps.push(Step::Later);
        }
        let bytes: Vec<u8> = (0..*length).map(|n| (all.len() + n) as u8).collect();
        all.extend_from_slice(&bytes);
        steps.push(data(bytes));
    }
    if trailing {
        steps.push(Step::Trailers(trailers()));
    }
    let script = Script::new(steps);
    (if exact { script } else { script.inexact() }, all)
}

proptest! {
    #[test]
    fn every_attempt_sends_the_same_bytes_or_the_tape_says_no(
        lengths in lengths(),
        pending in vec(any::<bool>(), 0..20),
        trailing: bool,
        exact: bool,
        slack in -3..4_i64,
        huge: bool,
        polls in vec((0..160_usize, any::<bool>(), any::<bool>()), 0..5),
    ) {
        let (script, all) = script(&lengths, &pending, trailing, exact);
        let total = all.len();
        let cap = if huge { 1 << 20 } else { (total as i64 + slack).max(0) as usize };
        let (mut attempt, tape) = Replay::record(script, cap);
        // The most that any attempt has read, and whether one met the trailers.
        let (mut furthest, mut met) = (0, false);
        for (polls, early, clones) in polls {
            let mut read = 0;
            // The next attempt is a clone, made before this one is read or after, or comes from the tape.
            let mut next = if early && clones { attempt.try_clone() } else { None };
            prop_assert!(!(early && clones) || next.is_some(), "nothing was lost yet");
            for _ in 0..polls {
                if exact {
                    prop_assert_eq!(attempt.size_hint().exact(), Some((total - read) as u64));
                }
                match poll(&mut attempt) {
                    Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                        Ok(data) => {
                            prop_assert_eq!(&data[..], &all[read..read + data.len()]);
                            read += data.len();
                        }
                        Err(_) => met = true,
                    },
                    Poll::Ready(None) => prop_assert_eq!(read, total, "a premature end"),
                    Poll::Ready(Some(Err(error))) => prop_assert!(false, "{}", error),
                    Poll::Pending => {}
                }
            }
            furthest = furthest.max(read);
            // A body that announces more than the cap is never held.
            let held = if exact && total > cap { furthest == 0 && !met } else { furthest <= cap };
            prop_assert_eq!(tape.replayable(), held);
            prop_assert_eq!(attempt.replayable(), held);
            prop_assert_eq!(next.as_ref().is_none_or(Replay::replayable), next.is_none() || held);
            next = match (clones, early) {
                (true, true) if held => next,
                (true, true) => None,
                (true, false) => attempt.try_clone(),
                (false, _) => tape.rewind(),
            };
            match next {
                Some(next) => {
                    prop_assert!(held);
                    attempt = next;
                }
                None => {
                    prop_assert!(!held);
                    let rest = super::support::read(&mut attempt).unwrap();
                    prop_assert_eq!(&rest.bytes[..], &all[read..]);
                    return Ok(());
                }
            }
        }
        let last = read(&mut attempt).unwrap();
        prop_assert_eq!(last.bytes, all);
        prop_assert_eq!(last.trailers.is_some(), trailing);
        prop_assert!(attempt.is_end_stream());
    }
}
