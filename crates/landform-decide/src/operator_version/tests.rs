//! Tables: a scenario in words, and what follows from it.

use landform_api::catalog::operator_version::{HigherVersion, Requirement, Upgrade};
use landform_api::catalog::{AdoptionBy, Phase, RequirementStatus, UpgradeMode};
use landform_catalog::{Edges, Replaces};
use semver::Version;

use super::decide;
use super::observed::Former;
use super::{Action, Decision, Install, Member, Need, Observed, OwnedBy, Reason, Remedy, Resource};
use crate::Rule;

use Phase::{Deleting, Failed, InstallReady, Installing, Pending, Replacing, Succeeded};

/// A change to a member.
type Edit = fn(&mut Member);

/// A version that nothing was done for.
pub(super) fn fresh(name: &str, version: &str, replaces: &str) -> Member {
    Member {
        name: name.into(),
        uid: format!("{name}#"),
        generation: 1,
        version: Version::parse(version).unwrap(),
        edges: Edges {
            replaces: (!replaces.is_empty()).then(|| Replaces::parse(replaces)),
            ..Edges::default()
        },
        rollback_of: None,
        phase: None,
        up_to_date: true,
        marked: false,
        begun: false,
        stuck: false,
        upgradeable: Ok(()),
        message: String::new(),
        replaced: Vec::new(),
        reasserted_for: None,
    }
}

/// A version whose install has begun.
pub(super) fn begun(name: &str, version: &str, replaces: &str, phase: Phase) -> Member {
    Member {
        phase: Some(phase),
        begun: true,
        ..fresh(name, version, replaces)
    }
}

/// `b` 2.0.0, which replaces `a`, as it was just created; with what `change` makes of it.
pub(super) fn new_b(change: impl FnOnce(&mut Observed)) -> Observed {
    let mut seen = Observed {
        me: fresh("b", "2.0.0", "a"),
        held: true,
        orphaning: false,
        problem: None,
        others: Vec::new(),
        needs: Vec::new(),
        install: Install::Absent,
        upgrade: Upgrade::default(),
        resources: Vec::new(),
        offer: None,
    };
    change(&mut seen);
    seen
}

/// `b` runs, and `a` from which it takes over.
fn taking_over(change: impl FnOnce(&mut Observed)) -> Observed {
    new_b(|seen| {
        seen.me = begun("b", "2.0.0", "a", Succeeded);
        seen.install = Install::Ready;
        seen.others = vec![begun("a", "1.0.0", "", Replacing)];
        change(seen);
    })
}

/// `a` runs, `b` is there; `change` says how it stands.
pub(super) fn a_before_b(change: impl FnOnce(&mut Observed)) -> Observed {
    new_b(|seen| {
        seen.me = begun("a", "1.0.0", "", Succeeded);
        seen.install = Install::Ready;
        seen.others = vec![begun("b", "2.0.0", "a", Succeeded)];
        change(seen);
    })
}

pub(super) fn remembering(mut member: Member, name: &str) -> Member {
    member.replaced.push(Former {
        name: name.into(),
        edges: Vec::new(),
    });
    member
}

/// A resource and the names of its owners, the controller with a star.
pub(super) fn resource(owners: &[&str]) -> Resource {
    let owner = |name: &&str| OwnedBy {
        uid: format!("{}#", name.trim_end_matches('*')),
        controller: name.ends_with('*'),
        selected: true,
    };
    Resource {
        title: "Database x".into(),
        marked: false,
        owners: owners.iter().map(owner).collect(),
    }
}

fn need(status: RequirementStatus, remedy: Remedy) -> Need {
    Need {
        requirement: Requirement {
            kind: "Definition".into(),
            name: "databases.example.org".into(),
            status,
            message: "nobody brings it".into(),
        },
        remedy,
    }
}

