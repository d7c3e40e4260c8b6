//! What is chosen, why nothing can be, and what would help.

use std::collections::BTreeSet;

use super::*;
use crate::testing::{catalog, content, kind, package, version};

fn one_catalog(packages: &[(&str, &str)]) -> Index {
    Index::new([catalog("main", 0, content(packages.iter().copied()))])
}

/// Each is `PACKAGE[@CHANNEL][:RANGE]`.
fn wanting(texts: &[&str]) -> Request {
    let wanted = texts.iter().map(|text| {
        let (rest, range) = match text.split_once(':') {
            Some((rest, range)) => (rest, Some(Range::parse(range).unwrap())),
            None => (*text, None),
        };
        let (package, channel) = match rest.split_once('@') {
            Some((package, channel)) => (package, Some(channel.into())),
            None => (rest, None),
        };
        Wanted {
            package: package.into(),
            channel,
            range,
            ..Wanted::default()
        }
    });
    Request {
        wanted: wanted.collect(),
        ..Request::default()
    }
}

impl Request {
    /// Adds what is installed, as a line of a package; `movable` when the line starts with a `~`.
    fn with(mut self, name: &str, line: &str) -> Self {
        let (movable, line) = match line.strip_prefix('~') {
            Some(line) => (true, line),
            None => (false, line),
        };
        let bundle = package(name, &format!("any {line}")).bundles.remove(0);
        self.installed.push(Installed {
            package: name.into(),
            bundle: bundle.into(),
            channel: None,
            movable,
        });
        self
    }

    fn on(mut self, server: &str) -> Self {
        self.server = Some(version(server));
        self
    }

    fn having(mut self, kinds: &[&str]) -> Self {
        self.kinds = Arc::new(kinds.iter().map(|text| kind(text)).collect());
        self
    }
}

fn shown(resolution: &Resolution<'_>) -> String {
    let chosen = resolution.chosen.values().map(|chosen| {
        let mark = match chosen.because {
            Because::Wanted => "",
            Because::Installed => "=",
            Because::Needed(_) => "+",
        };
        format!("{mark}{}:{}", chosen.package, chosen.bundle.version)
    });
    chosen.collect::<Vec<_>>().join(" ")
}

/// The answer, with `!` in front when the solver was needed.
fn answer(index: &Index, request: &Request) -> String {
    match resolve(index, request) {
        Ok(found) if found.solved => format!("!{}", shown(&found)),
        Ok(found) => shown(&found),
        Err(conflict) => panic!("{conflict}"),
    }
}

fn conflict(index: &Index, request: &Request) -> (Vec<String>, Vec<String>) {
    let conflict = resolve(index, request)
        .map(|found| shown(&found))
        .unwrap_err();
    let facts = conflict.facts.iter().map(ToString::to_string).collect();
    (
        facts,
        conflict.fixes.iter().map(ToString::to_string).collect(),
    )
}

const ETCD: &str = "stable 0.9.0 owns=etcd/EtcdCluster/v1
    stable 0.9.4 replaces=etcd.v0.9.0 owns=etcd/EtcdCluster/v1,etcd/EtcdBackup/v1
    beta 1.0.0 owns=etcd/EtcdCluster/v1";

#[test]
fn what_is_wanted_and_needed_is_chosen_without_a_solver() {
    let index = one_catalog(&[
        ("etcd", ETCD),
        (
            "vault",
            "a 1.0.0 needs=etcd/EtcdCluster/v1\na 1.1.0 replaces=vault.v1.0.0 needs=etcd/EtcdBackup/v1",
        ),
        ("app", "a 2.0.0 wants=vault:>=1.0.0_<2.0.0"),
    ]);
    let request = wanting(&["app"]);
    assert_eq!(
        answer(&index, &request),
        "app:2.0.0 +etcd:0.9.4 +vault:1.1.0"
    );
    let found = resolve(&index, &request).unwrap();
    assert_eq!(
        found.chosen["etcd"].because,
        Because::Needed("vault.v1.1.0")
    );
    assert_eq!(&**found.chosen["etcd"].catalog.unwrap(), "main");
    assert_eq!(&**found.chosen["etcd"].channel.unwrap(), "stable");
    assert_eq!(found.changes().count(), 3);
    // The cluster has the kind already.
    let request = wanting(&["vault"]).having(&["etcd/EtcdBackup/v1"]);
    assert_eq!(answer(&index, &request), "vault:1.1.0");
    assert_eq!(answer(&index, &wanting(&["etcd@beta"])), "etcd:1.0.0");
    assert_eq!(answer(&index, &wanting(&["etcd:<0.9.4"])), "etcd:0.9.0");
}

