//! The retry quota in its place: a further attempt that is not sent costs no token.

use forbear_core::pacing::{Entered, Pacing, PacingCause, RetryQuota};

use crate::support::{ENTRY, at, cause, goes, millis_of, pacer, queues};

fn left(pacer: &forbear_core::pacing::Pacer) -> Option<u64> {
    pacer.view(at(0)).retries_left
}

#[test]
fn first_attempts_need_no_token_and_further_ones_do() {
    let pacer = pacer(&Pacing::new().retry_quota(RetryQuota::new(1)));
    for millis in 0..10 {
        drop(goes(&pacer, &ENTRY, at(millis)));
    }
    drop(goes(&pacer, &ENTRY.further(), at(10)));
    assert_eq!(cause(&pacer, &ENTRY.further(), at(11)), PacingCause::RetryQuota);
    assert_eq!((left(&pacer), pacer.totals().refusals(PacingCause::RetryQuota)), (Some(0), 1));
}

#[test]
fn what_is_not_sent_has_its_token_back() {
    let pacing = Pacing::new().gap(millis_of(1000)).queue(1).retry_quota(RetryQuota::new(2));
    let pacer = pacer(&pacing);
    goes(&pacer, &ENTRY.further(), at(0)).give_back(at(0));
    assert_eq!(left(&pacer), Some(2), "refused elsewhere");
    drop(goes(&pacer, &ENTRY, at(0)));
    assert_eq!(cause(&pacer, &ENTRY.further().no_queue(), at(1)), PacingCause::NoQueue);
    assert_eq!(left(&pacer), Some(2), "refused here");
    let spot = queues(&pacer, &ENTRY.further(), at(1));
    assert_eq!(left(&pacer), Some(1));
    drop(spot);
    assert_eq!(left(&pacer), Some(2), "left the queue");
    let mut late = crate::support::Waiting::new(&pacer, &ENTRY.further().deadline(at(1001)), at(1));
    assert_eq!(late.refused(at(2000)).cause, PacingCause::TooLate);
    assert_eq!(left(&pacer), Some(2), "refused in the queue");
    drop(late);
    let mut held = goes(&pacer, &ENTRY.further(), at(3000));
    held.hold(at(3000));
    drop(held);
    assert_eq!(left(&pacer), Some(2), "cancelled while it was held back");
    drop(goes(&pacer, &ENTRY.further(), at(3000)));
    assert_eq!(left(&pacer), Some(1));
}

#[test]
fn a_reserve_that_was_used_is_not_given_again_with_new_settings() {
    let family = forbear_core::gate::Gate::new("vendor", std::sync::Arc::default());
    let pacing = |reserve| Pacing::new().retry_quota(RetryQuota::new(reserve).permille(500).at_most(3));
    family.pace(Some(&pacing(2)));
    let pacer = family.pacer().unwrap();
    drop(goes(pacer, &ENTRY.further(), at(0)));
    family.pace(Some(&pacing(3)));
    assert_eq!(left(pacer), Some(1));
    (0..100).for_each(|_| pacer.good());
    assert_eq!(left(pacer), Some(3), "no more than is kept");
    assert!(matches!(pacer.enter(&ENTRY.further(), at(1)), Entered::Go(_)));
}