fn check(what: &str, seen: &Observed, rule: Rule, phase: Phase, actions: &[Action]) -> Decision {
    let decision = decide(seen);
    assert_eq!(decision.rule, rule, "{what}: {decision:#?}");
    assert_eq!(decision.phase, Some(phase), "{what}: {decision:#?}");
    assert_eq!(decision.actions, actions, "{what}: {decision:#?}");
    decision
}

#[test]
fn o2_a_higher_version_that_is_held_back_is_told_on_the_one_that_runs() {
    let waiting = |phase, begun| {
        a_before_b(|seen| {
            seen.others[0].phase = Some(phase);
            seen.others[0].begun = begun;
            seen.others[0].message = "no disk".into();
        })
    };
    let told = decide(&waiting(Pending, false)).higher.unwrap();
    assert_eq!((&*told.version, &*told.reason), ("2.0.0", "Waiting"));
    assert!(told.message.contains("no disk"), "{}", told.message);
    let told = decide(&waiting(Failed, true)).higher.unwrap();
    assert_eq!(told.reason, "UpgradeFailed");
    assert_eq!(decide(&waiting(Installing, true)).higher, None, "it comes");
    let offer = HigherVersion {
        version: "3.0.0".into(),
        ..HigherVersion::default()
    };
    let offered = a_before_b(|seen| {
        seen.others.clear();
        seen.offer = Some(offer.clone());
    });
    assert_eq!(
        decide(&offered).higher,
        Some(offer.clone()),
        "as the app type says"
    );
    let not_begun = new_b(|seen| seen.offer = Some(offer));
    assert_eq!(decide(&not_begun).higher, None, "it doesn't run itself");
}

#[test]
fn o10_the_first_version_is_installed_step_by_step() {
    let step = |phase, begun, install| {
        new_b(|seen| {
            seen.me.phase = phase;
            seen.me.begun = begun;
            seen.install = install;
        })
    };
    let install = [Action::Install];
    let ready = check(
        "new",
        &step(None, false, Install::Absent),
        Rule::O10,
        InstallReady,
        &[],
    );
    assert!(ready.again);
    let seen = step(Some(InstallReady), false, Install::Absent);
    check("ready", &seen, Rule::O10, Installing, &install);
    let seen = step(Some(Installing), true, Install::Absent);
    check(
        "its execution is gone",
        &seen,
        Rule::O10,
        Installing,
        &install,
    );
    let seen = step(Some(Succeeded), true, Install::Outdated);
    check("changed", &seen, Rule::O10, Installing, &install);
    let seen = step(Some(Installing), true, Install::Working);
    check("at work", &seen, Rule::O10, Installing, &[]);
    let seen = step(Some(Succeeded), true, Install::Leaving(None));
    check("somebody removes it", &seen, Rule::O10, Installing, &[]);
    let seen = step(Some(Installing), true, Install::Ready);
    let decision = check("runs", &seen, Rule::O10, Succeeded, &[]);
    assert_eq!(decision.reason, Reason::Running);
    let seen = step(Some(Installing), true, Install::Failed("no image".into()));
    let decision = check("failed", &seen, Rule::O10, Failed, &[]);
    assert_eq!(decision.message, "no image");
}

