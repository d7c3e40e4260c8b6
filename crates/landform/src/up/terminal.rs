//! The live tree in an emulated terminal, looked at line by line.

use std::time::{Duration, Instant};

use vt100::Parser;

use super::frame::{Heading, Look, frame};
use super::screen::Canvas;
use super::sight::{Sight, Tone};
use super::state::State;
use crate::output::live::columns;

/// More than anything here scrolls away.
const SCROLLBACK: usize = 10_000;
const REASON: &str = "the process has ended with exit status: 3 before it was ready, and is started again; its log is /srv/shop/.landform/data/processes/5a1e0a8e-1b7c-4d7a/log/process.log";

/// A terminal with a live tree in it.
struct Terminal {
    parser: Parser,
    canvas: Canvas,
    look: Look,
    state: State,
}

impl Terminal {
    fn new(width: u16, height: u16) -> Self {
        let mut parser = Parser::new(height, width, SCROLLBACK);
        parser.process(b"$ landform up shop\r\n");
        let mut terminal = Self {
            parser,
            canvas: Canvas::default(),
            look: Look {
                width: 0,
                height: 0,
                colours: true,
            },
            state: State::default(),
        };
        terminal.resize(width, height);
        terminal
    }

    fn resize(&mut self, width: u16, height: u16) {
        self.parser.screen_mut().set_size(height, width);
        (self.look.width, self.look.height) = (width.into(), height.into());
    }

    fn see(&mut self, sight: Sight) {
        self.state.seen(sight, Instant::now());
    }

    fn draw(&mut self) -> Vec<String> {
        let heading = Heading {
            project: "shop",
            elapsed: Duration::from_secs(1),
        };
        let lines = frame(&self.state, &heading, Instant::now(), self.look);
        let text = self.canvas.draw(&lines, self.look);
        // As the terminal's driver does it.
        self.parser.process(text.replace('\n', "\r\n").as_bytes());
        let rows = self
            .parser
            .screen()
            .rows(0, self.look.width.try_into().unwrap());
        rows.map(|row| row.trim_end().to_owned()).collect()
    }

    /// How many lines have scrolled away.
    fn scrolled(&mut self) -> usize {
        self.parser.screen_mut().set_scrollback(SCROLLBACK);
        let scrolled = self.parser.screen().scrollback();
        self.parser.screen_mut().set_scrollback(0);
        scrolled
    }

    /// Draws several times; what is on the screen is the tree once, and nothing scrolls away but for the first time.
    fn settle(&mut self) -> Vec<String> {
        self.draw();
        let scrolled = self.scrolled();
        for _ in 0..20 {
            self.draw();
        }
        assert_eq!(
            self.scrolled(),
            scrolled,
            "the scrollback grows with each frame"
        );
        let screen = self.draw();
        let headings = screen.iter().filter(|line| line.starts_with("shop  "));
        assert_eq!(headings.count(), 1, "{screen:#?}");
        for line in &screen {
            assert!(columns(line) < self.look.width, "{line}");
        }
        let below = screen.last().unwrap();
        assert_eq!(
            below, "",
            "the line below the tree is not free: {screen:#?}"
        );
        screen
    }
}

fn sight(name: &str, namespace: &str, tone: Tone) -> Sight {
    let (phase, note) = match tone {
        Tone::Good => ("Succeeded", ""),
        Tone::Working => ("Progressing", ""),
        Tone::Waiting => (
            "PendingDependencies",
            "waits for Installation database: must have Succeeded",
        ),
        Tone::Bad => ("Failed", REASON),
    };
    Sight {
        kind: "Installation".into(),
        namespace: namespace.into(),
        name: name.into(),
        uid: format!("{namespace}/{name}"),
        owners: Vec::new(),
        phase: phase.into(),
        tone,
        note: note.into(),
        short_name: None,
    }
}

const SIZES: [(u16, u16); 4] = [(80, 24), (120, 40), (40, 10), (20, 5)];

/// How many a line of the screen counts, behind a word.
fn count_before(screen: &[String], words: &str) -> usize {
    let line = screen.iter().find(|line| line.contains(words));
    let before = line.and_then(|line| line.split(words).next());
    let number = before.and_then(|before| before.split_whitespace().last());
    number
        .and_then(|number| number.parse().ok())
        .unwrap_or_default()
}

