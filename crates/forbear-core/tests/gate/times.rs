//! How long answers take while the gate is open, and who is too late by that.

use forbear_core::gate::{Ask, RefusalCause, answered_open};

use crate::support::{at, gate, go_as, ms, recovering, refused_as, secs, waited};

#[test]
fn the_first_answers_and_every_sixteenth_are_timed() {
    let gate = gate();
    let mut timed = Vec::new();
    for number in 0..64 {
        let ticket = gate.admit_open(at(0.0)).expect("it is open");
        assert!(answered_open(&ticket, true, || {
            timed.push(number);
            secs(1)
        }));
    }
    assert_eq!(timed, (0..16).chain([16, 32, 48]).collect::<Vec<_>>());
}

#[test]
fn what_is_no_good_answer_is_not_timed() {
    let gate = gate();
    let ticket = gate.admit_open(at(0.0)).expect("it is open");
    assert!(answered_open(&ticket, false, || panic!("timed")));
}

/// A caller that waited and has a second left is sent where answers are quick, and not where they took two.
#[test]
fn times_from_before_the_cooldown_count_in_the_recovery() {
    for (took, too_late) in [(None, false), (Some(secs(2)), true)] {
        let gate = gate();
        if let Some(took) = took {
            for _ in 0..16 {
                let ticket = gate.admit_open(at(0.0)).expect("it is open");
                assert!(answered_open(&ticket, true, || took));
            }
        }
        let now = recovering(&gate, secs(1), at(10.0)).after(secs(5));
        let ask = waited(Ask::new(now).deadline(now.after(secs(1))));
        if too_late {
            assert_eq!(refused_as(&gate, &ask, now).cause, RefusalCause::TooLate);
        } else {
            let _ = go_as(&gate, &ask, now);
        }
    }
}

#[test]
fn the_average_moves_by_an_eighth_and_its_deviation_by_a_quarter_up_and_down() {
    for (took, mean, deviation) in
        [(&[200][..], 200, 0), (&[200, 600], 250, 100), (&[200, 600, 50], 225, 125), (&[600, 200], 550, 100)]
    {
        let gate = gate();
        for took in took {
            let ticket = gate.admit_open(at(0.0)).expect("it is open");
            assert!(answered_open(&ticket, true, || ms(*took)));
        }
        for (told, expected) in [(gate.answers_in(), mean), (gate.needed(), mean + 4 * deviation)] {
            assert!(told.abs_diff(ms(expected)) < ms(1), "{told:?} after {took:?}, not {expected} ms");
        }
    }
}
