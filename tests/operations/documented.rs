//! The tables of `docs/operations.md`.

/// The page.
pub(crate) const PAGE: &str = include_str!("../../docs/operations.md");

/// The cells of each row of the table whose first heading is `first`, without code marks.
pub(crate) fn table(first: &str) -> Vec<Vec<String>> {
    table_of(PAGE, first)
}

/// The same of another page.
pub(crate) fn table_of(page: &str, first: &str) -> Vec<Vec<String>> {
    let head = format!("| {first} |");
    let after = page.lines().skip_while(|line| !line.starts_with(&head)).skip(2);
    let rows: Vec<Vec<String>> = after.take_while(|line| line.starts_with('|')).map(cells).collect();
    assert!(!rows.is_empty(), "the page has a table that begins with {head:?}");
    rows
}

/// What is listed in a cell, in order.
pub(crate) fn listed(cell: &str) -> Vec<&str> {
    let mut list: Vec<_> = cell.split(',').map(str::trim).filter(|item| !item.is_empty()).collect();
    list.sort_unstable();
    list
}

fn cells(row: &str) -> Vec<String> {
    row.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', "")).collect()
}
