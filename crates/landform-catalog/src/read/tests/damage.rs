//! Every kind of damage, beside packages that are right.

use super::{problems, shown};
use crate::model::{Content, Payload};
use crate::read::{Limits, from_path, from_path_within, read};

/// A package that is right.
const GOOD: &str = "schema: olm.package\nname: good\ndefaultChannel: main\n---\nschema: olm.channel\n\
    package: good\nname: main\nentries: [{name: good.v1}]\n---\nschema: olm.bundle\npackage: good\n\
    name: good.v1\nproperties: [{type: olm.package, value: {packageName: good, version: 1.0.0}}]\n";

/// Reads a file beside a good one, and sees that the good one is there.
fn beside_good(text: &str) -> Content {
    let content = read([("good.yaml", GOOD), ("other.yaml", text)]);
    assert_eq!(shown(&content.packages["good"]), ["main: good.v1"]);
    let of_good = content
        .problems
        .iter()
        .find(|problem| problem.file.starts_with("good"));
    assert!(of_good.is_none(), "{of_good:?}");
    content
}

#[track_caller]
fn only(content: &Content, expected: &str) {
    let found = problems(content);
    assert!(
        found.len() == 1 && found[0].contains(expected),
        "expected {expected:?} in {found:#?}"
    );
}

/// A package `p`, with what stands in the channel's entries, and bundles `p.vN` of version N.0.0.
fn package(default: &str, entries: &str, bundles: &[u32]) -> String {
    let mut text = format!(
        "schema: olm.package\nname: p\ndefaultChannel: {default}\n---\nschema: olm.channel\npackage: p\n\
         name: main\nentries:\n{entries}\n"
    );
    for number in bundles {
        text.push_str(&bundle(
            &format!("p.v{number}"),
            &format!("{number}.0.0"),
            "",
        ));
    }
    text
}

fn bundle(name: &str, version: &str, more: &str) -> String {
    format!(
        "---\nschema: olm.bundle\npackage: p\nname: {name}\nproperties:\n- type: olm.package\n  value: \
         {{packageName: p, version: '{version}'}}\n{more}"
    )
}

#[test]
fn broken_yaml_costs_one_document() {
    let content = beside_good(&format!(
        "a: [\n---\n{}",
        package("main", "- name: p.v1", &[1])
    ));
    assert!(content.packages.contains_key("p"));
    only(&content, "this document is left out since it can't be read");
}

#[test]
fn broken_json_in_a_stream_costs_one_object() {
    let json = "{\"schema\": \"olm.package\", \"name\": \"p\", \"defaultChannel\": \"main\"}\n\
        {\"schema\": \"olm.channel\", \"package\": \"p\", \"name\": \"main\", \"entries\": [{\"name\": \"p.v1\"}]}\n\
        {\"schema\": \"olm.channel\", \"package\": \"p\", \"name\": }\n\
        {\"schema\": \"olm.bundle\", \"package\": \"p\", \"name\": \"p.v1\", \"properties\": [\
        {\"type\": \"olm.package\", \"value\": {\"packageName\": \"p\", \"version\": \"1.0.0\"}}]}\n";
    let content = beside_good(json);
    assert_eq!(shown(&content.packages["p"]), ["main: p.v1"]);
    only(
        &content,
        "other.yaml:3 [] the object that begins on line 3 is left out",
    );
}

#[test]
fn bytes_that_are_no_text_are_told() {
    let content = read([
        ("good.yaml", GOOD.as_bytes()),
        ("bad.yaml", b"a: \xff\xfe".as_slice()),
    ]);
    assert!(content.packages.contains_key("good"));
    only(&content, "bad.yaml [] byte 3 is no UTF-8 text");
}

#[test]
fn of_two_bundles_of_one_name_the_first_is_taken() {
    let text = package("main", "- name: p.v1", &[1]) + &bundle("p.v1", "1.5.0", "");
    let content = beside_good(&text);
    assert_eq!(content.packages["p"].bundles.len(), 1);
    assert_eq!(
        content.packages["p"].bundles[0].version.to_string(),
        "1.0.0"
    );
    only(
        &content,
        "[p] bundle p.v1 is also in other.yaml:11: that one is taken",
    );
}

#[test]
fn a_package_without_channels_is_listed() {
    let text = format!(
        "schema: olm.package\nname: p\ndefaultChannel: ''\n{}",
        bundle("p.v1", "1.0.0", "")
    );
    let content = beside_good(&text);
    assert_eq!(content.packages["p"].bundles.len(), 1);
    only(&content, "package p has no channel");
}

