//! The smallest changes after which there is an answer. Each is tried before it is named.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use landform_api::catalog::app_type::CatalogSelector;
use semver::Version;

use super::gather::Gathering;
use super::problem::{Problem, Scope, Soft};
use super::sentences::need_name;
use super::{Chosen, Request};
use crate::index::{Index, NoOffering};

/// One or more changes that together give an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// All of them are needed.
    pub changes: Vec<Change>,
}

/// Something that a person could change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Let an installed package go to another version: approve it, or let go of its pin.
    Approve {
        /// The package.
        package: String,
        /// The version that would be chosen.
        to: Version,
    },
    /// Ask for a wider range.
    WidenRange {
        /// The package.
        package: String,
        /// A version that it must have in it.
        to: Version,
    },
    /// Follow another channel.
    FollowChannel {
        /// The package.
        package: String,
        /// The channel.
        channel: String,
    },
    /// Name one of the catalogs, or give them different priorities.
    ChooseCatalog {
        /// The package.
        package: String,
        /// One that would do.
        catalog: String,
    },
    /// Run a newer server.
    RaiseServer {
        /// The lowest version that would do.
        to: Version,
    },
    /// Add a catalog with something in it.
    AddCatalog {
        /// What it must offer, in words.
        offering: String,
    },
    /// Remove what is installed, and install a version that can't be reached from it.
    Reinstall {
        /// The package.
        package: String,
        /// The version that would be chosen.
        to: Version,
    },
    /// Do without a package.
    DropWanted {
        /// The package.
        package: String,
    },
}

/// How many requests are tried at most.
const TRIES: usize = 400;
/// How many fixes are named at most.
const NAMED: usize = 6;

/// A change to a request that is still to be tried.
#[derive(Clone, Debug)]
enum Idea<'a> {
    Move(&'a str),
    AnyVersion(&'a str),
    Channel(&'a str, &'a Arc<str>),
    Catalog(&'a str, Arc<str>),
    Server(&'a Version),
    Offer(Soft<'a>, String),
    Forget(&'a str),
    Drop(&'a str),
}

/// Changes that give an answer, as few at once as will do.
pub(super) fn find<'a>(problem: &Problem<'_, 'a>, cores: &[Vec<Soft<'a>>]) -> Vec<Fix> {
    let mut ideas = Vec::new();
    for soft in cores.iter().flatten() {
        collect(problem, *soft, &mut ideas);
    }
    ideas.sort_by_key(Idea::cost);
    let mut tries = 0;
    for size in 1..=3 {
        let mut fixes: Vec<Fix> = Vec::new();
        each(ideas.len(), size, &mut |places| {
            tries += 1;
            if tries > TRIES || fixes.len() >= NAMED {
                return;
            }
            let chosen: Vec<&Idea<'a>> = places.iter().map(|place| &ideas[*place]).collect();
            if let Some(fix) = attempt(problem, &chosen)
                && !fixes.contains(&fix)
            {
                fixes.push(fix);
            }
        });
        if !fixes.is_empty() {
            return fixes;
        }
    }
    Vec::new()
}

/// All sets of this size, in order.
fn each(of: usize, size: usize, visit: &mut dyn FnMut(&[usize])) {
    fn grow(of: usize, size: usize, places: &mut Vec<usize>, visit: &mut dyn FnMut(&[usize])) {
        if places.len() == size {
            visit(places);
            return;
        }
        for place in places.last().map_or(0, |last| last + 1)..of {
            places.push(place);
            grow(of, size, places, visit);
            places.pop();
        }
    }
    grow(of, size, &mut Vec::new(), visit);
}

fn collect<'a>(problem: &Problem<'_, 'a>, soft: Soft<'a>, ideas: &mut Vec<Idea<'a>>) {
    let gathering = problem.gathering;
    match soft {
        Soft::Wanted(name) => {
            choose_catalog(gathering, name, ideas);
            if gathering.wanted.len() > 1 {
                ideas.push(Idea::Drop(name));
            }
        }
        Soft::Channel(name) => {
            let wanted = gathering.wanted.get(name);
            let selector = wanted.and_then(|wanted| wanted.catalogs.as_ref());
            if let Ok(offering) = gathering.index.offering(name, selector) {
                let asked = wanted.and_then(|wanted| wanted.channel.as_deref());
                let asked = offering.channel(asked).map(|channel| &channel.name);
                let others = offering.package.channels.keys();
                let others = others.filter(|other| Some(*other) != asked);
                ideas.extend(others.map(|channel| Idea::Channel(name, channel)));
            }
        }
        Soft::Range(name) => ideas.push(Idea::AnyVersion(name)),
        Soft::Reach(name) => ideas.push(Idea::Forget(name)),
        Soft::Pinned(name) => ideas.push(Idea::Move(name)),
        Soft::Server(name) => {
            let node = problem.node(name);
            let options = node.into_iter().flat_map(|node| &node.options);
            let mut least: Vec<&Version> = options
                .map(|option| problem.options[*option].candidate.bundle)
                .filter(|bundle| !gathering.runs_here(bundle))
                .filter_map(|bundle| bundle.min_server_version.as_ref())
                .collect();
            least.sort_unstable();
            least.dedup();
            // The lowest that does is tried first.
            ideas.extend(least.into_iter().map(Idea::Server));
        }
        Soft::NeedsPackage(..) | Soft::NeedsKind(..) => {
            let mut needs = problem.options.iter().flat_map(|choice| &choice.needs);
            let needed = needs.find(|needed| needed.soft == soft);
            if let Soft::NeedsPackage(_, name, _) = soft {
                choose_catalog(gathering, name, ideas);
            }
            if let Some(needed) = needed {
                ideas.push(Idea::Offer(soft, need_name(needed.need)));
            }
        }
        Soft::Exclusive(..) => {}
    }
}

fn choose_catalog<'a>(gathering: &Gathering<'a>, name: &'a str, ideas: &mut Vec<Idea<'a>>) {
    let wanted = gathering.wanted.get(name);
    let selector = wanted.and_then(|wanted| wanted.catalogs.as_ref());
    if let Err(NoOffering::Tie { catalogs, .. }) = gathering.index.offering(name, selector) {
        ideas.extend(
            catalogs
                .into_iter()
                .map(|catalog| Idea::Catalog(name, catalog)),
        );
    }
}

fn attempt<'a>(problem: &Problem<'_, 'a>, ideas: &[&Idea<'a>]) -> Option<Fix> {
    let mut request = problem.gathering.request.clone();
    let mut gone = BTreeSet::new();
    for idea in ideas {
        idea.apply(&mut request, &mut gone);
    }
    let index: &Index = problem.gathering.index;
    let gathering = Gathering::new(index, &request);
    let trial = Problem::new(&gathering, Scope::Asked);
    let gone = gone.into_iter().filter_map(|soft| trial_soft(&trial, soft));
    let solved = trial.solve(&gone.collect()).ok()?;
    let changes = ideas.iter().map(|idea| {
        let to = |package: &str| {
            let chosen: Option<&Chosen<'_>> = solved.get(package);
            chosen.map(|chosen| chosen.bundle.version.clone())
        };
        idea.change(&to)
    });
    changes
        .collect::<Option<_>>()
        .map(|changes| Fix { changes })
}

