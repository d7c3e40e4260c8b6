//! Tables: a scenario in words, and what follows from it.

use landform_api::catalog::app_type::Offer;
use landform_api::catalog::{AppTypePhase, DefinitionPolicy, Phase, UpgradePolicy};
use semver::Version;

use super::{
    Action, Candidate, Decision, DefinitionState, Observed, Offered, Offering, OwnVersion, Trouble,
    decide,
};
use crate::Rule;

use AppTypePhase::{Deleting, Failed, Installing, Pending, Succeeded, Upgrading};

/// A change to what is seen.
type Edit = fn(&mut Observed);

pub(super) fn version(text: &str) -> Version {
    Version::parse(text).unwrap()
}

fn candidate(name: &str, of: &str) -> Candidate {
    Candidate {
        name: name.into(),
        version: version(of),
        troubles: Vec::new(),
    }
}

fn own(name: &str, of: &str, phase: Phase) -> OwnVersion {
    OwnVersion {
        name: name.into(),
        version: version(of),
        phase: Some(phase),
        marked: false,
        begun: true,
        mine: true,
        rollback_of: None,
        upgradeable: Ok(()),
        message: "no image".into(),
    }
}

fn trouble(reason: &'static str) -> Trouble {
    Trouble {
        reason,
        message: format!("it is {reason}"),
        unblock: format!("undo {reason}"),
    }
}

fn offered(step: Result<Option<Candidate>, Trouble>) -> Offering {
    Offering::Found(Offered {
        latest: candidate("b", "2.0.0"),
        next: vec![Offer {
            name: "b".into(),
            ..Offer::default()
        }],
        step,
    })
}

/// Nothing is installed, and the catalog has `b`; with what `change` makes of it.
fn new(change: impl FnOnce(&mut Observed)) -> Observed {
    let mut seen = Observed {
        marked: false,
        held: true,
        problem: None,
        rival: None,
        policy: UpgradePolicy::Automatic,
        approved: None,
        definition_policy: DefinitionPolicy::Keep,
        rollback: None,
        rolled_back_from: None,
        history: Vec::new(),
        versions: Vec::new(),
        offering: offered(Ok(None)),
        rollback_candidate: None,
        definitions: Vec::new(),
    };
    change(&mut seen);
    seen
}

/// `a` runs, and `b` could follow.
fn running(change: impl FnOnce(&mut Observed)) -> Observed {
    new(|seen| {
        seen.versions = vec![own("a", "1.0.0", Phase::Succeeded)];
        seen.offering = offered(Ok(Some(candidate("b", "2.0.0"))));
        change(seen);
    })
}

fn check(
    what: &str,
    seen: &Observed,
    rule: Rule,
    phase: AppTypePhase,
    actions: &[Action],
) -> Decision {
    let decision = decide(seen);
    assert_eq!(decision.rule, rule, "{what}: {decision:#?}");
    assert_eq!(decision.phase, phase, "{what}: {decision:#?}");
    assert_eq!(decision.actions, actions, "{what}: {decision:#?}");
    decision
}

fn create(name: &str) -> Action {
    Action::Create {
        name: name.into(),
        rollback_of: None,
    }
}

#[test]
fn o1_the_latest_version_is_installed_when_none_is() {
    check("none", &new(|_| {}), Rule::O1, Installing, &[create("b")]);
    let held = decide(&new(|seen| seen.held = false));
    assert_eq!(held.actions, [Action::Hold, create("b")]);
    let withheld: [(&str, Edit, AppTypePhase); 6] = [
        (
            "invalid",
            |seen| seen.problem = Some("no package".into()),
            Failed,
        ),
        ("a rival", |seen| seen.rival = Some("other".into()), Failed),
        (
            "unread",
            |seen| seen.offering = Offering::Unread("main".into()),
            Pending,
        ),
        (
            "nothing",
            |seen| seen.offering = Offering::Nothing(trouble("Absent")),
            Pending,
        ),
        (
            "trouble",
            |seen| {
                if let Offering::Found(found) = &mut seen.offering {
                    found.latest.troubles = vec![trouble("Requirements")];
                }
            },
            Pending,
        ),
        (
            "one goes",
            |seen| {
                seen.versions = vec![own("a", "1.0.0", Phase::Deleting)];
                seen.versions[0].marked = true;
            },
            Pending,
        ),
    ];
    for (what, change, phase) in withheld {
        check(what, &new(change), Rule::O1, phase, &[]);
    }
    let going = new(|seen| seen.versions = vec![own("b", "2.0.0", Phase::Installing)]);
    check("it is being installed", &going, Rule::O1, Installing, &[]);
}

