//! Scenarios through the real layers, with the bounds that the gate alone must keep. Medians of three seeds instead of
//! five: a run takes some ten times as long as over the gate alone.

use super::figures::{Bounds, figures_of};
use super::scenario::{Load, Scenario};
use super::vendor::{Pulse, Window};
use super::{SECOND, a, at, b, c2, layers, seconds};

const SEEDS: u64 = 3;

#[test]
fn a_through_the_layers() {
    figures_of(layers::run, SEEDS, "A, layers", &a()).within(Bounds {
        served: 96.0,
        limited: 13.2,
        peak: 166.8,
    });
}

#[test]
fn b_through_the_layers() {
    let scenario = b(|| Box::new(Window::new(100, SECOND)));
    let figures = figures_of(layers::run, SEEDS, "B 3x, layers", &scenario);
    figures.within(Bounds { served: 91.0, limited: 19.2, peak: 121.2 });
}

#[test]
fn c2_through_the_layers() {
    let (scenario, bounds) = c2();
    figures_of(layers::run, SEEDS, "C2 2,500 at once, layers", &scenario).within(bounds);
}

/// A family that its first signal made has counted no attempt before it. It does not know the pace at which it was called,
/// and finds it by doubling: once, that costs a burst of 429s. To register a vendor saves it.
#[test]
fn an_automatic_family_pays_once_for_what_it_does_not_know() {
    let figures = figures_of(layers::run_automatic, SEEDS, "A, layers, automatic", &a());
    figures.within(Bounds { served: 96.0, limited: 100.0, peak: 220.0 });
}

/// A vendor of 100 per second is offered three times as much for a minute, and says 1 s, its window. What others met in
/// public was that the calls repeated meanwhile kept it from getting well: <https://aws.amazon.com/message/5467D2/>.
#[test]
fn case_30_no_metastable_state_after_an_overload() {
    let scenario = b(|| Box::new(Window::new(100, SECOND)));
    for seed in 1..=2 {
        let run = layers::run(&scenario, seed);
        let during = run.attempts.iter().filter(|at| **at < scenario.recovered).count();
        let after = scenario.recovered.after(2 * SECOND);
        let later: Vec<bool> =
            run.ended.iter().filter(|(entered, _)| *entered >= after).map(|(_, served)| *served).collect();
        let served = later.iter().filter(|served| **served).count();
        println!(
            "| case 30, seed {seed} | {during} attempts | served after two windows {served} of {} |",
            later.len()
        );
        assert!(during as f64 <= 1.2 * 100.0 * 60.0, "{during} attempts, the vendor can serve 6,000");
        assert!(later.len() > 2500, "{} calls enter after two windows", later.len());
        assert!(served as f64 >= 0.95 * later.len() as f64, "{served} of {} served", later.len());
    }
}

/// A vendor that throttles for a second and serves for the next: a strike and a recovery in two seconds are the most.
#[test]
fn case_42_a_vendor_that_flaps_is_not_flapped_along_with() {
    let scenario = Scenario {
        recovered: at(0),
        ..Scenario::new(|| Box::new(Pulse(SECOND)), Load::Poisson(vec![(20.0, seconds(300))]))
    };
    let figures = figures_of(layers::run, SEEDS, "1 s refused, 1 s served, layers", &scenario);
    assert!(figures.restless <= 62.0, "{figures:?}");
    assert!(figures.percent >= 25.0 && figures.limited <= 200.0, "{figures:?}");
}