/// The same need in a problem that was made from a changed request.
fn trial_soft<'b>(trial: &Problem<'_, 'b>, soft: Soft<'_>) -> Option<Soft<'b>> {
    let mut needs = trial.options.iter().flat_map(|choice| &choice.needs);
    needs
        .find(|needed| needed.soft == soft)
        .map(|needed| needed.soft)
}

impl<'a> Idea<'a> {
    /// What people do most easily comes first.
    fn cost(&self) -> u8 {
        match self {
            Self::Move(_) => 0,
            Self::AnyVersion(_) => 1,
            Self::Channel(..) => 2,
            Self::Catalog(..) => 3,
            Self::Server(_) => 4,
            Self::Offer(..) => 5,
            Self::Forget(_) => 6,
            Self::Drop(_) => 7,
        }
    }

    fn apply(&self, request: &mut Request, gone: &mut BTreeSet<Soft<'a>>) {
        for wanted in &mut request.wanted {
            match self {
                Self::AnyVersion(name) if *name == &*wanted.package => wanted.range = None,
                Self::Channel(name, channel) if *name == &*wanted.package => {
                    wanted.channel = Some((*channel).clone());
                }
                Self::Catalog(name, catalog) if *name == &*wanted.package => {
                    wanted.catalogs = Some(CatalogSelector {
                        names: vec![catalog.to_string()],
                        ..CatalogSelector::default()
                    });
                }
                _ => {}
            }
        }
        for installed in &mut request.installed {
            match self {
                Self::Move(name) if *name == &*installed.package => installed.movable = true,
                Self::Channel(name, channel) if *name == &*installed.package => {
                    installed.channel = Some((*channel).clone());
                }
                _ => {}
            }
        }
        match self {
            Self::Forget(name) => request.installed.retain(|found| &*found.package != *name),
            Self::Drop(name) => request.wanted.retain(|found| &*found.package != *name),
            Self::Server(version) => request.server = Some((*version).clone()),
            Self::Offer(soft, _) => {
                gone.insert(*soft);
            }
            _ => {}
        }
    }

    fn change(&self, to: &dyn Fn(&str) -> Option<Version>) -> Option<Change> {
        Some(match self {
            Self::Move(name) => Change::Approve {
                package: (*name).to_owned(),
                to: to(name)?,
            },
            Self::AnyVersion(name) => Change::WidenRange {
                package: (*name).to_owned(),
                to: to(name)?,
            },
            Self::Channel(name, channel) => Change::FollowChannel {
                package: (*name).to_owned(),
                channel: channel.to_string(),
            },
            Self::Catalog(name, catalog) => Change::ChooseCatalog {
                package: (*name).to_owned(),
                catalog: catalog.to_string(),
            },
            Self::Server(version) => Change::RaiseServer {
                to: (*version).clone(),
            },
            Self::Offer(_, offering) => Change::AddCatalog {
                offering: offering.clone(),
            },
            Self::Forget(name) => Change::Reinstall {
                package: (*name).to_owned(),
                to: to(name)?,
            },
            Self::Drop(name) => Change::DropWanted {
                package: (*name).to_owned(),
            },
        })
    }
}

impl fmt::Display for Fix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let changes: Vec<String> = self.changes.iter().map(Change::to_string).collect();
        f.write_str(&changes.join(", and "))
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Approve { package, to } => write!(f, "let {package} go to {to}"),
            Self::WidenRange { package, to } => {
                write!(f, "widen the range of {package} so that {to} is in it")
            }
            Self::FollowChannel { package, channel } => {
                write!(f, "take {package} from the channel {channel}")
            }
            Self::ChooseCatalog { package, catalog } => write!(
                f,
                "take {package} from the catalog {catalog}, by name or by a higher priority"
            ),
            Self::RaiseServer { to } => write!(f, "run a server of {to} or newer"),
            Self::AddCatalog { offering } => write!(f, "add a catalog that offers {offering}"),
            Self::Reinstall { package, to } => {
                write!(f, "remove {package} and install {to} afresh")
            }
            Self::DropWanted { package } => write!(f, "do without {package}"),
        }
    }
}
