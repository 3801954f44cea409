//! Every figure of the storms that the guide quotes is the one of the table.

const TABLE: &str = include_str!("../../docs/performance.md");
const QUOTES: &str = include_str!("../../docs/coming-from.md");

/// The cells of a row, without what makes them bold.
fn cells(line: &str) -> Vec<&str> {
    line.split('|').map(|cell| cell.trim().trim_matches('*')).collect()
}

/// What the table has for this storm and this contender.
fn figure<'a>(storm: &str, contender: &str) -> Option<&'a str> {
    let mut rows = TABLE.lines().map(cells).skip_while(|cells| cells.get(2) != Some(&"scenario"));
    let column = rows.next()?.iter().position(|title| *title == contender)?;
    rows.find(|cells| cells.get(1) == Some(&storm))?.get(column).copied()
}

#[test]
fn a_figure_that_the_guide_quotes_is_the_tables() {
    let (mut contenders, mut quoted) = (Vec::new(), 0);
    for cells in QUOTES.lines().map(cells) {
        match cells.get(1) {
            Some(&"storm") => contenders = cells,
            Some(first) if !contenders.is_empty() && first.contains(": ") => {
                let storm = first.split(':').next().unwrap_or_default();
                for (contender, figures) in
                    contenders.iter().zip(&cells).skip(2).filter(|(name, _)| !name.is_empty())
                {
                    assert_eq!(figure(storm, contender), Some(*figures), "{storm}, {contender}");
                    quoted += 1;
                }
            }
            Some(_) => {}
            None => contenders.clear(),
        }
    }
    assert!(quoted >= 10, "{quoted} figures were found");
}