#[test]
fn o10_nothing_is_installed_while_something_is_wrong_or_missing() {
    let invalid = new_b(|seen| seen.problem = Some("no version".into()));
    let decision = check("invalid", &invalid, Rule::O10, Failed, &[]);
    assert_eq!(decision.reason, Reason::InvalidSpec);
    let with = |begun, status, remedy| {
        new_b(|seen| {
            seen.me.begun = begun;
            seen.needs = vec![need(status, remedy)];
        })
    };
    let missing = RequirementStatus::NotPresent;
    let decision = check(
        "missing",
        &with(false, missing, Remedy::Nothing),
        Rule::O10,
        Pending,
        &[],
    );
    assert_eq!(decision.reason, Reason::RequirementsNotMet);
    assert!(decision.message.contains("databases.example.org"));
    assert!(decision.waiting_on[0].reason.contains("nobody brings it"));
    check(
        "lost",
        &with(true, missing, Remedy::Nothing),
        Rule::O10,
        Failed,
        &[],
    );
    let write = [Action::WriteDefinition(0)];
    let own = with(false, missing, Remedy::WriteDefinition);
    assert!(check("its own kind", &own, Rule::O10, Pending, &write).again);
    let unfit = RequirementStatus::PresentNotSatisfied;
    let decision = check(
        "refused",
        &with(false, unfit, Remedy::Refuse),
        Rule::O10,
        Failed,
        &[],
    );
    assert_eq!(decision.reason, Reason::RequirementsRefused);
    let present = with(false, RequirementStatus::Present, Remedy::WriteDefinition);
    check("present", &present, Rule::O10, InstallReady, &[]);
}

