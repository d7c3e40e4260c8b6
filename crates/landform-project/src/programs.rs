//! Programs of hooks that are files of the project: another program is another hook, so that all objects of its kind run.
//!
//! A sum of the files that a Reconciler's command names becomes a variable of that command, which is part of its spec.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use landform_api::project::GROUP;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The variable in which a hook finds the sum of its own files.
const VARIABLE: &str = "LANDFORM_PROGRAM_DIGEST";
/// Longer files are no programs.
const LONGEST: u64 = 8 << 20;

/// Where the files of a project are that commands name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Programs {
    /// The sums of those that are there, by what commands call them.
    sums: BTreeMap<String, String>,
}

impl Programs {
    /// Reads the files that the commands of these objects name. `own` is the project's directory as the server knows it: a
    /// copy of the directory stands for it.
    pub(crate) fn read<'a>(
        objects: impl Iterator<Item = &'a Value>,
        root: &Path,
        own: &str,
    ) -> Self {
        let mut sums = BTreeMap::new();
        let from = std::env::current_dir().unwrap_or_default();
        let own = Path::new(own);
        let own = own.canonicalize().unwrap_or_else(|_| own.to_owned());
        for argument in objects.flat_map(command) {
            if let Some(file) = place(&from.join(argument), root, &own)
                && let Some(sum) = sum(&file)
            {
                sums.insert(argument.to_owned(), sum);
            }
        }
        Self { sums }
    }

    /// An object; a Reconciler with the sum of the files that its command names, if there are any.
    pub(crate) fn noted<'a>(&self, object: &'a Value) -> Cow<'a, Value> {
        let named = command(object).filter_map(|argument| self.sums.get(argument));
        let mut hash = Sha256::new();
        let mut any = false;
        for sum in named {
            any = true;
            hash.update(sum);
        }
        let mut noted = Cow::Borrowed(object);
        if any {
            let sum = format!("{:x}", hash.finalize());
            noted.to_mut()["spec"]["hook"]["env"][VARIABLE] = json!(sum[..16]);
        }
        noted
    }
}

/// The words of a Reconciler's command; none for all other objects.
fn command(object: &Value) -> impl Iterator<Item = &str> {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let group = api_version.split('/').next().unwrap_or_default();
    let is_hook = object["kind"] == "Reconciler" && group == GROUP;
    let words = object["spec"]["hook"]["command"].as_array();
    let words = words.filter(|_| is_hook).into_iter().flatten();
    words.filter_map(Value::as_str)
}

/// The file of the project that a path means, if it is one.
fn place(path: &Path, root: &Path, own: &Path) -> Option<PathBuf> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let below = real
        .strip_prefix(root)
        .or_else(|_| real.strip_prefix(own))
        .ok()?;
    let file = root.join(below).canonicalize().ok()?;
    (file.starts_with(root) && file.is_file()).then_some(file)
}

fn sum(file: &Path) -> Option<String> {
    if fs::metadata(file).ok()?.len() > LONGEST {
        return None;
    }
    Some(format!("{:x}", Sha256::digest(fs::read(file).ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_program_is_another_hook_and_a_copy_of_the_directory_has_its_own() {
        let (own, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let hook = own.path().join("hook.py");
        let reconciler = |kind: &str| {
            json!({
                "apiVersion": "landform.dev/v1alpha1", "kind": kind,
                "spec": {"hook": {"command": ["python3", hook, "/etc/hostname"]}},
            })
        };
        let noted = |directory: &Path, kind: &str| {
            let object = reconciler(kind);
            let root = directory.canonicalize().unwrap();
            let programs =
                Programs::read([&object].into_iter(), &root, own.path().to_str().unwrap());
            programs.noted(&object)["spec"]["hook"]["env"][VARIABLE].clone()
        };
        assert_eq!(noted(own.path(), "Reconciler"), Value::Null, "it is away");
        fs::write(&hook, "1").unwrap();
        fs::write(copy.path().join("hook.py"), "2").unwrap();
        let first = noted(own.path(), "Reconciler");
        assert!(first.is_string());
        assert_eq!(noted(own.path(), "Job"), Value::Null);
        let changed = noted(copy.path(), "Reconciler");
        assert!(changed.is_string() && changed != first);
        fs::write(&hook, "2").unwrap();
        assert_eq!(noted(own.path(), "Reconciler"), changed);
    }
}