#[test]
fn o2_what_runs_is_the_latest_or_it_is_said_why_not() {
    let latest = running(|seen| seen.offering = offered(Ok(None)));
    let decision = check("latest", &latest, Rule::O2, Succeeded, &[]);
    assert!(decision.blocked_by.is_empty());
    assert_eq!(decision.next.len(), 1);
    let unread = running(|seen| seen.offering = Offering::Unread("main".into()));
    check("unread", &unread, Rule::O2, Succeeded, &[]);
    let gone = running(|seen| seen.offering = Offering::Nothing(trouble("Absent")));
    let decision = check("gone", &gone, Rule::O2, Succeeded, &[]);
    assert_eq!(decision.blocked_by[0].unblock, "undo Absent");
    let failed = running(|seen| {
        seen.offering = offered(Ok(None));
        seen.versions[0].phase = Some(Phase::Failed);
    });
    check("failed", &failed, Rule::O2, Failed, &[]);
    assert_ne!(
        decide(&running(|_| {})).rule,
        Rule::O2,
        "a higher one can be had"
    );
}

#[test]
fn o4_a_higher_version_is_created_and_then_waited_for() {
    check(
        "higher",
        &running(|_| {}),
        Rule::O4,
        Upgrading,
        &[create("b")],
    );
    let coming = running(|seen| {
        seen.versions.push(own("b", "2.0.0", Phase::Installing));
    });
    let decision = check("created", &coming, Rule::O4, Upgrading, &[]);
    assert_eq!(decision.waiting_on[0].object.as_ref().unwrap().name, "b");
    let leaving = running(|seen| {
        seen.versions.push(own("b", "2.0.0", Phase::Deleting));
        seen.versions[1].marked = true;
    });
    check("one of its name goes", &leaving, Rule::O4, Succeeded, &[]);
    let back = running(|seen| seen.versions[0].rollback_of = Some("b".into()));
    check("a rollback is not over", &back, Rule::O4, Succeeded, &[]);
}

#[test]
fn o5_each_blocker_alone_blocks_and_says_what_would_unblock_it() {
    fn step(seen: &mut Observed, reason: &'static str) {
        let mut b = candidate("b", "2.0.0");
        b.troubles = vec![trouble(reason)];
        seen.offering = offered(Ok(Some(b)));
    }
    let blocked: [(&str, Edit); 10] = [
        ("NotApproved", |seen| seen.policy = UpgradePolicy::Manual),
        ("NotApproved", |seen| {
            seen.policy = UpgradePolicy::Manual;
            seen.approved = Some(version("1.9.9"));
        }),
        ("Pinned", |seen| seen.policy = UpgradePolicy::Pinned),
        ("Pinned", |seen| {
            seen.policy = UpgradePolicy::Pinned;
            seen.approved = Some(version("2.0.0"));
        }),
        ("RolledBack", |seen| {
            seen.rolled_back_from = Some(version("2.0.0"));
        }),
        ("NotFinal", |seen| {
            seen.versions[0].phase = Some(Phase::Replacing);
        }),
        ("NotUpgradeable", |seen| {
            seen.versions[0].upgradeable = Err("a backup runs".into());
        }),
        ("Requirements", |seen| step(seen, "Requirements")),
        ("Definitions", |seen| step(seen, "Definitions")),
        ("NoPath", |seen| {
            seen.offering = offered(Err(trouble("NoPath")));
        }),
    ];
    for (reason, change) in blocked {
        let decision = check(reason, &running(change), Rule::O5, Succeeded, &[]);
        let [blocked] = &decision.blocked_by[..] else {
            panic!("{reason}: {:?}", decision.blocked_by);
        };
        assert_eq!((&*blocked.rule, &*blocked.reason), ("O5", reason));
        assert!(
            !blocked.unblock.is_empty() && !blocked.message.is_empty(),
            "{reason}"
        );
    }
    let free: [(&str, Edit); 4] = [
        ("automatic", |_| {}),
        ("approved", |seen| {
            seen.policy = UpgradePolicy::Manual;
            seen.approved = Some(version("2.0.0"));
        }),
        ("approved beyond", |seen| {
            seen.policy = UpgradePolicy::Manual;
            seen.approved = Some(version("3.0.0"));
        }),
        ("rolled back and approved again", |seen| {
            seen.rolled_back_from = Some(version("2.0.0"));
            seen.approved = Some(version("2.0.0"));
        }),
    ];
    for (what, change) in free {
        check(what, &running(change), Rule::O4, Upgrading, &[create("b")]);
    }
    let other = running(|seen| seen.rolled_back_from = Some(version("1.5.0")));
    check(
        "another was left",
        &other,
        Rule::O4,
        Upgrading,
        &[create("b")],
    );
}