#[test]
fn preferences_are_what_is_installed_then_catalog_channel_and_version() {
    let owner = "a 1.0.0 owns=g/K/v1";
    let index = Index::new([
        catalog(
            "low",
            1,
            content([("x", "a 1.0.0 needs=g/K/v1"), ("zeta", owner)]),
        ),
        catalog(
            "high",
            9,
            content([
                ("beta", owner),
                ("alpha", owner),
                ("y", "a 1.0.0 needs=g/K/v1"),
            ]),
        ),
        catalog(
            "mid",
            5,
            content([("gamma", owner), ("z", "a 1.0.0 wants=zeta:*")]),
        ),
        catalog("other", 0, content([("w", "a 1.0.0 needs=g/K/v1")])),
    ]);
    // The same catalog first, then the highest priority, then the name.
    assert_eq!(answer(&index, &wanting(&["x"])), "x:1.0.0 +zeta:1.0.0");
    assert_eq!(answer(&index, &wanting(&["y"])), "+alpha:1.0.0 y:1.0.0");
    assert_eq!(answer(&index, &wanting(&["w"])), "+alpha:1.0.0 w:1.0.0");
    let request = wanting(&["w"]).with("gamma", "1.0.0 owns=g/K/v1");
    assert_eq!(answer(&index, &request), "=gamma:1.0.0 w:1.0.0");
    let index = one_catalog(&[
        ("app", "a 1.0.0 wants=lib:>=1.0.0"),
        (
            "lib",
            "stable 1.0.0
             stable 1.1.0 replaces=lib.v1.0.0
             stable 1.2.0 replaces=lib.v1.1.0 deprecated
             edge 9.0.0",
        ),
    ]);
    // The default channel before a higher version, what isn't deprecated before what is.
    assert_eq!(answer(&index, &wanting(&["app"])), "app:1.0.0 +lib:1.1.0");
    assert_eq!(answer(&index, &wanting(&["lib"])), "lib:1.2.0");
    let request = wanting(&["app"]).with("lib", "~1.0.0");
    assert_eq!(answer(&index, &request), "app:1.0.0 =lib:1.0.0");
}

#[test]
fn upgrades_only_go_where_the_channel_leads() {
    let index = one_catalog(&[(
        "foo",
        "a 1.0.0
         a 1.1.0 replaces=foo.v1.0.0
         a 1.2.0 replaces=foo.v1.1.0
         a 2.0.0",
    )]);
    assert_eq!(answer(&index, &wanting(&["foo"])), "foo:2.0.0");
    let mut request = wanting(&["foo"]).with("foo", "1.0.0");
    assert_eq!(answer(&index, &request), "foo:1.2.0");
    request.wanted[0].reach = Reach::Step;
    assert_eq!(answer(&index, &request), "foo:1.1.0");
    let request = wanting(&["foo"]).with("foo", "1.2.0");
    let found = resolve(&index, &request).unwrap();
    assert!(found.chosen["foo"].stays());
    assert_eq!(found.changes().count(), 0);
    // A catalog that has gone takes nothing away.
    let request = wanting(&["foo"]).with("foo", "1.2.0");
    assert_eq!(answer(&one_catalog(&[]), &request), "foo:1.2.0");
}

#[test]
fn the_solver_finds_what_fits_when_the_best_dont() {
    let index = one_catalog(&[
        (
            "a",
            "c 1.0.0 wants=lib:<2.0.0\nc 2.0.0 replaces=a.v1.0.0 wants=lib:>=2.0.0",
        ),
        ("b", "c 1.0.0 wants=lib:<2.0.0"),
        ("lib", "c 1.0.0\nc 2.0.0 replaces=lib.v1.0.0"),
    ]);
    assert_eq!(answer(&index, &wanting(&["a"])), "a:2.0.0 +lib:2.0.0");
    assert_eq!(
        answer(&index, &wanting(&["a", "b"])),
        "!a:1.0.0 b:1.0.0 +lib:1.0.0"
    );
    assert_eq!(
        answer(&index, &wanting(&["b", "a"])),
        "!a:1.0.0 b:1.0.0 +lib:1.0.0"
    );
    // Something installed may move when it is needed, and not when it is pinned.
    let request = wanting(&["a"]).with("lib", "~1.0.0");
    assert_eq!(answer(&index, &request), "!a:2.0.0 =lib:2.0.0");
    let request = wanting(&["a"]).with("lib", "1.0.0");
    assert_eq!(answer(&index, &request), "!a:1.0.0 =lib:1.0.0");
    // Nothing moves when that would break something else.
    let request = wanting(&["a"])
        .with("lib", "~1.0.0")
        .with("old", "1.0.0 wants=lib:1.x");
    assert_eq!(answer(&index, &request), "!a:1.0.0 =lib:1.0.0 =old:1.0.0");
}

