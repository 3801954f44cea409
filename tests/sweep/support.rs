//! A vendor that refuses a numbered attempt, and what is asked of it.

use std::sync::Mutex;

use forbear::Sweep;
use forbear_mock::{MockVendor, Reply, Script, reply, respond_with};
use forbear_tests::client::{Body, WireVendor, client, get};
use http::Request;

/// 200 to all attempts but the `refused`-th, counted from one, which gets `reply`.
pub(crate) fn refuses(refused: usize, limited: Reply) -> Script {
    let count = Mutex::new(0);
    respond_with(move |_| {
        let mut count = count.lock().unwrap();
        *count += 1;
        if *count == refused { limited.clone() } else { reply(200) }
    })
}

/// A sweep over the whole stack, without a budget in it.
pub(crate) fn sweep(families: &forbear::Families) -> Sweep<WireVendor> {
    Sweep::new(forbear::stack(families).service(client()))
}

/// The URLs `/1` to `/count`.
pub(crate) fn urls(mock: &MockVendor, count: u32) -> impl Iterator<Item = String> + use<> {
    let origin = mock.uri();
    (1..=count).map(move |number| format!("{origin}/{number}"))
}

pub(crate) fn request(url: &String) -> Request<Body> {
    get(url)
}
