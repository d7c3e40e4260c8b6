//! A directory of manifests in a home of its own, and `landform` in it.

use std::path::PathBuf;
use std::process::Command;

use landform_e2e::{Lines, landform, run};
use serde_json::Value;
use tempfile::TempDir;

/// A project's directory.
pub(crate) struct Project {
    pub(crate) home: TempDir,
}

impl Project {
    /// An empty one.
    pub(crate) fn empty() -> Self {
        let home = tempfile::tempdir().unwrap();
        let project = Self { home };
        std::fs::create_dir(project.directory()).unwrap();
        project
    }

    pub(crate) fn directory(&self) -> PathBuf {
        self.home.path().join("pair")
    }

    /// Saves as editors do: another file in its place.
    pub(crate) fn write(&self, file: &str, text: &str) {
        let hidden = self.directory().join(format!(".{file}.swp"));
        std::fs::write(&hidden, text).unwrap();
        std::fs::rename(hidden, self.directory().join(file)).unwrap();
    }

    pub(crate) fn edit(&self, file: &str, from: &str, to: &str) {
        let text = std::fs::read_to_string(self.directory().join(file)).unwrap();
        assert!(text.contains(from), "{text}");
        self.write(file, &text.replace(from, to));
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(landform());
        command
            .args(arguments)
            .current_dir(self.directory())
            .env("HOME", self.home.path())
            .env_remove("KUBECONFIG")
            .env_remove("NO_COLOR");
        command
    }

    pub(crate) fn up(&self, more: &[&str]) -> Lines {
        let mut arguments = vec!["up", ".", "--listen", "127.0.0.1:0"];
        arguments.extend(more);
        Lines::of(&mut self.command(&arguments))
    }

    /// Runs `landform` beside the one that is up, and returns what it prints.
    pub(crate) fn landform(&self, arguments: &[&str]) -> String {
        let done = run(&mut self.command(arguments));
        assert!(done.status.success(), "{}", done.report());
        done.stdout
    }

    pub(crate) fn get(&self, object: &str) -> Value {
        let text = self.landform(&["get", object, "-o", "json"]);
        serde_json::from_str(&text).unwrap()
    }
}

/// An installation as a manifest.
#[derive(Clone, Copy, Default)]
pub(crate) struct Installation<'a> {
    pub(crate) imports: &'a [&'a str],
    pub(crate) exports: &'a [&'a str],
    /// The schema of what is imported; anything when empty.
    pub(crate) schema: &'a str,
    /// The one deploy item; one of the mock deployer when empty.
    pub(crate) item: &'a str,
    /// What all exports are.
    pub(crate) value: &'a str,
    /// A target that is imported as `cluster`.
    pub(crate) target: Option<&'a str>,
}

impl Installation<'_> {
    /// Its manifest, under a name.
    pub(crate) fn named(self, name: &str) -> String {
        let each = |names: &[&str], form: &dyn Fn(&str) -> String| -> String {
            let all: Vec<_> = names.iter().map(|name| form(name)).collect();
            all.join(", ")
        };
        let wired = |name: &str| format!("{{name: {name}, dataRef: {name}}}");
        let or = |text: &str, other: &str| {
            if text.is_empty() {
                other.to_owned()
            } else {
                text.to_owned()
            }
        };
        let schema = or(self.schema, "{}");
        let declared = |name: &str| format!("{{name: {name}, type: data, schema: {schema}}}");
        let free = |name: &str| format!("{{name: {name}, type: data, schema: {{}}}}");
        let kind = "landscaper.gardener.cloud/kubernetes-cluster";
        let (targets, declared_target) = self.target.map_or_else(Default::default, |target| {
            (
                format!("{{name: cluster, target: {target}}}"),
                format!("{{name: cluster, type: target, targetType: {kind}}}"),
            )
        });
        let item = "{name: item, type: landscaper.gardener.cloud/mock, config: {}}";
        let value = or(self.value, "x");
        let results = each(self.exports, &|name| format!("{name}: {value}"));
        format!(
            r"apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Installation
metadata:
  name: {name}
spec:
  imports: {{data: [{}], targets: [{targets}]}}
  exports: {{data: [{}]}}
  blueprint:
    inline:
      filesystem:
        blueprint.yaml: |
          apiVersion: landscaper.gardener.cloud/v1alpha1
          kind: Blueprint
          imports: [{}{declared_target}]
          exports: [{}]
          deployExecutions:
          - name: items
            type: GoTemplate
            template: |
              deployItems:
              - {}
          exportExecutions:
          - name: exports
            type: GoTemplate
            template: |
              exports: {{{results}}}
",
            each(self.imports, &wired),
            each(self.exports, &wired),
            each(self.imports, &declared),
            each(self.exports, &free),
            or(self.item, item),
        )
    }
}
