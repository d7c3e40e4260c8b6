//! `landform why` of the real binary for ten kinds of trouble in one project, word by word.

use landform_e2e::{DEADLINE, run};

use crate::project::{Installation, Project};

/// Times and generated names differ each time.
fn normalized(text: &str) -> String {
    let words = text.split(' ').map(|word| {
        let core = word.trim_end_matches([',', '\n', ';', ':']);
        let is_time =
            core.len() >= 20 && core.ends_with('Z') && core.contains('T') && core.starts_with("20");
        if is_time {
            word.replace(core, "TIME")
        } else {
            word.to_owned()
        }
    });
    let text = words.collect::<Vec<_>>().join(" ");
    // `…-item-xxxxx`: five characters that no word has.
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find("-item-") {
        let (before, after) = rest.split_at(at + "-item-".len());
        out.push_str(before);
        out.push_str("#####");
        rest = after.get(5..).unwrap_or_default();
    }
    out.push_str(rest);
    // A time at the end of a line is followed by the next line's words.
    let lines = out.lines().map(|line| match line.rsplit_once(' ') {
        Some((before, last)) if last.starts_with("20") && last.ends_with('Z') => {
            format!("{before} TIME")
        }
        _ => line.to_owned(),
    });
    lines.map(|line| format!("{line}\n")).collect()
}

/// Asks until the answer is as expected: what it is about may still be happening.
fn says(project: &Project, object: &str, expected: &str) {
    let until = std::time::Instant::now() + DEADLINE;
    loop {
        let answer = run(&mut project.command(&["why", object]));
        let told = normalized(&answer.stdout);
        if told == expected {
            return;
        }
        if std::time::Instant::now() > until {
            panic!(
                "why {object}:\n{told}\nexpected:\n{expected}\n{}",
                answer.stderr
            );
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}

const PLAIN: Installation<'_> = Installation {
    imports: &[],
    exports: &[],
    schema: "",
    item: "",
    value: "",
    target: None,
};

/// A kind whose hook hangs, and two objects of it.
pub(crate) const TOYS: &str = r#"apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: toys.toys.example.com}
spec:
  group: toys.example.com
  scope: Namespaced
  names: {kind: Toy, plural: toys, singular: toy}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: landform.dev/v1alpha1
kind: Reconciler
metadata: {name: toys}
spec:
  for: {group: toys.example.com, version: v1, kind: Toy}
  hook: {command: [sleep, "600"]}
  timeout: 60s
  refs: [{path: .spec.needs}]
---
apiVersion: toys.example.com/v1
kind: Toy
metadata: {name: car}
spec: {}
---
apiVersion: toys.example.com/v1
kind: Toy
metadata: {name: train}
spec: {needs: car}
"#;

const FAR: &str = r#"apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Target
metadata: {name: far}
spec:
  type: landscaper.gardener.cloud/kubernetes-cluster
  config:
    kubeconfig: |
      {"apiVersion": "v1", "kind": "Config", "current-context": "c",
       "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
       "clusters": [{"name": "k", "cluster": {"server": "http://127.0.0.1:1"}}],
       "users": [{"name": "u", "user": {"token": "t"}}]}
"#;

/// A version of an operator, as catalogs have it.
fn version(version: &str, more: &str) -> String {
    format!(
        r#"  - apiVersion: catalog.landform.dev/v1alpha1
    kind: OperatorVersion
    metadata: {{name: etcd.v{version}}}
    spec:
      package: etcd
      version: {version}{more}
      manages: {{matchLabels: {{app: etcd}}, kinds: [{{group: "", version: v1, kind: ConfigMap}}]}}
      install: {{manifests: {{objects: [{{apiVersion: v1, kind: ConfigMap, metadata: {{name: etcd-operator}}, data: {{version: "{version}"}}}}]}}}}
"#
    )
}

const CATALOG: &str = "apiVersion: catalog.landform.dev/v1alpha1\nkind: Catalog\nmetadata: {name: tests}\nspec:\n  inline:\n";

fn troubles() -> Project {
    let project = Project::empty();
    let write = |name: &str, installation: Installation<'_>| {
        project.write(&format!("{name}.yaml"), &installation.named(name));
    };
    write(
        "store",
        Installation {
            exports: &["db-url"],
            ..PLAIN
        },
    );
    write(
        "lonely",
        Installation {
            imports: &["db-uri"],
            ..PLAIN
        },
    );
    let fails = "{name: item, type: landform.dev/command, config: {command: [sh, -c, 'echo the disk is full >&2; exit 1']}}";
    write(
        "broken",
        Installation {
            exports: &["disk"],
            item: fails,
            ..PLAIN
        },
    );
    write(
        "behind",
        Installation {
            imports: &["disk"],
            ..PLAIN
        },
    );
    write(
        "a",
        Installation {
            imports: &["from-b"],
            exports: &["from-a"],
            ..PLAIN
        },
    );
    write(
        "b",
        Installation {
            imports: &["from-a"],
            exports: &["from-b"],
            ..PLAIN
        },
    );
    write(
        "base",
        Installation {
            exports: &["base-url"],
            ..PLAIN
        },
    );
    write(
        "user",
        Installation {
            imports: &["base-url"],
            ..PLAIN
        },
    );
    let port = "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: DataObject\nmetadata: {name: port}\ndata: many\n";
    project.write("port.yaml", port);
    write(
        "schema",
        Installation {
            imports: &["port"],
            schema: "{type: integer}",
            ..PLAIN
        },
    );
    let template = "{name: item, type: landscaper.gardener.cloud/mock, config: {x: {{ .imports.name | nindent }}}}";
    write(
        "template",
        Installation {
            item: template,
            ..PLAIN
        },
    );
    let slow =
        "{name: item, type: landform.dev/command, timeout: 1s, config: {command: [sleep, '600']}}";
    write(
        "slow",
        Installation {
            item: slow,
            ..PLAIN
        },
    );
    project.write("far.yaml", FAR);
    let away = "{name: item, type: landscaper.gardener.cloud/kubernetes-manifest, target: {import: cluster}, config: {apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2, kind: ProviderConfiguration, manifests: [{policy: manage, manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: m, namespace: default}}}]}}";
    write(
        "away",
        Installation {
            item: away,
            target: Some("far"),
            ..PLAIN
        },
    );
    project.write("toys.yaml", TOYS);
    project.write(
        "catalog.yaml",
        &format!("{CATALOG}{}", version("1.0.0", "")),
    );
    let etcd = "apiVersion: catalog.landform.dev/v1alpha1\nkind: AppType\nmetadata: {name: etcd}\nspec: {package: etcd, upgradePolicy: Manual}\n";
    project.write("etcd.yaml", etcd);
    project
}