#[test]
fn an_entry_without_a_bundle_can_be_replaced() {
    let content = beside_good(&package(
        "main",
        "- name: p.v1\n- {name: p.v2, replaces: p.v1}",
        &[2],
    ));
    assert_eq!(shown(&content.packages["p"]), ["main: p.v1?, p.v2<-p.v1"]);
    only(
        &content,
        "other.yaml:9 [p] channel main names p.v1, and there is no such bundle",
    );
}

#[test]
fn a_default_channel_that_does_not_exist_is_told() {
    let content = beside_good(&package("best", "- name: p.v1", &[1]));
    assert_eq!(
        content.packages["p"].default_channel.as_deref(),
        Some("main")
    );
    only(
        &content,
        "other.yaml:1 [p] the default channel best doesn't exist: main, the only one",
    );
}

#[test]
fn a_bad_version_costs_the_bundle() {
    let text = package("main", "- name: p.v1\n- name: p.v2", &[1]) + &bundle("p.v2", "v2.0", "");
    let content = beside_good(&text);
    assert_eq!(shown(&content.packages["p"]), ["main: p.v1, p.v2?"]);
    only(&content, "bundle p.v2 is left out: \"v2.0\" is no version");
}

#[test]
fn a_bad_range_costs_the_edge() {
    let entries = "- name: p.v1\n- name: p.v2\n  replaces: p.v1\n  skipRange: '>=1.0.0 <<2'";
    let content = beside_good(&package("main", entries, &[1, 2]));
    assert_eq!(shown(&content.packages["p"]), ["main: p.v1, p.v2<-p.v1"]);
    only(&content, "other.yaml:12 [p] ");
    assert!(
        content.problems[0]
            .reason
            .contains("it stays in the channel")
    );
}

#[test]
fn a_bundle_without_a_package_property_is_left_out() {
    let text = package("main", "- name: p.v1\n- name: p.v2", &[1])
        + "---\nschema: olm.bundle\npackage: p\nname: p.v2\n";
    only(
        &beside_good(&text),
        "bundle p.v2 has no property olm.package",
    );
    let text = package("main", "- name: p.v1\n- name: p.v2", &[1])
        + &bundle("p.v2", "2.0.0", "").replace("packageName: p", "packageName: q");
    only(
        &beside_good(&text),
        "is of package p, and its properties olm.package say q 2.0.0",
    );
}

#[test]
fn documents_without_a_package_are_told() {
    only(
        &beside_good("schema: olm.bundle\nname: x.v1\n"),
        "this olm.bundle has no `package`",
    );
    only(
        &beside_good("schema: olm.channel\npackage: p\n"),
        "this olm.channel has no `name`",
    );
    only(
        &beside_good("schema: olm.package\n"),
        "this olm.package has no `name`",
    );
    only(
        &beside_good("schema: olm.package\nname: p\n"),
        "neither bundles nor channels",
    );
    only(&beside_good("schema: olm.semver\n"), "is a template");
    let content = beside_good("schema: somebody.else\n---\njust: text\n---\n- 1\n- 2\n");
    assert!(content.problems.is_empty());
}

#[test]
fn rubbish_in_base64_costs_the_installation() {
    for (data, expected) in [
        ("'%%%'", "its `data` is no base64"),
        ("/////w==", "its `data` is no UTF-8"),
        ("YTogWw==", "neither JSON nor YAML"),
        ("''", "it has no `data`"),
    ] {
        let object = format!("- type: olm.bundle.object\n  value: {{data: {data}}}\n");
        let text = package("main", "- name: p.v1", &[]) + &bundle("p.v1", "1.0.0", &object);
        let content = beside_good(&text);
        assert!(matches!(
            content.packages["p"].bundles[0].payload,
            Payload::Facts
        ));
        only(&content, expected);
    }
}

#[test]
fn deprecations_of_nothing_are_told() {
    let text = package("main", "- name: p.v1", &[1])
        + "---\nschema: olm.deprecations\npackage: p\nentries:\n\
           - {reference: {schema: olm.bundle, name: p.v7}, message: old}\n\
           - {reference: {schema: olm.package}, message: ''}\n\
           - {reference: {schema: olm.thing}, message: old}\n";
    let content = beside_good(&text);
    assert_eq!(
        content.packages["p"].deprecation.as_deref(),
        Some("it is deprecated")
    );
    let found = problems(&content);
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found[0].contains("olm.bundle p.v7, which isn't there"));
    assert!(found[1].contains("refers to \"olm.thing\""));
}

