//! Small random catalogs, and every possible answer to compare with.

use proptest::prelude::*;

use super::*;
use crate::model::Content;
use crate::resolve::gather::Gathering;
use crate::resolve::problem::{Problem, Scope};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const KINDS: [&str; 3] = ["g/K/v1", "g/K/v2", "g/L/v1"];
const RANGES: [&str; 4] = ["<2.0.0", ">=2.0.0", "*", "!2.0.0"];

/// A line of a package: what it replaces, owns, needs and wants, and which server.
fn line() -> impl Strategy<Value = String> {
    (any::<u16>(), 0_usize..3, 0_usize..3, 0_usize..4, 0_usize..4).prop_map(
        |(bits, owns, needs, wants, range)| {
            let mut line = String::new();
            if bits & 3 != 0 {
                line.push_str(" range=<9.0.0");
            }
            if bits & 12 == 0 {
                line.push_str(&format!(" owns={}", KINDS[owns]));
            }
            if bits & 48 == 0 {
                line.push_str(&format!(" needs={}", KINDS[needs]));
            }
            if bits & 64 == 0 {
                line.push_str(&format!(" wants={}:{}", NAMES[wants], RANGES[range]));
            }
            if bits & 896 == 0 {
                line.push_str(" server=1.30.0");
            }
            line
        },
    )
}

fn packages() -> impl Strategy<Value = Vec<String>> {
    let package = prop::collection::vec(line(), 1..4).prop_map(|lines| {
        let lines = lines.iter().zip(1..).map(|(line, number)| {
            let channel = if number == 3 { "edge" } else { "stable" };
            format!("{channel} {number}.0.0{line}")
        });
        lines.collect::<Vec<_>>().join("\n")
    });
    prop::collection::vec(package, 4)
}

fn requests() -> impl Strategy<Value = Request> {
    (
        prop::collection::btree_map(0_usize..4, prop::option::of(0_usize..4), 1..3),
        prop::option::of((0_usize..4, any::<bool>(), line())),
        any::<bool>(),
    )
        .prop_map(|(wanted, installed, old_server)| {
            let wanted = wanted.into_iter().map(|(name, range)| Wanted {
                package: NAMES[name].into(),
                range: range.map(|range| Range::parse(RANGES[range]).unwrap()),
                ..Wanted::default()
            });
            let mut request = Request {
                wanted: wanted.collect(),
                ..Request::default()
            };
            if let Some((name, movable, line)) = installed {
                let mark = if movable { "~" } else { "" };
                request = request.with(NAMES[name], &format!("{mark}1.0.0{line}"));
            }
            if old_server {
                request.server = Some(version("1.20.0"));
            }
            request
        })
}

fn catalog_of(texts: &[String]) -> Index {
    let pairs = NAMES.iter().zip(texts).map(|(name, text)| (*name, &**text));
    let content: Arc<Content> = content(pairs);
    Index::new([catalog("main", 0, content)])
}

/// Tries every set of candidates, one or none of each package.
fn has_an_answer(index: &Index, request: &Request) -> bool {
    let gathering = Gathering::new(index, request);
    let candidates: Vec<Vec<_>> = NAMES
        .iter()
        .map(|name| match gathering.wanted.get(name) {
            Some(wanted) => gathering.for_wanted(wanted),
            None => gathering.for_need(name, None),
        })
        .collect();
    let mut sets: Vec<Vec<gather::Candidate<'_>>> = vec![Vec::new()];
    for (name, candidates) in NAMES.iter().zip(&candidates) {
        let must = gathering.wanted.contains_key(name) || gathering.installed.contains_key(name);
        let mut next = Vec::new();
        for set in &sets {
            if !must {
                next.push(set.clone());
            }
            for candidate in candidates {
                let mut set = set.clone();
                set.push(*candidate);
                next.push(set);
            }
        }
        sets = next;
    }
    sets.iter().any(|set| fits(&gathering, set))
}

