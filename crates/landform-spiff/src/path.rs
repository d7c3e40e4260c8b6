//! Where a node stands in its document. Nodes share what is above them, because a long name would
//! otherwise be there once for each node below it.

use std::fmt;
use std::sync::Arc;

#[derive(Debug, Clone, Default)]
pub(crate) struct Path(Option<Arc<Link>>);

#[derive(Debug)]
struct Link {
    above: Path,
    step: Step,
}

#[derive(Debug)]
enum Step {
    Key(String),
    Index(usize),
}

/// Longer names are shown in part.
const LONGEST_NAME: usize = 100;

impl Path {
    pub(crate) fn key(&self, key: &str) -> Path {
        self.below(Step::Key(key.to_owned()))
    }

    pub(crate) fn index(&self, index: usize) -> Path {
        self.below(Step::Index(index))
    }

    fn below(&self, step: Step) -> Path {
        let above = self.clone();
        Path(Some(Arc::new(Link { above, step })))
    }

    pub(crate) fn is_root(&self) -> bool {
        self.0.is_none()
    }
}

/// `deployItems[0].config`
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut links = Vec::new();
        let mut next = self;
        while let Some(link) = &next.0 {
            links.push(link);
            next = &link.above;
        }
        for (at, link) in links.iter().rev().enumerate() {
            match &link.step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) => {
                    let dot = if at > 0 { "." } else { "" };
                    let shown: String = key.chars().take(LONGEST_NAME).collect();
                    let more = if shown.len() < key.len() { "…" } else { "" };
                    write!(f, "{dot}{shown}{more}")?;
                }
            }
        }
        Ok(())
    }
}