#[test]
fn two_that_bring_the_same_kind_arent_chosen_together() {
    let index = one_catalog(&[
        ("one", "a 1.0.0 owns=g/K/v1"),
        ("two", "a 1.0.0\na 2.0.0 replaces=two.v1.0.0 owns=g/K/v2"),
        ("user", "a 1.0.0 needs=g/K/v2"),
    ]);
    assert_eq!(
        answer(&index, &wanting(&["one", "two"])),
        "!one:1.0.0 two:1.0.0"
    );
    let (facts, fixes) = conflict(&index, &wanting(&["one", "user"]));
    assert_eq!(
        facts,
        [
            "one is wanted",
            "user is wanted",
            "user 1.0.0 needs the kind K v2 of the group g",
            "only two 2.0.0 brings the kind K v2 of the group g",
            "one and two both bring the kind K of the group g, and only one may",
        ]
    );
    assert_eq!(
        fixes,
        [
            "add a catalog that offers the kind K v2 of the group g",
            "do without one",
            "do without user",
        ]
    );
}

#[test]
fn what_is_already_wrong_is_no_reason_to_refuse_others() {
    let index = one_catalog(&[("foo", "a 1.0.0 owns=g/Foo/v1")]);
    let request = wanting(&["foo"])
        .with("broken", "1.0.0 needs=g/Gone/v1 wants=gone:>=1.0.0")
        .with("first", "1.0.0 owns=g/K/v1")
        .with("second", "1.0.0 owns=g/K/v1");
    assert_eq!(
        answer(&index, &request),
        "=broken:1.0.0 =first:1.0.0 foo:1.0.0 =second:1.0.0"
    );
}

#[test]
fn a_missing_kind_or_package_is_named_with_who_needs_it() {
    let index = one_catalog(&[
        ("vault", "a 1.0.0 needs=etcd/EtcdBackup/v1"),
        ("app", "a 1.0.0 wants=gone:>=1.0.0"),
        ("picky", "a 1.0.0 wants=vault:>=2.0.0"),
    ]);
    let (facts, fixes) = conflict(&index, &wanting(&["vault"]));
    assert_eq!(
        facts,
        [
            "vault is wanted",
            "vault 1.0.0 needs the kind EtcdBackup v1 of the group etcd",
            "nothing in the catalogs that count brings the kind EtcdBackup v1 of the group etcd",
        ]
    );
    assert_eq!(
        fixes,
        ["add a catalog that offers the kind EtcdBackup v1 of the group etcd"]
    );
    let (facts, fixes) = conflict(&index, &wanting(&["app"]));
    assert_eq!(
        facts,
        [
            "app is wanted",
            "app 1.0.0 needs gone in the range >=1.0.0",
            "no catalog that counts offers gone",
        ]
    );
    assert_eq!(
        fixes,
        ["add a catalog that offers gone in the range >=1.0.0"]
    );
    let (facts, _) = conflict(&index, &wanting(&["picky"]));
    assert_eq!(facts[2], "the catalogs only have vault 1.0.0");
    let (facts, fixes) = conflict(&index, &wanting(&["nothing"]));
    assert_eq!(
        facts,
        ["nothing is wanted", "no catalog that counts offers nothing"]
    );
    assert_eq!(fixes, [""; 0]);
}

#[test]
fn ranges_channels_and_reach_are_facts_with_fixes() {
    let index = one_catalog(&[(
        "foo",
        "stable 1.0.0
         stable 1.1.0 replaces=foo.v1.0.0
         stable 3.0.0
         fast 2.0.0 replaces=foo.v1.1.0",
    )]);
    let (facts, fixes) = conflict(&index, &wanting(&["foo@stable:2.x"]));
    assert_eq!(
        facts,
        [
            "foo is wanted",
            "foo is wanted from the channel stable, which has 1.0.0, 1.1.0 and 3.0.0",
            "foo is wanted in the range 2.x, out of 1.0.0, 1.1.0 and 3.0.0",
        ]
    );
    assert_eq!(
        fixes,
        [
            "widen the range of foo so that 3.0.0 is in it",
            "take foo from the channel fast",
        ]
    );
    let (facts, fixes) = conflict(&index, &wanting(&["foo@none"]));
    assert_eq!(
        facts,
        [
            "foo is wanted",
            "foo is wanted from the channel none, but only has fast and stable"
        ]
    );
    assert_eq!(
        fixes,
        [
            "take foo from the channel fast",
            "take foo from the channel stable"
        ]
    );
    let request = wanting(&["foo"]).with("foo", "1.0.0");
    let request = request.going_to("foo", &version("3.0.0"));
    let conflict = resolve(&index, &request).unwrap_err();
    assert_eq!(
        conflict.to_string(),
        "foo is wanted; foo is wanted in the range 3.0.0, out of 1.0.0 and 1.1.0; foo 1.0.0 is \
         installed, and no way leads from there to others. What would help: widen the range of foo so \
         that 1.1.0 is in it; or remove foo and install 3.0.0 afresh."
    );
}

