//! The one table.

use crate::instructions::Count;
use crate::rows::{self, Row};

/// What was measured of one row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    pub(crate) instructions: Count,
    /// Ready at once, and pending once.
    pub(crate) nanoseconds: (f64, f64),
    pub(crate) two_threads: Option<f64>,
    pub(crate) allocations: usize,
}

/// Prints the table, in Markdown. Ratios are of what a call costs over its floor, pending once.
pub(crate) fn print(rows: &[Row], measured: &[Measured]) {
    let of = |name| rows.iter().zip(measured).find(|(row, _)| row.name == name);
    let cost = |row: &Row, measured: &Measured| {
        let floor = of(row.floor).map_or(measured, |(_, floor)| floor);
        let over = measured.instructions.over(floor.instructions);
        (over, measured.nanoseconds.1 - floor.nanoseconds.1)
    };
    let peers =
        [rows::TOWER, rows::RESILIENCE].map(|name| of(name).map(|(row, measured)| cost(row, measured)));
    println!(
        "| | instructions, ready / pending | over the floor | ns, ready / pending | two threads, ns each | allocations, over the floor | × tower's three, instructions / ns | × tower-resilience's three |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (row, measured) in rows.iter().zip(measured) {
        let (over, nanoseconds) = cost(row, measured);
        let floor = row.name == row.floor;
        let under = of(row.floor).filter(|_| !floor).map_or(0, |(_, floor)| floor.allocations);
        let allocations = measured.allocations - under;
        let ratio = |peer: Option<(Count, f64)>| match peer {
            Some((peer, time)) if !floor => {
                format!("{:.2} / {:.2}", over.pending as f64 / peer.pending as f64, nanoseconds / time)
            }
            _ => String::new(),
        };
        println!(
            "| {} | {} / {} | {} | {:.0} / {:.0} | {} | {} | {} | {} |",
            row.name,
            measured.instructions.ready,
            measured.instructions.pending,
            if floor { String::new() } else { format!("{} / {}", over.ready, over.pending) },
            measured.nanoseconds.0,
            measured.nanoseconds.1,
            measured
                .two_threads
                .map_or(String::new(), |two| { format!("{two:.0} ({:.2}×)", two / measured.nanoseconds.0) }),
            allocations,
            ratio(peers[0]),
            ratio(peers[1]),
        );
    }
}
