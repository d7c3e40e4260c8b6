//! The live tree of `landform up` as lines of text: pure, for a width and a height.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::sight::Tone;
use super::state::{Known, State, span};
use crate::output::harmless::one_line;
use crate::output::live::{beginning, columns, cut, cut_in_the_middle, wrapped};

/// What is told of something bad takes at most so many lines.
const LINES_OF_TROUBLE: usize = 6;

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

/// The tree, with less than the height, so that the line below it has room too. What is well is left out first.
pub(crate) fn frame(state: &State, heading: &Heading<'_>, now: Instant, look: Look) -> Vec<String> {
    let forest = Forest::of(state);
    let mut rows = Vec::new();
    for root in &forest.roots {
        forest.rows(root, 0, None, &mut rows);
    }
    let total = rows.len();
    let well = rows.iter().filter(|row| row.is_well()).count();
    let heading = format!(
        "{}  {well} of {total} ready  {}",
        heading.project,
        span(heading.elapsed)
    );
    // The last column stays free: some terminals begin another line when something stands there.
    let width = look.width.saturating_sub(1).max(1);
    let mut lines = vec![paint(look, Ink::Bold, &cut(&heading, width))];
    let room = look.height.saturating_sub(2).max(1);
    let titles = rows.iter().map(|row| columns(&row.title()));
    let title_width = titles.max().unwrap_or(0).min(width / 2);
    let place = Place {
        now,
        title_width,
        width,
        look,
    };
    let left_out = shorten(&mut rows, room, place);
    for row in &rows {
        lines.extend(row.lines(place));
    }
    if let Some(text) = left_out.sentence() {
        lines.push(paint(look, Ink::Dim, &cut(&format!("  {text}"), width)));
    }
    lines
}

/// Where rows are drawn.
#[derive(Clone, Copy)]
struct Place {
    now: Instant,
    title_width: usize,
    width: usize,
    look: Look,
}

/// An object in the tree.
struct Row<'a> {
    depth: usize,
    known: &'a Known,
    /// Whether its namespace isn't clear by itself.
    with_namespace: bool,
    /// What is told of it takes at most so many lines below the first; none when it is cut to fit into that.
    lines_below: usize,
}

impl<'a> Row<'a> {
    fn new(depth: usize, known: &'a Known, with_namespace: bool) -> Self {
        Self {
            depth,
            known,
            with_namespace,
            lines_below: match known.sight.tone {
                Tone::Bad => LINES_OF_TROUBLE,
                Tone::Working | Tone::Waiting => 2,
                Tone::Good => 0,
            },
        }
    }

    fn is_well(&self) -> bool {
        self.known.sight.tone == Tone::Good
    }

    fn title(&self) -> String {
        let sight = &self.known.sight;
        let indent = "  ".repeat(self.depth);
        let name = sight.short_name.as_deref().unwrap_or(&sight.name);
        let namespace = match sight.namespace.as_str() {
            namespace if self.with_namespace && !namespace.is_empty() => format!("{namespace}/"),
            _ => String::new(),
        };
        clean(&format!("{indent}{}/{namespace}{name}", sight.kind))
    }

    /// What is told of it: one line, or the first and what is below.
    fn lines(&self, place: Place) -> Vec<String> {
        let Place {
            now,
            title_width,
            width,
            look,
        } = place;
        let sight = &self.known.sight;
        let (sign, ink) = match sight.tone {
            Tone::Good => ("✓", Ink::Green),
            Tone::Working => ("◐", Ink::Yellow),
            Tone::Waiting => ("○", Ink::Dim),
            Tone::Bad => ("✗", Ink::Red),
        };
        let title = cut_in_the_middle(&self.title(), title_width);
        let padding = " ".repeat(title_width.saturating_sub(columns(&title)));
        let used = 2 + title_width + 2;
        let phase = cut(&clean(&sight.phase), width.saturating_sub(used));
        let room = width.saturating_sub(used + columns(&phase));
        let (mut rest, mut note) = (String::new(), String::new());
        if sight.tone != Tone::Good {
            let time = now.saturating_duration_since(self.known.since);
            rest = format!("  {}", span(time));
            note = clean(&sight.note);
        }
        let whole = format!("{rest}  {note}");
        let fits = columns(whole.trim_end()) <= room;
        let below = if fits || self.lines_below == 0 {
            rest = cut(whole.trim_end(), room);
            Vec::new()
        } else {
            rest = cut(&rest, room);
            let indent = (2 * self.depth + 4).min(width / 4);
            below(&note, indent, width, self.lines_below)
        };
        let (sign, phase) = (paint(look, ink, sign), paint(look, ink, &phase));
        let first = format!("{sign} {title}{padding}  {phase}{rest}");
        std::iter::once(first).chain(below).collect()
    }
}

