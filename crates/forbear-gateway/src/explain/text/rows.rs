use crate::shown::shown;

/// The width of the first column.
const LABEL: usize = 12;

/// Text in two columns: a label, and what is said of it. The one way to standard output, so that nothing foreign is
/// printed as it came.
#[derive(Default)]
pub(super) struct Rows(String);

impl Rows {
    /// One row; a label that is empty goes on with the row before.
    pub(super) fn row(&mut self, label: &str, text: &str) {
        self.0.push_str(&format!("{label:LABEL$}{}\n", shown(text)));
    }

    /// Rows of one label.
    pub(super) fn rows(&mut self, label: &str, texts: impl IntoIterator<Item = String>) {
        let mut label = label;
        for text in texts {
            self.row(std::mem::take(&mut label), &text);
        }
    }

    /// An empty line.
    pub(super) fn gap(&mut self) {
        self.0.push('\n');
    }

    pub(super) fn end(self) -> String {
        self.0
    }
}
