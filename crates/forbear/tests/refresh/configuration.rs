use std::time::Duration;

use forbear::refresh::RefreshBuilder;
use forbear::{Refresh, Source, Vendor};
use forbear_mock::{MockService, MockVendor};

use crate::support::*;

fn builder() -> RefreshBuilder<Vendor<MockService>> {
    let families = families(&["quotes"]);
    Refresh::builder(vendor(&families, &MockVendor::in_process()), TestStore::new())
}

fn problem(source: Source) -> String {
    builder().source(shelved(source, &Shelf::new())).build().unwrap_err().to_string()
}

#[test]
fn what_cannot_work_is_said() {
    assert_eq!(
        problem(Source::new("quotes")),
        "source \"quotes\": has no family; name the family whose limit it counts against"
    );
    assert_eq!(
        problem(Source::new("quotes").family("quotse")),
        "source \"quotes\": family \"quotse\" is not registered; register it, or correct the name"
    );
    for (source, part) in [
        (quotes().every(Duration::ZERO), "every is shorter"),
        (quotes().every(Duration::MAX), "ten years"),
        (quotes().gap(2 * HOUR), "gap is longer than every"),
        (quotes().drain(0), "drain is 0"),
        (quotes().priority(0), "priority is 0"),
        (quotes().jitter(f64::NAN), "jitter is not between"),
        (quotes().jitter(1.1), "jitter is not between"),
        (quotes().timeout(Duration::ZERO), "timeout is 0"),
        (quotes().max_attempts(0), "max_attempts is 0"),
        (quotes().backoff(MINUTE, SECOND), "backoff does not rise"),
        (quotes().stall(Duration::ZERO), "stall is 0"),
        (Source::new("").family("quotes"), "source \"\" is not allowed"),
    ] {
        let said = problem(source);
        assert!(said.contains(part), "{said}");
    }
    let one = || shelved(quotes(), &Shelf::new());
    let said = |builder: RefreshBuilder<_>| builder.build().unwrap_err().to_string();
    assert_eq!(said(builder()), "there is no source; add one");
    assert!(said(builder().source(one()).source(one())).contains("is there twice"));
    assert!(said(builder().source(one()).in_flight(0)).contains("in_flight is 0"));
    assert!(said(builder().source(one()).in_flight(usize::MAX)).contains("more than 65536"));
    assert!(said(builder().source(one()).tick(Duration::ZERO)).contains("tick is shorter"));
    assert!(said(builder().source(one()).lease(Duration::ZERO)).contains("lease is shorter"));
    assert!(said(builder().source(one()).look_every(Duration::ZERO)).contains("look_every is shorter"));
    assert!(said(builder().source(one()).weight("quotse", 2)).contains("is of no source"));
    assert!(said(builder().source(one()).weight("quotes", 0)).contains("is 0"));
}