#[test]
fn o17_a_failed_upgrade_is_told_and_a_later_version_may_follow() {
    let failed = |change: fn(&mut Observed)| {
        running(|seen| {
            seen.versions.push(own("b", "2.0.0", Phase::Failed));
            seen.offering = offered(Ok(None));
            change(seen);
        })
    };
    let decision = check("failed", &failed(|_| {}), Rule::O17, Failed, &[]);
    assert!(decision.message.contains("1.0.0 goes on running"));
    assert_eq!(decision.blocked_by[0].reason, "UpgradeFailed");
    let later = failed(|seen| seen.offering = offered(Ok(Some(candidate("c", "3.0.0")))));
    check("a later one", &later, Rule::O4, Upgrading, &[create("c")]);
    let never_begun = failed(|seen| {
        seen.versions[1].begun = false;
        seen.offering = offered(Ok(Some(candidate("b", "2.0.0"))));
    });
    check("the same", &never_begun, Rule::O17, Failed, &[]);
    let around = failed(|seen| {
        seen.versions[1].begun = false;
        seen.offering = offered(Ok(Some(candidate("c", "3.0.0"))));
    });
    check("around it", &around, Rule::O4, Upgrading, &[create("c")]);
    let pinned = failed(|seen| {
        seen.policy = UpgradePolicy::Pinned;
        seen.offering = offered(Ok(Some(candidate("c", "3.0.0"))));
    });
    check("pinned", &pinned, Rule::O17, Failed, &[]);
}

#[test]
fn o17_what_a_rollback_does() {
    type Row = (
        &'static str,
        fn(&mut Observed),
        Vec<Action>,
        Option<&'static str>,
    );
    let delete = |name: &str| Action::Delete(vec![name.into()]);
    let forget = || Action::ForgetRollback;
    let instead = || Action::Create {
        name: "z".into(),
        rollback_of: Some("a".into()),
    };
    let take_back = || Action::TakeBack {
        name: "a".into(),
        of: "b".into(),
    };
    let rows: [Row; 11] = [
        ("nothing before", |_| {}, vec![forget()], None),
        (
            "nothing runs",
            |seen| seen.versions.clear(),
            vec![forget()],
            None,
        ),
        (
            "from the catalog",
            |seen| {
                seen.rollback_candidate = Some(candidate("z", "0.9.0"));
            },
            vec![instead(), forget()],
            Some("1.0.0"),
        ),
        (
            "which has trouble",
            |seen| {
                let mut z = candidate("z", "0.9.0");
                z.troubles = vec![trouble("Definitions")];
                seen.rollback_candidate = Some(z);
            },
            vec![forget()],
            None,
        ),
        (
            "an upgrade is given up",
            |seen| {
                seen.versions.push(own("b", "2.0.0", Phase::Failed));
            },
            vec![forget(), delete("b")],
            Some("2.0.0"),
        ),
        (
            "the former one is still there",
            |seen| {
                seen.versions[0].phase = Some(Phase::Replacing);
                seen.versions.push(own("b", "2.0.0", Phase::Succeeded));
            },
            vec![take_back(), forget()],
            Some("2.0.0"),
        ),
        (
            "and has not noticed that it was replaced",
            |seen| {
                seen.versions.push(own("b", "2.0.0", Phase::Succeeded));
            },
            vec![take_back(), forget()],
            Some("2.0.0"),
        ),
        (
            "the one to go back to must be gone first",
            |seen| {
                seen.versions.push(own("z", "0.9.0", Phase::Deleting));
                seen.versions[1].marked = true;
                seen.rollback_candidate = Some(candidate("z", "0.9.0"));
            },
            vec![],
            None,
        ),
        (
            "a crash came after it began",
            |seen| {
                seen.versions[0].rollback_of = Some("b".into());
                seen.versions.push(own("b", "2.0.0", Phase::Replacing));
            },
            vec![forget()],
            Some("2.0.0"),
        ),
        (
            "the same, while it is being installed",
            |seen| {
                seen.versions[0].rollback_of = Some("b".into());
                seen.versions[0].phase = Some(Phase::Installing);
                seen.versions.push(own("b", "2.0.0", Phase::Succeeded));
            },
            vec![forget()],
            Some("2.0.0"),
        ),
        (
            "it runs already",
            |seen| seen.rollback = Some("1.0.0".into()),
            vec![forget()],
            None,
        ),
    ];
    for (what, change, afterwards, left) in rows {
        let seen = running(|seen| {
            seen.rollback = Some("previous".into());
            change(seen);
        });
        let decision = decide(&seen);
        assert_eq!(decision.rule, Rule::O17, "{what}");
        assert!(decision.actions.is_empty(), "{what}");
        assert_eq!(decision.afterwards, afterwards, "{what}");
        assert_eq!(decision.rolled_back_from.as_deref(), left, "{what}");
    }
    let another = running(|seen| {
        seen.rollback = Some("0.9.0".into());
        seen.versions.push(own("b", "2.0.0", Phase::Installing));
    });
    let decision = check(
        "another one",
        &another,
        Rule::O17,
        Upgrading,
        &[delete("b")],
    );
    assert!(decision.afterwards.is_empty(), "it is not over");
    assert_ne!(decide(&running(|_| {})).rule, Rule::O17, "not asked for");
}

