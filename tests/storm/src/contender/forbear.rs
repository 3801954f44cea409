//! `forbear::stack`, with its defaults and the call's deadline as its budget.

use std::rc::Rc;

use super::{Client, World};

pub(super) fn client(world: &World) -> Client {
    let vendor = forbear::stack(&world.families).budget(world.deadline).service(world.wire.clone());
    Rc::new(move |_, request| {
        let vendor = vendor.clone();
        Box::pin(async move { vendor.send(request).await.is_ok_and(|answer| answer.status().is_success()) })
    })
}
