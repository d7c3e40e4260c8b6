//! The live tree of `landform up` as lines of text: pure, for a width and a height.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::sight::Tone;
use super::state::{Known, State, span};

/// How a frame is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) colours: bool,
}

/// What stands above the tree.
pub(crate) struct Heading<'a> {
    pub(crate) project: &'a str,
    pub(crate) elapsed: Duration,
}

/// The tree, at most as high as there is room; what is well is left out first.
pub(crate) fn frame(state: &State, heading: &Heading<'_>, now: Instant, look: Look) -> Vec<String> {
    let forest = Forest::of(state);
    let mut rows = Vec::new();
    for root in &forest.roots {
        forest.rows(root, 0, &mut rows);
    }
    let total = rows.len();
    let well = rows
        .iter()
        .filter(|row| row.known.sight.tone == Tone::Good)
        .count();
    let mut lines = vec![paint(
        look,
        Ink::Bold,
        &format!(
            "{}  {well} of {total} ready  {}",
            heading.project,
            span(heading.elapsed)
        ),
    )];
    let room = look.height.saturating_sub(2).max(1);
    let left_out = shorten(&mut rows, room);
    let titles = rows.iter().map(|row| row.title().chars().count());
    let title_width = titles.max().unwrap_or(0).min(look.width / 2);
    for row in &rows {
        lines.push(row.line(now, title_width, look));
    }
    if left_out > 0 {
        let text = format!("  … and {left_out} more that are ready");
        lines.push(paint(look, Ink::Dim, &text));
    }
    lines
}

/// A line of the tree.
struct Row<'a> {
    depth: usize,
    known: &'a Known,
}

impl Row<'_> {
    fn title(&self) -> String {
        let sight = &self.known.sight;
        let indent = "  ".repeat(self.depth);
        let name = sight.short_name.as_deref().unwrap_or(&sight.name);
        format!("{indent}{}/{name}", sight.kind)
    }

    fn line(&self, now: Instant, title_width: usize, look: Look) -> String {
        let sight = &self.known.sight;
        let (sign, ink) = match sight.tone {
            Tone::Good => ("✓", Ink::Green),
            Tone::Working => ("◐", Ink::Yellow),
            Tone::Waiting => ("○", Ink::Dim),
            Tone::Bad => ("✗", Ink::Red),
        };
        let title = cut(&self.title(), title_width);
        let padding = " ".repeat(title_width.saturating_sub(title.chars().count()));
        let mut rest = String::new();
        if sight.tone != Tone::Good {
            let time = now.saturating_duration_since(self.known.since);
            rest = format!("  {}", span(time));
            if !sight.note.is_empty() {
                rest.push_str("  ");
                rest.push_str(&sight.note.replace('\n', " "));
            }
        }
        let used = 2 + title_width + 2 + sight.phase.chars().count();
        let rest = cut(&rest, look.width.saturating_sub(used + 1));
        format!(
            "{} {title}{padding}  {}{rest}",
            paint(look, ink, sign),
            paint(look, ink, &sight.phase)
        )
    }
}

/// Objects by owner. Executions are steps on the way from an installation to its items, and left out.
struct Forest<'a> {
    roots: Vec<&'a Known>,
    children: BTreeMap<&'a str, Vec<&'a Known>>,
}

impl<'a> Forest<'a> {
    fn of(state: &'a State) -> Self {
        let mut roots = Vec::new();
        let mut children: BTreeMap<&str, Vec<&Known>> = BTreeMap::new();
        for known in state.objects() {
            let mut owners = known.sight.owners.iter();
            match owners.find(|owner| state.contains(owner)) {
                Some(owner) => children.entry(owner).or_default().push(known),
                None => roots.push(known),
            }
        }
        roots.sort_by_key(|known| order(known));
        for list in children.values_mut() {
            list.sort_by_key(|known| order(known));
        }
        Self { roots, children }
    }

    fn rows(&self, known: &'a Known, depth: usize, rows: &mut Vec<Row<'a>>) {
        let is_step = known.sight.kind == "Execution";
        // A project that is well is what the whole tree shows.
        let is_frame = known.sight.kind == "Project" && known.sight.tone == Tone::Good;
        if !is_step && !is_frame {
            rows.push(Row { depth, known });
        }
        let deeper = if is_step || is_frame {
            depth
        } else {
            depth + 1
        };
        let children = self.children.get(known.sight.uid.as_str());
        for child in children.into_iter().flatten() {
            self.rows(child, deeper, rows);
        }
    }
}

