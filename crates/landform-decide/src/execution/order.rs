//! Dependencies between items must make sense (E11).

use std::collections::{BTreeMap, BTreeSet};

use super::observed::Wanted;

/// What is wrong with the dependencies of items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrderProblem {
    /// Two items have one name.
    Duplicate(String),
    /// An item's name has a comma.
    Comma(String),
    /// An item depends on one that is not there.
    Unknown {
        /// The item.
        item: String,
        /// What it depends on.
        depends_on: String,
    },
    /// Items depend on each other; the first one is the last one too.
    Cycle(Vec<String>),
}

/// Finds the first thing that is wrong.
///
/// # Errors
/// What is wrong.
pub fn check_order(wanted: &[Wanted]) -> Result<(), OrderProblem> {
    let mut by_name = BTreeMap::new();
    for item in wanted {
        if item.name.contains(',') {
            return Err(OrderProblem::Comma(item.name.clone()));
        }
        if by_name.insert(item.name.as_str(), item).is_some() {
            return Err(OrderProblem::Duplicate(item.name.clone()));
        }
    }
    for item in wanted {
        let mut unknown = item.depends_on.iter();
        if let Some(name) = unknown.find(|name| !by_name.contains_key(name.as_str())) {
            return Err(OrderProblem::Unknown {
                item: item.name.clone(),
                depends_on: name.clone(),
            });
        }
    }
    // Whoever depends only on finished ones is finished; what remains has a cycle.
    let mut rest: BTreeSet<&str> = by_name.keys().copied().collect();
    loop {
        let free: Vec<&str> = rest
            .iter()
            .filter(|name| {
                let mut depends_on = by_name[**name].depends_on.iter();
                !depends_on.any(|other| rest.contains(other.as_str()))
            })
            .copied()
            .collect();
        if free.is_empty() {
            break;
        }
        for name in free {
            rest.remove(name);
        }
    }
    let Some(first) = rest.first() else {
        return Ok(());
    };
    // Every remaining one depends on a remaining one: the way along these comes back to itself.
    let mut path = vec![*first];
    loop {
        let last = path[path.len() - 1];
        let mut depends_on = by_name[last].depends_on.iter();
        let Some(next) = depends_on.find(|name| rest.contains(name.as_str())) else {
            return Ok(());
        };
        let next = next.as_str();
        let seen = path.iter().position(|name| *name == next);
        path.push(next);
        if let Some(at) = seen {
            let cycle = path[at..].iter().map(|name| (*name).to_owned());
            return Err(OrderProblem::Cycle(cycle.collect()));
        }
    }
}

impl std::fmt::Display for OrderProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Duplicate(name) => {
                write!(
                    f,
                    "two deploy items are called {name:?}: give one another name"
                )
            }
            Self::Comma(name) => write!(
                f,
                "the deploy item {name:?} has a comma in its name, and commas are between names: give it another name"
            ),
            Self::Unknown { item, depends_on } => write!(
                f,
                "the deploy item {item:?} depends on {depends_on:?}, and there is no item of that name"
            ),
            Self::Cycle(path) => {
                write!(f, "deploy items depend on each other: {}", path.join(" → "))
            }
        }
    }
}
