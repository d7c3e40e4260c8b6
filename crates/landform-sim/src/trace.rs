//! What happened, in order: for people who read a failure, and to compare two runs of one seed.

use std::fmt::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::clock::SimClock;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The simulated time since the beginning.
    pub at: Duration,
    /// Who did it: `user`, `engine`, `store`, `network`…
    pub who: Arc<str>,
    /// What.
    pub what: String,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, who, what) = (self.at.as_secs(), &self.who, &self.what);
        write!(
            f,
            "{:02}:{:02}:{:02}.{:03} {who:<9} {what}",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60,
            self.at.subsec_millis()
        )
    }
}

/// The trace of one simulation. Clones share it.
#[derive(Clone, Debug)]
pub struct Trace {
    clock: SimClock,
    lines: Arc<Mutex<Vec<Line>>>,
}

impl Trace {
    /// An empty trace that reads the time from this clock.
    #[must_use]
    pub fn new(clock: SimClock) -> Self {
        Self {
            clock,
            lines: Arc::default(),
        }
    }

    /// Adds a line.
    pub fn note(&self, who: &Arc<str>, what: String) {
        let line = Line {
            at: self.clock.elapsed(),
            who: who.clone(),
            what,
        };
        self.lines.lock().push(line);
    }

    /// How many lines there are.
    #[must_use]
    pub fn length(&self) -> usize {
        self.lines.lock().len()
    }

    /// The lines from an index on.
    #[must_use]
    pub fn since(&self, index: usize) -> Vec<Line> {
        self.lines.lock().get(index..).unwrap_or_default().to_vec()
    }

    /// All lines as text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for line in self.lines.lock().iter() {
            // Writing to a string can't fail.
            let _ = writeln!(text, "{line}");
        }
        text
    }
}