fn fits<'a>(gathering: &Gathering<'a>, set: &[gather::Candidate<'a>]) -> bool {
    let needs_met = set.iter().all(|one| {
        gathering.needs(*one).into_iter().all(|need| match need {
            gather::Need::Package(required) => set.iter().any(|other| {
                other.package == &*required.package
                    && required.range.contains(&other.bundle.version)
            }),
            gather::Need::Kind(kind) => set.iter().any(|other| other.bundle.owned.contains(kind)),
        })
    });
    let shared = set.iter().any(|one| {
        set.iter().any(|other| {
            let both_stay = one.from.is_none() && other.from.is_none();
            let mut owned = one.bundle.owned.iter();
            one.package != other.package
                && !both_stay
                && owned.any(|kind| {
                    let mut others = other.bundle.owned.iter();
                    others.any(|it| (&it.group, &it.kind) == (&kind.group, &kind.kind))
                })
        })
    });
    needs_met && !shared
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn an_answer_is_found_exactly_when_there_is_one_and_it_fits(texts in packages(), request in requests()) {
        let index = catalog_of(&texts);
        let expected = has_an_answer(&index, &request);
        let found = attempt(&index, &request);
        prop_assert_eq!(found.is_some(), expected, "{:?} {:?}", texts, request);
        if let Some(found) = found {
            let set: Vec<_> = found.chosen.values().map(|chosen| gather::Candidate {
                package: chosen.package,
                bundle: chosen.bundle,
                from: chosen.catalog.zip(chosen.channel),
            }).collect();
            let gathering = Gathering::new(&index, &request);
            prop_assert!(fits(&gathering, &set), "{}", shown(&found));
            for wanted in &request.wanted {
                prop_assert!(found.chosen.contains_key(&*wanted.package));
            }
        }
    }

    #[test]
    fn the_order_of_input_never_matters(texts in packages(), mut request in requests()) {
        let index = catalog_of(&texts);
        let before = resolve(&index, &request).map(|found| shown(&found));
        request.wanted.reverse();
        request.installed.reverse();
        let again = resolve(&index, &request).map(|found| shown(&found));
        prop_assert_eq!(before, again);
    }

    #[test]
    fn a_conflict_is_minimal_and_its_fixes_work(texts in packages(), request in requests()) {
        let index = catalog_of(&texts);
        let Err(conflict) = resolve(&index, &request) else { return Ok(()) };
        prop_assert!(!conflict.facts.is_empty(), "{:?} {:?}", texts, request);
        for fix in &conflict.fixes {
            prop_assert!(!fix.changes.is_empty());
            let mut changed = request.clone();
            let mut whole = true;
            for change in &fix.changes {
                match change {
                    Change::WidenRange { package, to } => {
                        for wanted in changed.wanted.iter_mut().filter(|it| *it.package == **package) {
                            wanted.range = Some(Range::exactly(to));
                        }
                    }
                    Change::FollowChannel { package, channel } => {
                        for wanted in changed.wanted.iter_mut().filter(|it| *it.package == **package) {
                            wanted.channel = Some(channel.as_str().into());
                        }
                        for installed in changed.installed.iter_mut().filter(|it| *it.package == **package) {
                            installed.channel = Some(channel.as_str().into());
                        }
                    }
                    Change::RaiseServer { to } => changed.server = Some(to.clone()),
                    Change::Approve { package, .. } => {
                        for installed in changed.installed.iter_mut().filter(|it| *it.package == **package) {
                            installed.movable = true;
                        }
                    }
                    Change::Reinstall { package, .. } => changed.installed.retain(|it| *it.package != **package),
                    Change::DropWanted { package } => changed.wanted.retain(|it| *it.package != **package),
                    Change::AddCatalog { .. } | Change::ChooseCatalog { .. } => whole = false,
                }
            }
            prop_assert!(!whole || attempt(&index, &changed).is_some(), "{} {:?} {:?}", fix, texts, request);
        }
        let gathering = Gathering::new(&index, &request);
        let problem = Problem::new(&gathering, Scope::Everything);
        let all = problem.softs();
        let core = super::super::conflict::core(&problem, &all).unwrap();
        let without = |left_out: Option<_>| -> BTreeSet<_> {
            all.iter().copied().filter(|soft| !core.contains(soft) || left_out == Some(*soft)).collect()
        };
        prop_assert!(problem.solve(&without(None)).is_err());
        for soft in &core {
            prop_assert!(problem.solve(&without(Some(*soft))).is_ok());
        }
    }
}