#[test]
fn o10_whose_turn_it_is() {
    type Row = (&'static str, Vec<Member>, Option<Reason>);
    let succeeded = |name, version, replaces| begun(name, version, replaces, Succeeded);
    let mut obstinate = succeeded("a", "1.0.0", "");
    obstinate.upgradeable = Err("a backup runs".into());
    let marked = Member {
        marked: true,
        ..begun("a", "1.0.0", "", Deleting)
    };
    let stuck = Member {
        stuck: true,
        ..fresh("c", "3.0.0", "a")
    };
    let a = || succeeded("a", "1.0.0", "");
    let first = Some(Reason::AnotherFirst);
    let rows: [Row; 16] = [
        ("alone", vec![], None),
        (
            "an older one is there",
            vec![fresh("a", "1.0.0", "")],
            first,
        ),
        ("a newer one is there", vec![fresh("c", "3.0.0", "b")], None),
        ("it replaces the one that runs", vec![a()], None),
        ("which failed", vec![begun("a", "1.0.0", "", Failed)], None),
        (
            "which is at work",
            vec![begun("a", "1.0.0", "", Installing)],
            first,
        ),
        (
            "which forbids it",
            vec![obstinate],
            Some(Reason::NotUpgradeable),
        ),
        ("which goes", vec![marked], first),
        (
            "a higher one does so as well",
            vec![a(), fresh("c", "3.0.0", "a")],
            first,
        ),
        ("which can't be", vec![a(), stuck], None),
        (
            "or came to nothing",
            vec![
                a(),
                Member {
                    phase: Some(Failed),
                    ..fresh("c", "3.0.0", "a")
                },
            ],
            None,
        ),
        (
            "or was begun",
            vec![a(), begun("c", "3.0.0", "a", Installing)],
            first,
        ),
        (
            "a successor is being installed",
            vec![begun("c", "3.0.0", "b", Installing)],
            first,
        ),
        (
            "it doesn't replace the one that runs",
            vec![succeeded("z", "1.5.0", "")],
            Some(Reason::NoPath),
        ),
        (
            "a higher one runs",
            vec![succeeded("z", "9.0.0", "")],
            Some(Reason::Downgrade),
        ),
        (
            "the same version runs",
            vec![succeeded("z", "2.0.0", "")],
            Some(Reason::NoPath),
        ),
    ];
    for (what, others, waits) in rows {
        let decision = decide(&new_b(|seen| seen.others = others));
        let expected = waits.unwrap_or(Reason::RequirementsMet);
        assert_eq!(decision.reason, expected, "{what}: {decision:#?}");
        assert_eq!(decision.waiting_on.is_empty(), waits.is_none(), "{what}");
        assert!(decision.actions.is_empty(), "{what}");
    }
    let far = new_b(|seen| {
        seen.me = fresh("c", "3.0.0", "b");
        seen.others = vec![a(), fresh("b", "2.0.0", "a")];
    });
    let decision = decide(&far);
    assert_eq!(decision.reason, Reason::AnotherFirst);
    assert_eq!(decision.waiting_on[0].object.as_ref().unwrap().name, "b");
}

#[test]
fn o10_the_finalizer_comes_first() {
    let decision = decide(&new_b(|seen| seen.held = false));
    assert_eq!(decision.actions, [Action::Hold]);
    assert!(decide(&new_b(|_| {})).actions.is_empty(), "it is there");
    let marked = new_b(|seen| {
        seen.held = false;
        seen.me.marked = true;
    });
    assert!(decide(&marked).actions.is_empty(), "it goes");
}

#[test]
fn o11_what_the_catalog_has_is_asked_for() {
    let with = |status| {
        let remedy = Remedy::Ask {
            package: "databases".into(),
            at_once: false,
        };
        new_b(|seen| seen.needs = vec![need(status, remedy)])
    };
    let missing = with(RequirementStatus::NotPresent);
    let decision = check("missing", &missing, Rule::O11, Pending, &[Action::Ask(0)]);
    assert_eq!(decision.waiting_on[0].rule, "O11");
    let present = with(RequirementStatus::Present);
    check("present", &present, Rule::O10, InstallReady, &[]);
    let refused = new_b(|seen| {
        seen.needs = missing.needs.clone();
        let unfit = RequirementStatus::PresentNotSatisfied;
        seen.needs.push(need(unfit, Remedy::Refuse));
    });
    check("in vain", &refused, Rule::O10, Failed, &[]);
}

fn upgrade(mode: UpgradeMode, adoption: AdoptionBy) -> Upgrade {
    Upgrade { mode, adoption }
}

/// `b` with a resource of these owners.
fn handing(mode: UpgradeMode, adoption: AdoptionBy, owners: &[&str]) -> Observed {
    taking_over(|seen| {
        seen.upgrade = upgrade(mode, adoption);
        seen.resources = vec![resource(owners)];
    })
}

#[test]
fn o12_the_successor_becomes_a_second_owner() {
    for adoption in [AdoptionBy::Landform, AdoptionBy::Operator] {
        let seen = handing(UpgradeMode::Managed, adoption, &["a*"]);
        let decision = check("first", &seen, Rule::O12, Succeeded, &[Action::AddOwner(0)]);
        assert_eq!(decision.reason, Reason::TakingOver);
        assert_eq!(decision.replaces, ["a"]);
        assert!(decision.again);
    }
    let own = handing(UpgradeMode::Managed, AdoptionBy::Landform, &["b*"]);
    check("it is its own", &own, Rule::O10, Succeeded, &[]);
    let strange = handing(UpgradeMode::Managed, AdoptionBy::Landform, &["z*"]);
    check(
        "of a version that it doesn't replace",
        &strange,
        Rule::O10,
        Succeeded,
        &[],
    );
    let unlabelled = taking_over(|seen| {
        seen.resources = vec![resource(&["a*"])];
        seen.resources[0].owners[0].selected = false;
    });
    let decision = check("without labels", &unlabelled, Rule::O12, Succeeded, &[]);
    assert!(decision.waiting_on[0].reason.contains("Database x"));
    let working = taking_over(|seen| {
        seen.install = Install::Working;
        seen.resources = vec![resource(&["a*"])];
    });
    check(
        "its objects are written again",
        &working,
        Rule::O10,
        Succeeded,
        &[],
    );
    let first = taking_over(|seen| {
        seen.install = Install::Working;
        seen.me.phase = Some(Installing);
        seen.resources = vec![resource(&["a*"])];
    });
    check("it doesn't run", &first, Rule::O10, Installing, &[]);
    let overtaken = taking_over(|seen| {
        seen.others.push(begun("c", "3.0.0", "b", Succeeded));
        seen.resources = vec![resource(&["a*"])];
    });
    assert!(
        decide(&overtaken).actions.is_empty(),
        "another one is the heir"
    );
}

#[test]
fn o13_what_both_own_becomes_the_successors() {
    let adopt = [Action::Adopt(0, "a#".into())];
    let seen = handing(UpgradeMode::Managed, AdoptionBy::Landform, &["a*", "b"]);
    check("by Landform", &seen, Rule::O13, Succeeded, &adopt);
    let seen = handing(UpgradeMode::Managed, AdoptionBy::Operator, &["a*", "b"]);
    let decision = check("by the operator", &seen, Rule::O13, Succeeded, &[]);
    assert!(decision.waiting_on[0].reason.contains("Database x"));
    let seen = handing(UpgradeMode::Managed, AdoptionBy::Landform, &["a*"]);
    assert_ne!(decide(&seen).actions, adopt, "not before it is an owner");
}

#[test]
fn o14_the_operator_hands_over_or_landform_does() {
    let adopt = [Action::Adopt(0, "a#".into())];
    for owners in [&["a*"][..], &["a*", "b"], &["a", "b*"]] {
        let seen = handing(UpgradeMode::Operator, AdoptionBy::Landform, owners);
        check("by Landform", &seen, Rule::O14, Succeeded, &adopt);
        let seen = handing(UpgradeMode::Operator, AdoptionBy::Operator, owners);
        let decision = check("by the operator", &seen, Rule::O14, Succeeded, &[]);
        assert_eq!(decision.waiting_on[0].rule, "O14");
    }
    let over = handing(UpgradeMode::Operator, AdoptionBy::Operator, &["b*"]);
    assert!(decide(&over).waiting_on.is_empty(), "it is over");
}

#[test]
fn o15_a_replaced_version_stays_as_long_as_it_owns_something() {
    let with = |resources: Vec<Resource>| {
        a_before_b(|seen| {
            seen.others[0] = remembering(seen.others[0].clone(), "a");
            seen.resources = resources;
        })
    };
    let owning = with(vec![resource(&["a*", "b"])]);
    let decision = check("it owns", &owning, Rule::O15, Replacing, &[]);
    assert!(decision.afterwards.is_empty());
    assert!(decision.waiting_on[0].reason.contains("Database x"));
    let bare = with(vec![resource(&["b*"])]);
    check("it owns nothing", &bare, Rule::O16, Replacing, &[]);
    assert_eq!(decide(&bare).afterwards, [Action::DeleteSelf]);
}

#[test]
fn o15_one_write_for_a_resource_of_two_old_owners() {
    let seen = new_b(|seen| {
        seen.me = begun("c", "3.0.0", "b", Succeeded);
        seen.install = Install::Ready;
        seen.others = vec![
            begun("a", "1.0.0", "", Replacing),
            begun("b", "2.0.0", "a", Replacing),
        ];
        seen.resources = vec![resource(&["a*", "b"])];
    });
    check(
        "two old owners",
        &seen,
        Rule::O12,
        Succeeded,
        &[Action::AddOwner(0)],
    );
}

#[test]
fn o16_a_replaced_version_that_owns_nothing_goes() {
    let remembered = || remembering(begun("b", "2.0.0", "a", Succeeded), "a");
    let with = |b: Member| a_before_b(|seen| seen.others = vec![b]);
    let decision = check("replaced", &with(remembered()), Rule::O16, Replacing, &[]);
    assert_eq!(decision.afterwards, [Action::DeleteSelf]);
    let held = [
        ("not remembered", begun("b", "2.0.0", "a", Succeeded)),
        (
            "being replaced itself",
            Member {
                phase: Some(Replacing),
                ..remembered()
            },
        ),
        (
            "at work",
            Member {
                phase: Some(Installing),
                ..remembered()
            },
        ),
        (
            "failed",
            Member {
                phase: Some(Failed),
                ..remembered()
            },
        ),
        (
            "marked",
            Member {
                marked: true,
                phase: Some(Deleting),
                ..remembered()
            },
        ),
        ("no successor", begun("b", "2.0.0", "z", Succeeded)),
    ];
    for (what, b) in held {
        assert!(decide(&with(b)).afterwards.is_empty(), "{what}");
    }
    let latecomer = new_b(|seen| {
        seen.me = fresh("a", "1.0.0", "");
        seen.others = vec![remembered()];
    });
    check("it came late", &latecomer, Rule::O16, Pending, &[]);
    assert_eq!(decide(&latecomer).afterwards, [Action::DeleteSelf]);
}

#[test]
fn o16_the_one_that_was_left_goes_after_those_in_between() {
    let with = |between: bool| {
        new_b(|seen| {
            seen.me = begun("c", "3.0.0", "b", Replacing);
            seen.install = Install::Ready;
            let mut a = remembering(begun("a", "1.0.0", "", Succeeded), "c");
            a.rollback_of = Some("c".into());
            seen.others = vec![a];
            if between {
                seen.others.push(begun("b", "2.0.0", "a", Replacing));
            }
        })
    };
    let decision = decide(&with(true));
    assert!(decision.afterwards.is_empty());
    assert_eq!(decision.waiting_on[0].object.as_ref().unwrap().name, "b");
    assert_eq!(decide(&with(false)).afterwards, [Action::DeleteSelf]);
}

#[test]
fn o17_a_failed_successor_leaves_the_old_one_running() {
    let with = |change: fn(&mut Member)| {
        a_before_b(|seen| {
            seen.others[0].phase = Some(Failed);
            seen.others[0].message = "no image".into();
            change(&mut seen.others[0]);
        })
    };
    let reassert = [Action::Reassert("b#/1".into())];
    let decision = check("failed", &with(|_| {}), Rule::O17, Succeeded, &reassert);
    let told = decision.higher.unwrap();
    assert_eq!(told.message, "b: no image; 1.0.0 goes on");
    let going = with(|b| {
        b.marked = true;
        b.phase = Some(Deleting);
    });
    check("it goes", &going, Rule::O17, Succeeded, &reassert);
    let withheld: [(&str, Edit); 4] = [
        ("it was just put right", |b| b.up_to_date = false),
        ("its install never began", |b| b.begun = false),
        ("it is at work", |b| b.phase = Some(Installing)),
        ("it is no successor", |b| b.edges = Edges::default()),
    ];
    for (what, change) in withheld {
        check(what, &with(change), Rule::O10, Succeeded, &[]);
    }
    let mut once = with(|_| {});
    once.me.reasserted_for = Some("b#/1".into());
    check("once is enough", &once, Rule::O10, Succeeded, &[]);
    let next = a_before_b(|seen| {
        seen.others[0].phase = Some(Failed);
        seen.others.push(begun("c", "3.0.0", "b", Installing));
    });
    check(
        "another successor is at work",
        &next,
        Rule::O10,
        Succeeded,
        &[],
    );
}

#[test]
fn o17_a_version_takes_its_place_back() {
    let back = |asked: bool| {
        a_before_b(|seen| {
            seen.me.rollback_of = asked.then(|| "b".to_owned());
            seen.me.reasserted_for = Some("b#/1".into());
            seen.upgrade = upgrade(UpgradeMode::Operator, AdoptionBy::Operator);
            seen.resources = vec![resource(&["b*"])];
        })
    };
    let adopt = [Action::Adopt(0, "b#".into())];
    check("asked", &back(true), Rule::O17, Succeeded, &adopt);
    assert!(decide(&back(false)).actions.is_empty(), "not asked");
    let mut over = back(true);
    over.others.clear();
    over.resources.clear();
    check(
        "over",
        &over,
        Rule::O10,
        Succeeded,
        &[Action::ForgetRollback],
    );
    let mut both = back(true);
    both.others[0].rollback_of = Some("a".into());
    assert_eq!(
        decide(&both).phase,
        Some(Replacing),
        "they cancel each other"
    );
}