/// A text in at most so many lines, which are indented.
fn below(text: &str, indent: usize, width: usize, most: usize) -> Vec<String> {
    let room = width.saturating_sub(indent).max(1);
    let mut lines = wrapped(text, room);
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            *last = format!("{}…", beginning(last, room.saturating_sub(1)));
        }
    }
    let indent = " ".repeat(indent);
    let lines = lines.into_iter();
    lines.map(|line| format!("{indent}{line}")).collect()
}

/// A text of others as part of a line.
fn clean(text: &str) -> String {
    one_line(&text.replace(['\n', '\t'], " ")).into_owned()
}

/// Objects by owner. Executions are steps on the way from an installation to its items, and left out.
struct Forest<'a> {
    roots: Vec<&'a Known>,
    children: BTreeMap<&'a str, Vec<&'a Known>>,
    /// Whether there are several namespaces.
    several: bool,
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
        Self {
            roots,
            children,
            several: state.has_several_namespaces(),
        }
    }

    /// The object with all below it; `around` is the namespace that is clear there.
    fn rows(&self, known: &'a Known, depth: usize, around: Option<&str>, rows: &mut Vec<Row<'a>>) {
        let namespace = known.sight.namespace.as_str();
        let with_namespace = self.several && around != Some(namespace);
        let is_step = known.sight.kind == "Execution";
        // A project that is well is what the whole tree shows.
        let is_frame = known.sight.kind == "Project" && known.sight.tone == Tone::Good;
        if !is_step && !is_frame {
            rows.push(Row::new(depth, known, with_namespace));
        }
        let around = if is_step || is_frame {
            around
        } else {
            Some(namespace)
        };
        let deeper = if is_step || is_frame {
            depth
        } else {
            depth + 1
        };
        let children = self.children.get(known.sight.uid.as_str());
        for child in children.into_iter().flatten() {
            self.rows(child, deeper, around, rows);
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

/// How many rows were left out.
#[derive(Default)]
struct LeftOut {
    well: usize,
    not_well: usize,
}

impl LeftOut {
    fn sentence(&self) -> Option<String> {
        match (self.well, self.not_well) {
            (0, 0) => None,
            (well, 0) => Some(format!("… and {well} more that are ready")),
            (0, rest) => Some(format!("… and {rest} more that are not ready")),
            (well, rest) => Some(format!(
                "… and {well} more that are ready, {rest} that are not"
            )),
        }
    }
}

/// Makes the rows fit, with the line that says what was left out: what is well goes first, the deepest before the others;
/// then what is told of others is cut, that of trouble last; then others go, trouble last.
fn shorten(rows: &mut Vec<Row<'_>>, room: usize, place: Place) -> LeftOut {
    let mut heights: Vec<usize> = rows.iter().map(|row| row.lines(place).len()).collect();
    let mut left_out = LeftOut::default();
    let mut total: usize = heights.iter().sum();
    let fits = |total: usize, left_out: &LeftOut| {
        let told = usize::from(left_out.well + left_out.not_well > 0);
        total + told <= room.max(1 + told)
    };
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse((rows[*at].depth, *at)));
    let of = |rows: &[Row<'_>], tone: Tone| -> Vec<usize> {
        let order = order.iter().copied();
        order
            .filter(|at| rows[*at].known.sight.tone == tone)
            .collect()
    };
    for at in of(rows, Tone::Good) {
        if fits(total, &left_out) {
            break;
        }
        total -= std::mem::take(&mut heights[at]);
        left_out.well += 1;
    }
    for tone in [Tone::Waiting, Tone::Working, Tone::Bad] {
        for at in of(rows, tone) {
            while rows[at].lines_below > 0 && !fits(total, &left_out) {
                rows[at].lines_below -= 1;
                let height = rows[at].lines(place).len();
                total = total - heights[at] + height;
                heights[at] = height;
            }
        }
    }
    for tone in [Tone::Waiting, Tone::Working, Tone::Bad] {
        for at in of(rows, tone) {
            if fits(total, &left_out) {
                break;
            }
            total -= std::mem::take(&mut heights[at]);
            left_out.not_well += 1;
        }
    }
    let mut heights = heights.into_iter();
    rows.retain(|_| heights.next().is_some_and(|height| height > 0));
    left_out
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
                "○ Installation/web  PendingDependencies  0.0s",
                "    waits for DataObject x: must exist",
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
        assert_eq!(lines.len(), 9);
        assert!(
            lines
                .iter()
                .any(|line| line.contains("✗ Installation/broken  Failed  0.0s  no such file")),
            "{lines:#?}"
        );
        assert_eq!(lines[8], "  … and 44 more that are ready");
        assert!(lines.iter().all(|line| line.chars().count() <= 80));
    }
}
