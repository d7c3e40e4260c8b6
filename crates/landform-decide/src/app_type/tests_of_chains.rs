//! An app type from its creation to its deletion, with the versions that it makes in their
//! [world](crate::operator_version::world) and a catalog that is a list. All orders, and a crash after every
//! write.

use std::collections::BTreeMap;

use landform_api::catalog::{AppTypePhase, DefinitionPolicy, UpgradePolicy};
use semver::Version;

use super::{
    Action, Candidate, Decision, DefinitionState, Observed, Offered, Offering, Trouble, base,
    decide, installed, rollback_target,
};
use crate::operator_version::world::{self, Made, Name, Package, World, made, walk};

/// The app type, its catalog and its versions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Shop {
    world: World,
    catalog: Vec<Name>,
    events: Vec<Event>,
    exists: bool,
    marked: bool,
    held: bool,
    policy: UpgradePolicy,
    definition_policy: DefinitionPolicy,
    approved: Option<&'static str>,
    rollback: Option<&'static str>,
    phase: Option<AppTypePhase>,
    rolled_back_from: Option<String>,
    installed: Option<Name>,
    history: Vec<Name>,
    /// The kind that the versions own: absent, there, marked.
    definition: Option<bool>,
    blocked: Vec<String>,
}

/// What people do, once, at any moment at which it makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Event {
    Gain(Name),
    Approve(&'static str),
    /// Only after a rollback.
    ApproveAgain(&'static str),
    /// While a version of this name is there.
    Rollback(&'static str, Name),
    Delete,
}

use Event::{Approve, ApproveAgain, Delete, Gain, Rollback};

enum Write {
    Do(Action),
    Status,
}

fn shop(policy: UpgradePolicy, events: &[Event], others: &[world::Event]) -> Shop {
    Shop {
        world: World::new(others),
        catalog: vec!["a"],
        events: events.to_vec(),
        exists: true,
        marked: false,
        held: false,
        policy,
        definition_policy: DefinitionPolicy::Keep,
        approved: None,
        rollback: None,
        phase: None,
        rolled_back_from: None,
        installed: None,
        history: Vec::new(),
        definition: None,
        blocked: Vec::new(),
    }
}

impl Shop {
    fn observed(&self, package: &Package) -> Observed {
        let versions = self.world.own_versions(package);
        let named = |name: &Name| ((*name).to_owned(), package[name].version.clone());
        let history = self.history.iter().chain(&self.installed);
        let history: Vec<_> = history.map(named).collect();
        let now = installed(&versions).map(|found| found.version.clone());
        let back = self.rollback.zip(now);
        let back = back.and_then(|(asked, now)| rollback_target(asked, &history, &now));
        let candidates = self.catalog.iter().map(|name| candidate(package, name));
        Observed {
            marked: self.marked,
            held: self.held,
            problem: None,
            rival: None,
            policy: self.policy,
            approved: self.approved.map(|text| Version::parse(text).unwrap()),
            definition_policy: self.definition_policy,
            rollback: self.rollback.map(str::to_owned),
            rolled_back_from: self
                .rolled_back_from
                .as_ref()
                .map(|text| text.parse().unwrap()),
            history: Vec::new(),
            offering: self.offering(package, base(&versions).map(|found| &*found.name)),
            versions,
            rollback_candidate: back
                .and_then(|back| candidates.into_iter().find(|found| found.version == back)),
            definitions: self
                .definition
                .map(|marked| DefinitionState {
                    name: "databases".into(),
                    mine: true,
                    heir: None,
                    marked,
                    blocker: String::new(),
                })
                .into_iter()
                .collect(),
        }
    }

    /// The shortest way from where it stands to the latest.
    fn offering(&self, package: &Package, from: Option<&str>) -> Offering {
        let latest = self
            .catalog
            .iter()
            .max_by_key(|name| &package[*name].version)
            .unwrap();
        let step = match from.and_then(|from| package.get_key_value(from)) {
            None => Ok(None),
            Some((_, from)) if from.version >= package[latest].version => Ok(None),
            Some((from, _)) => {
                let mut open = vec![vec![*from]];
                let mut way = None;
                while !open.is_empty() && way.is_none() {
                    let ways = open.iter().flat_map(|way| self.longer(package, way));
                    open = ways.collect();
                    way = open.iter().find(|way| way.last() == Some(latest)).cloned();
                }
                way.map(|way| Some(candidate(package, way[1])))
                    .ok_or(Trouble {
                        reason: "NoPath",
                        message: "no way".into(),
                        unblock: "add an edge".into(),
                    })
            }
        };
        Offering::Found(Offered {
            latest: candidate(package, latest),
            next: Vec::new(),
            step,
        })
    }

    fn longer(&self, package: &Package, way: &[Name]) -> Vec<Vec<Name>> {
        let last = way[way.len() - 1];
        let leads = |to: &&Name| {
            let edges = &package[*to].edges;
            edges.lead((last, &package[last].version), (to, &package[*to].version))
        };
        let next = self.catalog.iter().filter(leads);
        next.map(|next| [way, &[*next]].concat()).collect()
    }

    fn decided(&self, package: &Package) -> Vec<Shop> {
        let seen = self.observed(package);
        let decision = decide(&seen);
        let before = decision.actions.iter().cloned().map(Write::Do);
        let after = decision.afterwards.iter().cloned().map(Write::Do);
        let mut shops: Vec<Shop> = Vec::new();
        for write in before.chain([Write::Status]).chain(after) {
            let mut shop = shops.last().unwrap_or(self).clone();
            match write {
                Write::Do(action) => shop.carry_out(package, &action),
                Write::Status => shop.write_status(package, &seen, &decision),
            }
            if shop != *shops.last().unwrap_or(self) {
                shops.push(shop);
            }
        }
        shops
    }

    fn carry_out(&mut self, package: &Package, action: &Action) {
        let known = |name: &str| *package.get_key_value(name).unwrap().0;
        match action {
            Action::Hold => self.held = true,
            Action::LetGo => {
                assert!(
                    self.world.versions.is_empty(),
                    "it goes before its versions"
                );
                self.exists = false;
            }
            Action::Create { name, rollback_of } => {
                let of = rollback_of.as_deref().map(known);
                let created = self.world.create(package, known(name), of);
                assert!(created.is_some(), "{name} is there already");
                self.definition = self.definition.or(Some(false));
            }
            Action::TakeBack { name, of } => {
                self.world.living(known(name)).rollback_of = Some(known(of));
            }
            Action::Delete(names) => {
                let keeps = self.definition_policy == DefinitionPolicy::Keep || !self.marked;
                assert!(keeps || self.definition.is_none(), "kinds go first");
                for name in names {
                    self.world.mark(known(name));
                }
            }
            Action::ForgetRollback => {
                self.rollback = None;
                self.approved = None;
            }
            Action::DeleteDefinitions(_) => {
                assert_eq!(self.definition_policy, DefinitionPolicy::Delete);
                self.definition = Some(true);
            }
            Action::ReleaseDefinitions(_) => self.definition = Some(false),
        }
    }

    fn write_status(&mut self, package: &Package, seen: &Observed, decision: &Decision) {
        self.phase = Some(decision.phase);
        if decision.rolled_back_from.is_some() {
            self.rolled_back_from.clone_from(&decision.rolled_back_from);
        }
        self.blocked = decision
            .blocked_by
            .iter()
            .map(|found| found.reason.clone())
            .collect();
        let now = installed(&seen.versions).map(|found| &*found.name);
        let now = now
            .and_then(|now| package.get_key_value(now))
            .map(|(name, _)| *name);
        if let Some(now) = now.filter(|now| self.installed != Some(*now)) {
            self.history.extend(self.installed);
            self.installed = Some(now);
        }
    }

    fn happened(&self, place: usize) -> Option<Shop> {
        let mut shop = self.clone();
        match shop.events.remove(place) {
            Gain(name) => shop.catalog.push(name),
            Approve(version) => shop.approved = Some(version),
            ApproveAgain(version) => {
                let over = self.rolled_back_from.is_some() && self.rollback.is_none();
                over.then_some(())?;
                shop.approved = Some(version);
            }
            Rollback(asked, name) => {
                self.world.versions.get(name)?;
                shop.rollback = Some(asked);
            }
            Delete => shop.marked = true,
        }
        // Nobody deletes what is not held yet: it would just be gone.
        (!self.marked && self.held).then_some(shop)
    }

    fn next(&self, package: &Package) -> (Vec<Shop>, Vec<Shop>) {
        let with = |world: World| Shop {
            world,
            ..self.clone()
        };
        let (whole, cut) = self.world.next(package);
        let mut whole: Vec<_> = whole.into_iter().map(with).collect();
        let mut cut: Vec<_> = cut.into_iter().map(with).collect();
        if self.exists {
            let mut shops = self.decided(package);
            whole.extend(shops.pop());
            cut.extend(shops);
            whole.extend((0..self.events.len()).filter_map(|place| self.happened(place)));
        }
        if self.definition == Some(true) {
            let mut gone = self.clone();
            gone.definition = None;
            whole.push(gone);
        }
        (whole, cut)
    }

    fn check(&self, only: Name, phase: AppTypePhase) {
        self.world.check_only(only);
        assert_eq!(self.phase, Some(phase), "{self:#?}");
        assert_eq!(self.installed, Some(only));
    }
}

fn candidate(package: &Package, name: &str) -> Candidate {
    Candidate {
        name: name.to_owned(),
        version: package[name].version.clone(),
        troubles: Vec::new(),
    }
}

fn package(versions: &[(Name, Made)]) -> Package {
    BTreeMap::from_iter(versions.to_vec())
}

fn chain() -> [(Name, Made); 3] {
    [
        ("a", made("1.0.0", "")),
        ("b", made("2.0.0", "a")),
        ("c", made("3.0.0", "b")),
    ]
}

const HAS: [world::Event; 1] = [world::Event::Has("a", "x")];

fn explore(versions: &[(Name, Made)], start: Shop, at_rest: impl Fn(&Shop)) {
    let package = package(versions);
    walk(start, |shop| shop.next(&package), at_rest);
}

#[test]
fn o1_o2_o4_versions_are_gone_to_step_by_step_along_the_path() {
    let start = shop(UpgradePolicy::Automatic, &[Gain("b"), Gain("c")], &HAS);
    explore(&chain(), start, |shop| {
        shop.check("c", AppTypePhase::Succeeded);
        let ways: [&[Name]; 3] = [&["a", "b", "c"], &["b", "c"], &["c"]];
        assert!(
            ways.contains(&&*shop.world.installs),
            "{:?}",
            shop.world.installs
        );
        assert!(shop.blocked.is_empty());
    });
}

#[test]
fn o5_with_the_policy_manual_only_what_was_approved_is_gone_to() {
    let events = [Gain("b"), Gain("c"), Approve("2.0.0")];
    let start = shop(UpgradePolicy::Manual, &events, &HAS);
    explore(&chain(), start, |shop| match shop.world.installs[0] {
        "c" => shop.check("c", AppTypePhase::Succeeded),
        _ => {
            shop.check("b", AppTypePhase::Succeeded);
            assert_eq!(shop.blocked, ["NotApproved"]);
        }
    });
    let start = shop(UpgradePolicy::Pinned, &[Gain("b"), Approve("2.0.0")], &HAS);
    explore(&chain(), start, |shop| {
        shop.check(shop.world.installs[0], AppTypePhase::Succeeded);
    });
}

#[test]
fn o17_a_failed_upgrade_is_followed_given_up_or_put_right() {
    let [a, b, c] = chain();
    let versions = [a, ("b", b.1.broken()), c];
    let start = shop(UpgradePolicy::Automatic, &[Gain("b")], &HAS);
    explore(&versions, start, |shop| {
        assert_eq!(shop.phase, Some(AppTypePhase::Failed));
        if shop.world.installs[0] == "a" {
            shop.world.check_owner("a");
            assert_eq!(shop.blocked, ["UpgradeFailed"]);
        }
    });
    let start = shop(UpgradePolicy::Automatic, &[Gain("b"), Gain("c")], &HAS);
    explore(&versions, start, |shop| {
        shop.check("c", AppTypePhase::Succeeded);
    });
    let fix = [HAS[0], world::Event::Fix("b")];
    let start = shop(UpgradePolicy::Automatic, &[Gain("b")], &fix);
    explore(&versions, start, |shop| {
        shop.check("b", AppTypePhase::Succeeded);
    });
    for asked in ["previous", "1.0.0"] {
        let start = shop(
            UpgradePolicy::Automatic,
            &[Gain("b"), Rollback(asked, "b")],
            &HAS,
        );
        explore(&versions, start, |shop| {
            if shop.world.installs[0] == "a" && !shop.events.contains(&Rollback(asked, "b")) {
                shop.check("a", AppTypePhase::Succeeded);
                assert_eq!(shop.blocked, ["RolledBack"]);
            }
        });
    }
}

#[test]
fn o17_a_rollback_at_any_moment_lasts_until_it_is_approved_again() {
    for policy in [UpgradePolicy::Automatic, UpgradePolicy::Manual] {
        let events = [Gain("b"), Approve("2.0.0"), Rollback("1.0.0", "b")];
        explore(&chain(), shop(policy, &events, &HAS), |shop| {
            let asked = !shop
                .events
                .iter()
                .any(|event| matches!(event, Rollback(..)));
            if asked && shop.approved.is_none() && shop.world.installs[0] == "a" {
                assert!(shop.world.versions.contains_key("a"), "{shop:#?}");
                shop.check("a", AppTypePhase::Succeeded);
                assert!(shop.blocked.contains(&"RolledBack".to_owned()));
            }
        });
        let events = [Gain("b"), Rollback("1.0.0", "b"), ApproveAgain("2.0.0")];
        explore(&chain(), shop(policy, &events, &HAS), |shop| {
            if shop.events.is_empty() && shop.world.installs[0] == "a" {
                shop.check("b", AppTypePhase::Succeeded);
            }
        });
    }
}

#[test]
fn o17_a_rollback_goes_to_the_version_before() {
    let package = package(&chain());
    for (asked, ends) in [("previous", "b"), ("2.0.0", "b")] {
        let events = [Gain("c"), Rollback(asked, "c")];
        let mut start = shop(
            UpgradePolicy::Automatic,
            &events,
            &[world::Event::Has("b", "x")],
        );
        start.catalog.push("b");
        // Here the app type itself doesn't crash: `previous` means another version after it was reached.
        let next = |shop: &Shop| {
            let whole = shop.next(&package).0;
            assert!(shop.world.births < 9, "{shop:#?}");
            (whole, Vec::new())
        };
        walk(start, next, |shop| {
            if shop.world.installs.starts_with(&["b", "c"]) && shop.events.is_empty() {
                shop.check(ends, AppTypePhase::Succeeded);
            }
        });
    }
}

#[test]
fn o16_a_deletion_at_any_moment_leaves_nothing_but_what_it_should() {
    for policy in [DefinitionPolicy::Keep, DefinitionPolicy::Delete] {
        let mut start = shop(UpgradePolicy::Automatic, &[Gain("b"), Delete], &HAS);
        start.definition_policy = policy;
        explore(&chain(), start, |shop| {
            assert!(!shop.exists, "{shop:#?}");
            assert!(shop.world.versions.is_empty());
            assert_ne!(shop.definition, Some(true));
            if policy == DefinitionPolicy::Delete {
                assert_eq!(shop.definition, None);
            }
        });
    }
}
