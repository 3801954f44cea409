//! The memory store against the reference, in histories that shrink.

use std::sync::Arc;

use forbear_core::store::{MemoryWorkStore, WorkStore};
use futures_util::FutureExt;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::Config;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};

use super::history::{History, Step};

struct Machine;

impl ReferenceStateMachine for Machine {
    type State = History;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<History> {
        Just(History::new()).boxed()
    }

    fn transitions(_: &History) -> BoxedStrategy<Step> {
        let (of, some) = (|| 0_u8..2, || vec(0_u8..5, 1..4));
        prop_oneof![
            5 => (0_u64..40).prop_map(Step::Advance),
            1 => (0_u64..100).prop_map(Step::SetBack),
            5 => (of(), some(), 0_u8..3).prop_map(|(source, keys, reason)| Step::Demand { source, keys, reason }),
            2 => (of(), some(), 0_u8..3).prop_map(|(source, keys, reason)| Step::Undemand { source, keys, reason }),
            2 => (of(), some()).prop_map(|(source, keys)| Step::Invalidate { source, keys }),
            1 => (of(), some()).prop_map(|(source, keys)| Step::Retry { source, keys }),
            5 => (of(), 0_usize..4, 1_u64..60, 1_u32..4).prop_map(
                |(source, limit, lease, max_attempts)| Step::Claim { source, limit, lease, max_attempts }
            ),
            1 => (0_usize..12, 0_u64..80).prop_map(|(claim, by)| Step::Extend { claim, by }),
            5 => (vec(0_usize..12, 1..4), 0_u8..21, 0_u64..60).prop_map(
                |(claims, how, next)| Step::Finish { claims, how, next }
            ),
            1 => (of(), 0_u64..60, 0_u64..60).prop_map(|(source, due, lease)| Step::Mend { source, due, lease }),
        ]
        .boxed()
    }

    fn apply(mut history: History, step: &Step) -> History {
        history.step(step);
        history
    }
}

impl StateMachineTest for Machine {
    type SystemUnderTest = Arc<dyn WorkStore>;
    type Reference = Self;

    fn init_test(_: &History) -> Arc<dyn WorkStore> {
        Arc::new(MemoryWorkStore::new())
    }

    fn apply(store: Arc<dyn WorkStore>, history: &History, _: Step) -> Arc<dyn WorkStore> {
        let answer = history.call.of(&*store, history.now).now_or_never().expect("memory answers at once");
        assert_eq!(answer, history.answer, "{:?}", history.call);
        history.compare(&*store).now_or_never().expect("memory answers at once");
        store
    }
}

prop_state_machine! {
    #![proptest_config(Config { cases: 1_000, max_shrink_iters: 10_000, failure_persistence: None, ..Config::default() })]

    // 1,000 histories of 100 steps and more.
    #[test]
    fn the_memory_store_does_as_the_reference(sequential 100..121 => Machine);
}