#[test]
fn a_tall_landscape_stays_on_the_screen_and_is_counted_right() {
    for (width, height) in SIZES {
        for (good, waiting, bad) in [
            (3, 1, 0),
            (100, 0, 0),
            (100, 3, 1),
            (100, 100, 2),
            (0, 0, 60),
        ] {
            let mut terminal = Terminal::new(width, height);
            let mut add = |count: usize, word: &str, tone| {
                for at in 0..count {
                    terminal.see(sight(&format!("{word}{at:03}"), "default", tone));
                }
            };
            add(good, "good", Tone::Good);
            add(waiting, "late", Tone::Waiting);
            add(bad, "bad", Tone::Bad);
            let screen = terminal.settle();
            if width < 80 {
                continue;
            }
            let shown = |sign: &str| screen.iter().filter(|line| line.starts_with(sign)).count();
            let heading = format!("shop  {good} of {} ready", good + waiting + bad);
            assert!(
                screen.iter().any(|line| line.starts_with(&heading)),
                "{screen:#?}"
            );
            let left_out = (good - shown("✓"), waiting + bad - shown("○") - shown("✗"));
            let told = match left_out {
                (_, 0) => (count_before(&screen, " more that are ready"), 0),
                (0, _) => (0, count_before(&screen, " more that are not ready")),
                _ => (
                    count_before(&screen, " more that are ready, "),
                    count_before(&screen, " that are not"),
                ),
            };
            assert_eq!(told, left_out, "{screen:#?}");
            // What is bad is shown as long as there is room.
            assert!(bad > 20 || shown("✗") == bad, "{screen:#?}");
        }
    }
}

#[test]
fn reasons_are_shown_whole_and_names_keep_their_ends() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut terminal = Terminal::new(width, height);
        for end in ["eu-17", "eu-18"] {
            let name = format!(
                "payments-production-worker-of-the-second-generation-with-a-long-name-{end}"
            );
            terminal.see(sight(&name, "default", Tone::Working));
        }
        terminal.see(sight("broken", "default", Tone::Bad));
        let screen = terminal.settle();
        for end in ["eu-17  Progressing", "eu-18  Progressing"] {
            assert!(screen.iter().any(|line| line.contains(end)), "{screen:#?}");
        }
        let text: Vec<&str> = screen.iter().map(|line| line.trim()).collect();
        let words: String = text.join(" ").split_whitespace().collect();
        let reason: String = REASON.split_whitespace().collect();
        assert!(words.contains(&reason), "{screen:#?}");
    }
}

#[test]
fn namespaces_are_shown_when_there_are_several() {
    let mut terminal = Terminal::new(80, 24);
    terminal.see(sight("web", "team-a", Tone::Good));
    assert!(
        terminal
            .settle()
            .iter()
            .any(|line| line.contains("Installation/web"))
    );
    terminal.see(sight("web", "team-b", Tone::Good));
    let mut item = sight("run", "team-b", Tone::Good);
    item.owners = vec!["team-b/web".into()];
    terminal.see(item);
    let screen = terminal.settle();
    for line in [
        "✓ Installation/team-a/web",
        "✓ Installation/team-b/web",
        "✓   Installation/run",
    ] {
        assert!(
            screen.iter().any(|shown| shown.starts_with(line)),
            "{screen:#?}"
        );
    }
}

#[test]
fn a_terminal_may_be_resized_in_the_middle() {
    let mut terminal = Terminal::new(80, 24);
    for at in 0..60 {
        let tone = if at % 7 == 0 {
            Tone::Waiting
        } else {
            Tone::Good
        };
        terminal.see(sight(&format!("n{at:02}"), "default", tone));
    }
    terminal.see(sight("broken", "default", Tone::Bad));
    terminal.settle();
    for (width, height) in [(120, 40), (80, 24), (60, 12), (120, 12), (40, 30)] {
        terminal.resize(width, height);
        let screen = terminal.settle();
        assert!(
            screen
                .iter()
                .any(|line| line.contains("✗ Installation/broken")),
            "{screen:#?}"
        );
    }
}

#[test]
fn texts_of_others_do_nothing_to_the_lines() {
    let mut terminal = Terminal::new(80, 24);
    let mut odd = sight("odd", "default", Tone::Bad);
    odd.note = "a\tb\nc\r\u{1b}[2Jd 世界世界世界世界世界世界世界世界世界世界世界世界世界世界世界世界世界世界世界".into();
    terminal.see(odd);
    let screen = terminal.settle();
    assert!(
        screen.iter().any(|line| line.contains("a b c")),
        "{screen:#?}"
    );
}