#[test]
fn a_package_in_two_files_is_joined() {
    let text = package("main", "- name: p.v1", &[1, 2]);
    let more =
        "schema: olm.channel\npackage: p\nname: next\nentries: [{name: p.v2, replaces: p.v1}]\n";
    let content = read([("a.yaml", text.as_str()), ("b/c.yaml", more)]);
    assert_eq!(
        shown(&content.packages["p"]),
        ["main: p.v1", "next: p.v2<-p.v1"]
    );
    assert_eq!(problems(&content), Vec::<String>::new());
}

const ANNOTATIONS: &str = "annotations:\n  operators.operatorframework.io.bundle.package.v1: p\n  \
    operators.operatorframework.io.bundle.channels.v1: main\n";

fn version(spec: &str) -> String {
    format!(
        "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata:\n  name: p.v1\n\
         spec:\n{spec}"
    )
}

fn bundle_with(spec: &str) -> Content {
    let version = version(spec);
    read([
        ("good.yaml", GOOD),
        ("p/1/manifests/p.yaml", version.as_str()),
        ("p/1/metadata/annotations.yaml", ANNOTATIONS),
    ])
}

#[test]
fn a_service_version_without_a_version_is_left_out() {
    let content = bundle_with("  displayName: P\n");
    assert!(!content.packages.contains_key("p") && content.packages.contains_key("good"));
    only(
        &content,
        "p/1/manifests/p.yaml:6 [p] the ClusterServiceVersion has no spec.version",
    );
    only(&bundle_with("  version: one\n"), "\"one\" is no version");
    only(&bundle_with("  version: 1.0\n"), "\"1.0\" is no version");
}

#[test]
fn a_definition_that_is_not_there_costs_the_installation() {
    let owned = "  version: 1.0.0\n  customresourcedefinitions:\n    owned:\n    - {name: as.a.io, kind: A, version: v1}\n";
    let content = bundle_with(owned);
    let bundle = &content.packages["p"].bundles[0];
    assert!(matches!(bundle.payload, Payload::Facts));
    assert_eq!(bundle.owned.len(), 1);
    only(
        &content,
        "the definition of A in a.io, which it owns, isn't there",
    );
}

#[test]
fn what_landform_does_not_do_is_told_and_the_version_stays() {
    let content = bundle_with(
        "  version: 1.0.0\n  minKubeVersion: latest\n  install: {strategy: helm}\n  webhookdefinitions: [{}]\n  \
         apiservicedefinitions: {owned: [{kind: B}]}\n  selector: {matchExpressions: [{key: a}]}\n",
    );
    assert_eq!(shown(&content.packages["p"]), ["main: p.v1"]);
    assert!(matches!(
        content.packages["p"].bundles[0].payload,
        Payload::Manifest(_)
    ));
    let found = problems(&content).join("\n");
    for expected in [
        "minKubeVersion \"latest\" is no version",
        "the install strategy \"helm\" is not known",
        "1 webhook(s)",
        "owned API services (B)",
        "matchExpressions of spec.selector",
    ] {
        assert!(found.contains(expected), "{expected} in {found}");
    }
}

#[test]
fn other_objects_and_conversions_are_told() {
    let version = version(
        "  version: 1.0.0\n  customresourcedefinitions:\n    owned:\n    - {name: as.a.io, kind: A, version: v1}\n",
    );
    let definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n\
        metadata: {name: as.a.io}\nspec:\n  group: a.io\n  names: {kind: A}\n  conversion: {strategy: Webhook}\n\
        ---\napiVersion: v1\nkind: Service\nmetadata: {name: metrics}\n";
    let content = read([
        ("p/1/manifests/p.yaml", version.as_str()),
        ("p/1/manifests/a.yaml", definition),
        ("p/1/metadata/annotations.yaml", ANNOTATIONS),
    ]);
    let found = problems(&content).join("\n");
    assert!(
        found.contains("converts between versions by a webhook"),
        "{found}"
    );
    assert!(
        found.contains("are installed, not: Service metrics"),
        "{found}"
    );
    let old = definition.replace("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1");
    let content = read([
        ("p/1/manifests/p.yaml", version.as_str()),
        ("p/1/manifests/a.yaml", old.as_str()),
        ("p/1/metadata/annotations.yaml", ANNOTATIONS),
    ]);
    assert!(
        problems(&content)
            .join("\n")
            .contains("which servers no longer take")
    );
    assert!(matches!(
        content.packages["p"].bundles[0].payload,
        Payload::Facts
    ));
}

