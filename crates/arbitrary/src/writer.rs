//! Lines with indentation.

/// Text that grows line by line.
#[derive(Default)]
pub(crate) struct Writer {
    text: String,
    depth: usize,
}

impl Writer {
    pub(crate) fn line(&mut self, line: &str) {
        for _ in 0..self.depth {
            self.text.push_str("  ");
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// `head {`
    pub(crate) fn open(&mut self, head: &str) {
        self.line(&format!("{head} {{"));
        self.depth += 1;
    }

    /// `} middle {`
    pub(crate) fn middle(&mut self, middle: &str) {
        self.depth -= 1;
        self.line(&format!("}} {middle} {{"));
        self.depth += 1;
    }

    /// `}`
    pub(crate) fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }
}