#[test]
fn pins_servers_and_ties_are_facts_with_fixes() {
    let index = one_catalog(&[
        ("a", "c 2.0.0 wants=lib:>=2.0.0"),
        ("lib", "c 1.0.0\nc 2.0.0 replaces=lib.v1.0.0"),
        (
            "new",
            "c 1.0.0 server=1.30.0\nc 1.1.0 server=1.32.0 replaces=new.v1.0.0",
        ),
    ]);
    let (facts, fixes) = conflict(&index, &wanting(&["a"]).with("lib", "1.0.0"));
    assert_eq!(
        facts,
        [
            "a is wanted",
            "lib 1.0.0 is installed and stays as it is",
            "a 2.0.0 needs lib in the range >=2.0.0",
            "only one version of lib can be installed",
        ]
    );
    assert_eq!(
        fixes,
        [
            "let lib go to 2.0.0",
            "add a catalog that offers lib in the range >=2.0.0",
        ]
    );
    assert_eq!(answer(&index, &wanting(&["new"]).on("1.31.0")), "new:1.0.0");
    let (facts, fixes) = conflict(&index, &wanting(&["new"]).on("1.28.0"));
    assert_eq!(
        facts,
        [
            "new is wanted",
            "new 1.0.0 and 1.1.0 need a server of at least 1.30.0, and this one is 1.28.0",
        ]
    );
    assert_eq!(
        fixes,
        [
            "run a server of 1.30.0 or newer",
            "run a server of 1.32.0 or newer"
        ]
    );
    let tied = content([("foo", "a 1.0.0")]);
    let index = Index::new([catalog("x", 1, tied.clone()), catalog("y", 1, tied)]);
    let (facts, fixes) = conflict(&index, &wanting(&["foo"]));
    assert_eq!(
        facts[1],
        "the catalogs x and y all offer foo with priority 1, so none of them wins"
    );
    assert_eq!(
        fixes[0],
        "take foo from the catalog x, by name or by a higher priority"
    );
}

#[test]
fn two_conflicts_at_once_need_two_changes() {
    let index = one_catalog(&[("a", "c 1.0.0"), ("b", "c 1.0.0 server=1.40.0")]);
    let (_, fixes) = conflict(&index, &wanting(&["a:>=2.0.0", "b"]).on("1.30.0"));
    assert_eq!(
        fixes[0],
        "widen the range of a so that 1.0.0 is in it, and run a server of 1.40.0 or newer"
    );
}

#[test]
fn a_version_that_is_skipped_says_so() {
    let index = one_catalog(&[("foo", "a 1.0.0\na 1.1.0 skips=1.0.0")]);
    let (facts, _) = conflict(&index, &wanting(&["foo:1.0.0"]));
    assert_eq!(
        facts[1],
        "foo is wanted in the range 1.0.0, out of 1.1.0 (1.0.0 is skipped by 1.1.0)"
    );
}

/// Fourteen users need a kind each, and thirteen owners bring one of them at a time. That there is no
/// answer takes a solver very long to see.
#[test]
fn a_catalog_made_to_be_hard_is_given_up() {
    const HOLES: usize = 13;
    let users: Vec<(String, String)> = (0..=HOLES)
        .map(|user| (format!("user{user}"), format!("a 1.0.0 needs=g/K{user}/v1")))
        .collect();
    let owners = (0..HOLES).map(|owner| {
        let lines = (0..=HOLES).map(|user| format!("a {}.0.0 owns=g/K{user}/v1", user + 1));
        (
            format!("owner{owner}"),
            lines.collect::<Vec<_>>().join("\n"),
        )
    });
    let packages: Vec<_> = users.iter().cloned().chain(owners).collect();
    let pairs: Vec<_> = packages
        .iter()
        .map(|(name, text)| (&**name, &**text))
        .collect();
    let names: Vec<&str> = users.iter().map(|(name, _)| &**name).collect();
    let conflict = resolve(&one_catalog(&pairs), &wanting(&names)).unwrap_err();
    assert_eq!(conflict.facts[0].kind, FactKind::TooHard);
}

mod properties;