#[test]
fn a_service_version_that_belongs_to_nothing_is_told() {
    let version = version("  version: 1.0.0\n");
    only(
        &read([("p.yaml", version.as_str())]),
        "nothing says which package p.v1 belongs to",
    );
}

#[test]
fn bundles_of_one_package_in_two_places_are_told() {
    let first = version("  version: 1.0.0\n");
    let second = first.replace("p.v1", "p.v2").replace("1.0.0", "2.0.0");
    let content = read([
        ("a/p/1/manifests/p.yaml", first.as_str()),
        ("a/p/1/metadata/annotations.yaml", ANNOTATIONS),
        ("b/p/2/manifests/p.yaml", second.as_str()),
        ("b/p/2/metadata/annotations.yaml", ANNOTATIONS),
    ]);
    assert_eq!(content.packages["p"].bundles.len(), 2);
    only(
        &content,
        "warning b/p/2/manifests/p.yaml:1 [p] bundles of package p are also in another directory",
    );
}

#[test]
fn damaged_versions_of_our_own_are_told() {
    let own = |metadata: &str, spec: &str| {
        format!(
            "apiVersion: catalog.landform.dev/v1alpha1\nkind: OperatorVersion\nmetadata: {metadata}\n\
             spec:\n  package: p\n{spec}"
        )
    };
    only(
        &beside_good(&own("{name: a}", "  version: x\n")),
        "other.yaml:6 [p] \"x\" is no version",
    );
    only(
        &beside_good(&own("{}", "  version: 1.0.0\n")),
        "it has no metadata.name",
    );
    only(
        &beside_good(&own("{name: a}", "  version: 1.0.0\n  skips: 7\n")),
        "its spec can't be read",
    );
    let content = beside_good(&own(
        "{name: a}",
        "  version: 1.0.0\n  replaces: '>=x <y'\n  skipRange: '>>1'\n",
    ));
    assert_eq!(shown(&content.packages["p"]), ["stable: a"]);
    let found = problems(&content);
    assert_eq!(found.len(), 2, "{found:#?}");
    let content = beside_good(&own(
        "{name: a}",
        "  version: 1.0.0\n  requirements:\n    minServerVersion: new\n    packages: [{package: q, range: '>>1'}]\n",
    ));
    assert_eq!(problems(&content).len(), 2);
    assert!(content.packages["p"].bundles[0].packages.is_empty());
}

#[test]
fn hidden_files_links_and_limits_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("catalog");
    std::fs::create_dir_all(root.join("a/b")).unwrap();
    std::fs::write(root.join("a/good.yaml"), GOOD).unwrap();
    std::fs::write(root.join("README.md"), "# not: [yaml").unwrap();
    std::fs::write(root.join(".hidden.yaml"), GOOD).unwrap();
    std::fs::write(directory.path().join("outside.yaml"), GOOD).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("../outside.yaml", root.join("link.yaml")).unwrap();
    let content = from_path(&root).unwrap();
    assert!(content.packages.contains_key("good"));
    let found = problems(&content);
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found[0].contains(".hidden.yaml [] hidden files are left out"));
    assert!(found[1].contains("link.yaml [] the link leads out of the directory"));

    let limits = Limits {
        file_bytes: 10,
        ..Limits::default()
    };
    let content = from_path_within(&root, &limits).unwrap();
    assert!(
        problems(&content)
            .iter()
            .any(|one| one.contains("larger than 10 bytes"))
    );
    let limits = Limits {
        files: 0,
        ..Limits::default()
    };
    let content = from_path_within(&root, &limits).unwrap();
    assert!(
        problems(&content)
            .iter()
            .any(|one| one.contains("more than 0 files"))
    );
    let limits = Limits {
        depth: 0,
        ..Limits::default()
    };
    let content = from_path_within(&root, &limits).unwrap();
    assert!(
        problems(&content)
            .iter()
            .any(|one| one.contains("nested deeper than 0"))
    );
    let error = from_path(&root.join("none")).unwrap_err();
    assert!(error.to_string().contains("none can't be read"), "{error}");
}
