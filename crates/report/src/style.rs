//! A *style*: whether text is coloured. The caller decides once, from the
//! terminal and `NO_COLOR`; everything else asks the style.

/// What a piece of text is, which decides its colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ink {
    /// Headings and names.
    Strong,
    /// Details that may be overlooked.
    Faint,
    /// Good news.
    Good,
    /// Bad news.
    Bad,
    /// Neither.
    Doubt,
}

impl Ink {
    const fn code(self) -> &'static str {
        match self {
            Self::Strong => "\x1b[1m",
            Self::Faint => "\x1b[2m",
            Self::Good => "\x1b[1;32m",
            Self::Bad => "\x1b[1;31m",
            Self::Doubt => "\x1b[1;33m",
        }
    }
}

/// Colours on or off.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Style {
    coloured: bool,
}

impl Style {
    /// No colours.
    pub const PLAIN: Self = Self { coloured: false };
    /// Colours by ANSI escapes.
    pub const COLOURED: Self = Self { coloured: true };

    /// `text` in the colour of `ink`, or as it is.
    pub fn paint(self, ink: Ink, text: &str) -> String {
        if self.coloured && !text.is_empty() {
            format!("{}{text}\x1b[0m", ink.code())
        } else {
            text.to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_left_alone() {
        assert_eq!(Style::PLAIN.paint(Ink::Bad, "x"), "x");
        assert_eq!(Style::COLOURED.paint(Ink::Bad, "x"), "\x1b[1;31mx\x1b[0m");
        assert_eq!(Style::COLOURED.paint(Ink::Bad, ""), "");
    }
}