fn order(known: &Known) -> (u8, String) {
    let rank = match known.sight.kind.as_str() {
        "Project" => 0,
        "Catalog" => 1,
        "Reconciler" => 2,
        _ => 3,
    };
    let sight = &known.sight;
    let name = sight.short_name.as_deref().unwrap_or(&sight.name);
    (rank, format!("{name}/{}", sight.kind))
}

/// Leaves out what is well, the deepest first, until the rest has room; says how many.
fn shorten(rows: &mut Vec<Row<'_>>, room: usize) -> usize {
    let before = rows.len();
    while rows.len() > room {
        let well = rows
            .iter()
            .enumerate()
            .filter(|(_, row)| row.known.sight.tone == Tone::Good)
            .max_by_key(|(at, row)| (row.depth, *at));
        match well {
            Some((at, _)) => {
                rows.remove(at);
            }
            None => rows.truncate(room),
        }
    }
    before - rows.len()
}

#[derive(Clone, Copy)]
pub(crate) enum Ink {
    Bold,
    Dim,
    Green,
    Yellow,
    Red,
}

pub(crate) fn paint(look: Look, ink: Ink, text: &str) -> String {
    if !look.colours {
        return text.to_owned();
    }
    let code = match ink {
        Ink::Bold => 1,
        Ink::Dim => 2,
        Ink::Green => 32,
        Ink::Yellow => 33,
        Ink::Red => 31,
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

/// At most so many characters, with a sign where some were left out.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::up::sight::Sight;

    fn sight(kind: &str, name: &str, owner: Option<&str>, tone: Tone) -> Sight {
        Sight {
            kind: kind.into(),
            namespace: String::new(),
            name: name.into(),
            uid: name.into(),
            owners: owner.map(str::to_owned).into_iter().collect(),
            phase: match tone {
                Tone::Good => "Succeeded",
                Tone::Working => "Progressing",
                Tone::Waiting => "PendingDependencies",
                Tone::Bad => "Failed",
            }
            .into(),
            tone,
            note: match tone {
                Tone::Good => "",
                Tone::Bad => "no such file",
                Tone::Working | Tone::Waiting => "waits for DataObject x: must exist",
            }
            .into(),
            short_name: None,
        }
    }

    fn draw(sights: Vec<Sight>, height: usize) -> Vec<String> {
        let now = Instant::now();
        let mut state = State::default();
        for sight in sights {
            state.seen(sight, now);
        }
        let heading = Heading {
            project: "shop",
            elapsed: Duration::from_millis(4200),
        };
        let look = Look {
            width: 80,
            height,
            colours: false,
        };
        frame(&state, &heading, now, look)
    }

    #[test]
    fn objects_stand_below_their_owners_without_steps_in_between() {
        let lines = draw(
            vec![
                sight("Installation", "web", None, Tone::Waiting),
                sight("Installation", "db", None, Tone::Working),
                sight("Execution", "db-execution", Some("db"), Tone::Working),
                sight("DeployItem", "run", Some("db-execution"), Tone::Good),
            ],
            20,
        );
        assert_eq!(
            lines,
            [
                "shop  1 of 3 ready  4.2s",
                "◐ Installation/db   Progressing  0.0s  waits for DataObject x: must exist",
                "✓   DeployItem/run  Succeeded",
                "○ Installation/web  PendingDependencies  0.0s  waits for DataObject x: must ex…",
            ]
        );
    }

    #[test]
    fn what_is_well_is_left_out_when_there_is_no_room() {
        let mut sights: Vec<_> = (0..50)
            .map(|at| sight("Installation", &format!("n{at:02}"), None, Tone::Good))
            .collect();
        sights.push(sight("Installation", "broken", None, Tone::Bad));
        let lines = draw(sights, 10);
        assert_eq!(lines.len(), 10);
        assert!(
            lines
                .iter()
                .any(|line| line.contains("✗ Installation/broken  Failed  0.0s  no such file")),
            "{lines:#?}"
        );
        assert_eq!(lines[9], "  … and 43 more that are ready");
        assert!(lines.iter().all(|line| line.chars().count() <= 80));
    }
}
