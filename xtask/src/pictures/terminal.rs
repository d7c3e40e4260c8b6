//! What a terminal shows of what a program writes: enough of it for the pictures.

/// How a character looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Heavier.
    pub bold: bool,
    /// Fainter.
    pub dim: bool,
    /// The colour, 0 to 7 as ANSI counts them.
    pub colour: Option<u8>,
}

/// A line of the screen.
pub type Row = Vec<(char, Style)>;

/// A screen that a program writes to.
#[derive(Clone, Debug, Default)]
pub struct Screen {
    rows: Vec<Row>,
    at: (usize, usize),
    style: Style,
}

/// What a text looks like in the end.
#[must_use]
pub fn show(text: &str) -> Vec<Row> {
    let mut screen = Screen::default();
    screen.write(text, &mut |_| ());
    screen.rows()
}

impl Screen {
    /// The lines that are on it.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = self.rows.clone();
        while rows.last().is_some_and(Vec::is_empty) {
            rows.pop();
        }
        rows
    }

    /// Takes in a text. Before something is drawn over, `moment` sees the screen.
    pub fn write(&mut self, text: &str, moment: &mut dyn FnMut(&Self)) {
        let mut rest = text.chars().peekable();
        while let Some(next) = rest.next() {
            match next {
                '\n' => self.at = (self.at.0 + 1, 0),
                '\r' => self.at.1 = 0,
                '\u{1b}' if rest.peek() == Some(&'[') => {
                    rest.next();
                    let mut numbers = String::new();
                    let end = loop {
                        match rest.next() {
                            Some(end) if end.is_ascii_alphabetic() => break end,
                            Some(other) => numbers.push(other),
                            None => return,
                        }
                    };
                    self.control(end, &numbers, moment);
                }
                plain if !plain.is_control() => self.put(plain),
                _ => {}
            }
        }
    }

    fn control(&mut self, end: char, numbers: &str, moment: &mut dyn FnMut(&Self)) {
        let first = numbers
            .split(';')
            .next()
            .and_then(|number| number.parse().ok());
        match end {
            'A' => {
                moment(self);
                self.at.0 = self.at.0.saturating_sub(first.unwrap_or(1));
            }
            'J' => {
                self.rows.truncate(self.at.0 + 1);
                self.erase();
            }
            'K' => self.erase(),
            'm' => {
                for number in numbers.split(';') {
                    self.set(number.parse().unwrap_or(0));
                }
            }
            _ => {}
        }
    }

    /// Nothing is left of the line from here on.
    fn erase(&mut self) {
        let column = self.at.1;
        if let Some(row) = self.rows.get_mut(self.at.0) {
            row.truncate(column);
        }
    }

    fn set(&mut self, number: u8) {
        match number {
            0 => self.style = Style::default(),
            1 => self.style.bold = true,
            2 => self.style.dim = true,
            22 => (self.style.bold, self.style.dim) = (false, false),
            30..=37 => self.style.colour = Some(number - 30),
            39 => self.style.colour = None,
            90..=97 => (self.style.colour, self.style.dim) = (Some(number - 90), number == 90),
            _ => {}
        }
    }

    fn put(&mut self, plain: char) {
        while self.rows.len() <= self.at.0 {
            self.rows.push(Row::new());
        }
        let row = &mut self.rows[self.at.0];
        while row.len() <= self.at.1 {
            row.push((' ', Style::default()));
        }
        row[self.at.1] = (plain, self.style);
        self.at.1 += 1;
    }
}

/// The characters of a row.
#[must_use]
pub fn text(row: &Row) -> String {
    row.iter().map(|(one, _)| one).collect()
}

#[cfg(test)]
mod tests {
    use super::{Screen, Style, show, text};

    #[test]
    fn what_is_drawn_again_stands_in_the_place_of_what_was_there() {
        let mut seen = Vec::new();
        let mut screen = Screen::default();
        let written = "ready\r\none\r\ntwo\r\n\u{1b}[2A\r\u{1b}[Jdone\r\n";
        screen.write(written, &mut |screen| {
            seen.push(screen.rows().iter().map(text).collect::<Vec<_>>());
        });
        assert_eq!(seen, [["ready", "one", "two"]]);
        let rows: Vec<_> = screen.rows().iter().map(text).collect();
        assert_eq!(rows, ["ready", "done"]);
    }

    #[test]
    fn colours_are_kept_with_the_characters() {
        let rows = show("\u{1b}[32m✓\u{1b}[0m web");
        let green = Style {
            colour: Some(2),
            ..Style::default()
        };
        assert_eq!(rows[0][0], ('✓', green));
        assert_eq!(rows[0][1], (' ', Style::default()));
    }
}