#[test]
fn ten_kinds_of_trouble_each_name_their_root_cause() {
    let project = troubles();
    let mut up = project.up(&[]);
    up.expect(&["AppType/etcd", "→ Succeeded"]);
    up.expect(&["Installation/slow", "→ Failed"]);

    says(&project, "installation/lonely", "\
Installation/lonely is PendingDependencies since TIME

Installation/lonely PendingDependencies
└─ DataObject/db-uri missing: the import db-uri needs it, and it doesn't exist [I14]

Root cause
  DataObject/db-uri doesn't exist, and no installation in the namespace default exports it
  Missing, since TIME, rule I14
  → create DataObject/db-uri in the namespace default, let an installation export it, or change Installation/lonely in the file lonely.yaml; did you mean db-url, which Installation/store exports?
");
    says(&project, "installation/behind", "\
Installation/behind is PendingDependencies since TIME

Installation/behind PendingDependencies
└─ Installation/broken Failed: its phase is Failed, not Succeeded [I14]
   └─ Execution/broken Failed: the Execution broken has not succeeded [I16]
      └─ DeployItem/broken-item-##### Failed: the deploy item item has failed [E9]

Root cause
  DeployItem/broken-item-#####: the command ended with exit status: 1: the disk is full
  CommandFailed, since TIME
  → fix the blueprint or the imports of Installation/broken in the file broken.yaml; Landform goes on by itself when they change; if the cause is elsewhere, remove it and run: landform retry Installation/broken
");
    says(&project, "installation/b", "\
Installation/b is Failed since TIME

Root cause
  Installation/b: installations import from each other in a circle, so none of them can be first: DataObject.landscaper.gardener.cloud default/from-a → Installation.landscaper.gardener.cloud default/a → DataObject.landscaper.gardener.cloud default/from-b → Installation.landscaper.gardener.cloud default/b → DataObject.landscaper.gardener.cloud default/from-a; take one import out of it
  CyclicDependencies, since TIME
  → take one reference out of the circle, for instance in Installation/b in the file b.yaml; Landform goes on by itself then
");
    project.landform(&["delete", "installation/base", "--yes", "--wait=false"]);
    says(
        &project,
        "installation/base",
        "\
Installation/base is being deleted since TIME

Installation/base Succeeded, being deleted
└─ Installation/user Succeeded: it imports what this one exports [I31]

Root cause
  Installation/base waits for Installation/user: it imports what this one exports
  WaitedFor, since TIME, rule I31
  → delete Installation/user first, or change its imports, so that Installation/base can go
",
    );
    let next = version("1.1.0", "\n      replaces: etcd.v1.0.0");
    project.write(
        "catalog.yaml",
        &format!("{CATALOG}{}{next}", version("1.0.0", "")),
    );
    says(
        &project,
        "apptype/etcd",
        "\
AppType/etcd is Succeeded since TIME

Root cause
  AppType/etcd: 1.1.0 waits for approval
  NotApproved, since TIME, rule O5
  → approve it with `landform approve` (AppType/etcd is in the file etcd.yaml)
",
    );
    says(
        &project,
        "toy/train",
        "\
Toy/train is Pending

Toy/train Pending
└─ Toy/car Running: it is referred to and must have run first

Root cause
  Toy/car: it is being reconciled: appeared
  Running, since TIME
  → the hook `sleep` of Reconciler/toys was called at TIME and has not answered: see what it does
",
    );
    says(&project, "installation/schema", "\
Installation/schema is Failed since TIME

Root cause
  Installation/schema: import \"port\": has to be an integer, and is a string
  InvalidImports, since TIME
  → fix Installation/schema in the file schema.yaml, or what it imports (DataObject/port in the file port.yaml); Landform goes on by itself when that changes
");
    says(&project, "installation/template", "\
Installation/template is Failed since TIME

Root cause
  Installation/template: blueprint.yaml:10:89: `nindent` takes 2 arguments, and 1 are given
  InvalidBlueprint, since TIME
  → fix Installation/template in the file template.yaml, or what it imports; Landform goes on by itself when that changes
");
    says(&project, "installation/away", "\
Installation/away is Progressing since TIME

Installation/away Progressing
└─ Execution/away Progressing: it is in work [I11]
   └─ DeployItem/away-item-##### Progressing: it is in work [E7]

Root cause
  DeployItem/away-item-#####: target far: client error (Connect): tcp connect error: Connection refused (os error 111)
  Unreachable, since TIME
  → Landform tries again by itself until TIME; see that Target/far can be reached
");
    says(&project, "installation/slow", "\
Installation/slow is Failed since TIME

Installation/slow Failed
└─ Execution/slow Failed: the Execution slow has not succeeded [I16]
   └─ DeployItem/slow-item-##### Failed: the deploy item item has failed [E9]

Root cause
  DeployItem/slow-item-#####: the command did not end within the timeout of its deploy item
  TooLate, since TIME
  → find out why it took so long, or allow more time in Installation/slow in the file slow.yaml; then run: landform reconcile Installation/slow
");

    // The same for programs.
    let text = project.landform(&["why", "installation/behind", "--json"]);
    let why: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(why["kind"], "Why");
    assert_eq!(why["roots"][0]["rank"], "Person");
    assert_eq!(why["roots"][0]["object"]["kind"], "DeployItem");
    up.interrupt();
    up.finish();
}