#[test]
fn o17_what_was_given_up_goes_even_after_a_crash() {
    let with = |change: fn(&mut Observed)| {
        running(|seen| {
            seen.versions.push(own("b", "2.0.0", Phase::Failed));
            seen.rolled_back_from = Some(version("2.0.0"));
            change(seen);
        })
    };
    let delete = [Action::Delete(vec!["b".into()])];
    check("given up", &with(|_| {}), Rule::O17, Upgrading, &delete);
    let withheld: [(&str, Edit); 3] = [
        ("approved again", |seen| {
            seen.approved = Some(version("2.0.0"));
        }),
        ("another version", |seen| {
            seen.rolled_back_from = Some(version("1.5.0"));
        }),
        ("somebody else's", |seen| seen.versions[1].mine = false),
    ];
    for (what, change) in withheld {
        assert!(decide(&with(change)).actions.is_empty(), "{what}");
    }
}

#[test]
fn o17_previous_is_the_latest_lower_version() {
    let history = |versions: &[&str]| -> Vec<(String, Version)> {
        versions
            .iter()
            .map(|found| ((*found).to_owned(), version(found)))
            .collect()
    };
    let rows: [(&str, &[&str], &str, Option<&str>); 5] = [
        ("previous", &["1.0.0", "2.0.0"], "3.0.0", Some("2.0.0")),
        (
            "previous",
            &["1.0.0", "2.0.0", "3.0.0"],
            "2.0.0",
            Some("1.0.0"),
        ),
        ("previous", &["1.0.0"], "1.0.0", None),
        ("1.5.0", &[], "2.0.0", Some("1.5.0")),
        ("nonsense", &["1.0.0"], "2.0.0", None),
    ];
    for (asked, before, now, expected) in rows {
        let found = super::rollback_target(asked, &history(before), &version(now));
        assert_eq!(found, expected.map(version), "{asked} {before:?} {now}");
    }
}

#[test]
fn o16_a_deletion_takes_versions_down_and_kinds_as_the_policy_says() {
    let definition = DefinitionState {
        name: "databases.example.org".into(),
        mine: true,
        heir: None,
        marked: false,
        blocker: String::new(),
    };
    let with = |policy, change: fn(&mut Observed)| {
        running(|seen| {
            seen.marked = true;
            seen.definition_policy = policy;
            seen.definitions = vec![definition.clone()];
            change(seen);
        })
    };
    let names = || vec!["databases.example.org".to_owned()];
    let versions = [Action::Delete(vec!["a".into()])];
    let kinds = [Action::DeleteDefinitions(names())];
    let release = [Action::ReleaseDefinitions(names())];
    let (keep, all) = (DefinitionPolicy::Keep, DefinitionPolicy::Delete);
    let gone: fn(&mut Observed) = |seen| seen.versions.clear();
    check(
        "versions",
        &with(keep, |_| {}),
        Rule::O16,
        Deleting,
        &versions,
    );
    let seen = with(keep, gone);
    let decision = check(
        "then it lets kinds go",
        &seen,
        Rule::O16,
        Deleting,
        &release,
    );
    assert_eq!(decision.afterwards, [Action::LetGo]);
    check(
        "kinds first",
        &with(all, |_| {}),
        Rule::O16,
        Deleting,
        &kinds,
    );
    let going = with(all, |seen| seen.definitions[0].marked = true);
    let decision = check("are waited for", &going, Rule::O16, Deleting, &[]);
    assert!(!decision.waiting_on.is_empty() && decision.afterwards.is_empty());
    let after = with(all, |seen| seen.definitions.clear());
    check("then versions", &after, Rule::O16, Deleting, &versions);
    let heir = with(all, |seen| seen.definitions[0].heir = Some("other".into()));
    check("another needs them", &heir, Rule::O16, Deleting, &versions);
    let strange = with(keep, |seen| seen.versions[0].mine = false);
    check(
        "somebody else's version",
        &strange,
        Rule::O16,
        Deleting,
        &release,
    );
    let free = with(keep, |seen| seen.held = false);
    let decision = check("nothing holds it", &free, Rule::O16, Deleting, &[]);
    assert!(decision.afterwards.is_empty());
    assert_ne!(decide(&running(|_| {})).rule, Rule::O16, "not marked");
}
