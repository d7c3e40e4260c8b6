//! Where blueprints come from, and a few of them that were read before.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use landform_api::landscaper::installation::BlueprintDefinition;
use landform_blueprint::{Blueprint, FileLimits, Files};
use parking_lot::Mutex;
use serde_json::Value;
use sha1::{Digest as _, Sha1};

use super::facts::BlueprintUsed;
use super::report::Trouble;

/// So many blueprints are kept after they were read.
const KEPT: usize = 256;
/// The sum of files that can't be read.
const UNREADABLE: &str = "unreadable";

/// Files of blueprints that count instead of those on disk, by path (see [`plain`]): what a plan is asked about.
pub type Overlay = BTreeMap<String, Files>;

/// Reads blueprints.
pub struct Blueprints {
    /// Paths are below this directory; without one, no path is allowed.
    directory: Option<PathBuf>,
    kept: Mutex<BTreeMap<String, Arc<Blueprint>>>,
    view: Mutex<View>,
}

/// Which files count.
enum View {
    /// Those on disk.
    Disk,
    /// Those that were there at the last update, whatever there is now: nothing has changed.
    Recorded,
    /// Below this path these, and no others; elsewhere those on disk.
    Instead(String, Overlay),
}

impl Blueprints {
    /// Blueprints in this directory, and those that are written into installations.
    #[must_use]
    pub fn new(directory: Option<PathBuf>) -> Self {
        Self {
            directory,
            kept: Mutex::default(),
            view: Mutex::new(View::Disk),
        }
    }

    /// The same, and until [`Blueprints::look`] no change of a file is seen.
    #[must_use]
    pub fn unseen(directory: Option<PathBuf>) -> Self {
        Self {
            view: Mutex::new(View::Recorded),
            ..Self::new(directory)
        }
    }

    /// From now on changes are seen. What is below a path may be given, in place of what is on disk.
    pub fn look(&self, instead: Option<(String, Overlay)>) {
        *self.view.lock() = match instead {
            Some((below, files)) => View::Instead(below, files),
            None => View::Disk,
        };
    }

    /// Reads the blueprint of an installation.
    pub(super) fn load(&self, from: &BlueprintDefinition) -> Result<Arc<Blueprint>, Trouble> {
        match (&from.inline, &from.path, &from.reference) {
            (Some(inline), None, None) => self.inline(&inline.filesystem),
            (None, Some(path), None) => {
                let files = self.files(path)?;
                let parsed = parse(files).map_err(|trouble| Trouble {
                    message: format!("{path}: {}", trouble.message),
                    ..trouble
                })?;
                Ok(Arc::new(parsed))
            }
            (None, None, Some(reference)) => Err(trouble(format!(
                "spec.blueprint.ref names the resource {:?} of a component, and components can't be read yet: use spec.blueprint.inline or spec.blueprint.path",
                reference.resource_name
            ))),
            (None, None, None) => Err(trouble(
                "spec.blueprint is empty: it needs inline (files in the installation) or path (a directory on the server)".into(),
            )),
            _ => Err(trouble(
                "spec.blueprint has more than one of inline, path and ref: keep one".into(),
            )),
        }
    }

    /// A sum of the files below a path, as they are now. None when that says nothing: no path is allowed here, or changes
    /// are not to be seen.
    pub(super) fn digest(&self, path: &str) -> Option<String> {
        if self.directory.is_none() || matches!(*self.view.lock(), View::Recorded) {
            return None;
        }
        Some(match self.files(path) {
            Ok(files) => digest_of(&files),
            Err(_) => UNREADABLE.to_owned(),
        })
    }

    fn inline(&self, filesystem: &Value) -> Result<Arc<Blueprint>, Trouble> {
        let key = filesystem.to_string();
        if let Some(kept) = self.kept.lock().get(&key) {
            return Ok(kept.clone());
        }
        let files = Files::from_inline(filesystem, &FileLimits::default());
        let blueprint = Arc::new(parse(files.map_err(|error| trouble(error.to_string()))?)?);
        let mut kept = self.kept.lock();
        if kept.len() >= KEPT {
            kept.pop_first();
        }
        kept.insert(key, blueprint.clone());
        Ok(blueprint)
    }

    /// Files on disk may have changed: they are read each time.
    fn files(&self, path: &str) -> Result<Files, Trouble> {
        let Some(directory) = &self.directory else {
            return Err(trouble(
                "spec.blueprint.path needs a directory of blueprints: start the server with --blueprints DIRECTORY".into(),
            ));
        };
        let below = Path::new(path);
        let plain_part =
            |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        if !below.components().all(plain_part) {
            return Err(trouble(format!(
                "spec.blueprint.path {path:?} must be below the server's directory of blueprints: neither absolute nor with .."
            )));
        }
        if let View::Instead(root, files) = &*self.view.lock()
            && Path::new(&plain(below)).starts_with(root)
        {
            let found = files.get(&plain(below)).cloned();
            return found.ok_or_else(|| {
                trouble(format!(
                    "{path}: there is no such blueprint: {path}/blueprint.yaml doesn't exist"
                ))
            });
        }
        let place = directory.join(below);
        if leads_outside(directory, &place) {
            return Err(trouble(format!(
                "spec.blueprint.path {path:?} is a link that leads out of the server's directory of blueprints"
            )));
        }
        let files = Files::from_path(&place, &FileLimits::default());
        files.map_err(|error| {
            if place.exists() {
                trouble(format!("{path}: {error}"))
            } else {
                trouble(format!(
                    "{path}: there is no such blueprint: {path}/blueprint.yaml doesn't exist"
                ))
            }
        })
    }
}

/// The sums of blueprints at one moment: each is made once, however many installations name it.
pub(super) struct Sums<'a> {
    blueprints: &'a Blueprints,
    known: Mutex<BTreeMap<String, Option<String>>>,
}

impl<'a> Sums<'a> {
    pub(super) fn new(blueprints: &'a Blueprints) -> Self {
        Self {
            blueprints,
            known: Mutex::default(),
        }
    }

    /// The sum of the files below a path, if that says anything.
    pub(super) fn of(&self, path: &str) -> Option<String> {
        let mut known = self.known.lock();
        if let Some(sum) = known.get(path) {
            return sum.clone();
        }
        let sum = self.blueprints.digest(path);
        known.insert(path.to_owned(), sum.clone());
        sum
    }

    /// Whether a blueprint's files are others than at the last update, or than those with which it failed. Where none are
    /// recorded, they count as the same.
    pub(super) fn are_others(&self, blueprint: Option<&BlueprintUsed>) -> bool {
        blueprint.is_some_and(|used| {
            let tried = if used.failed_with.is_empty() {
                &used.digest
            } else {
                &used.failed_with
            };
            !tried.is_empty() && self.of(&used.path).is_some_and(|sum| sum != *tried)
        })
    }
}

/// A path without `.`: two that lead to the same blueprint are the same.
#[must_use]
pub fn plain(path: &Path) -> String {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy()),
        _ => None,
    });
    parts.collect::<Vec<_>>().join("/")
}

fn digest_of(files: &Files) -> String {
    let mut digest = Sha1::new();
    for (path, content) in files.iter() {
        digest.update(path);
        digest.update([0]);
        digest.update(content.len().to_le_bytes());
        digest.update(content);
    }
    let digest = digest.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a path below a directory is, or passes through, a link to somewhere else. What isn't there leads nowhere.
fn leads_outside(directory: &Path, place: &Path) -> bool {
    match (directory.canonicalize(), place.canonicalize()) {
        (Ok(directory), Ok(place)) => !place.starts_with(directory),
        _ => false,
    }
}

fn parse(files: Files) -> Result<Blueprint, Trouble> {
    Blueprint::from_files(files).map_err(|error| trouble(error.to_string()))
}

fn trouble(message: String) -> Trouble {
    Trouble::configuration("ReadBlueprint", "InvalidBlueprint", message)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::os::unix::fs::symlink;

    use serde_json::json;

    use super::*;

    const BLUEPRINT: &str = "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\n";

    #[test]
    fn i13_a_sum_moves_with_every_file_and_with_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let place = root.path().join("shop");
        fs::create_dir_all(place.join("deep")).unwrap();
        fs::write(place.join("blueprint.yaml"), BLUEPRINT).unwrap();
        fs::write(place.join("deep/a"), "1").unwrap();
        let blueprints = Blueprints::unseen(Some(root.path().to_owned()));
        assert_eq!(blueprints.digest("shop"), None, "no change is seen yet");
        blueprints.look(None);
        let first = blueprints.digest("shop").unwrap();
        fs::write(place.join(".#a"), "an editor's").unwrap();
        fs::write(place.join("deep/a"), "1").unwrap();
        assert_eq!(blueprints.digest("./shop").unwrap(), first);
        let mut sums = BTreeSet::from([first.clone()]);
        for (file, text) in [("deep/a", "2"), ("b", ""), (".env", "x")] {
            fs::write(place.join(file), text).unwrap();
            assert!(sums.insert(blueprints.digest("shop").unwrap()), "{file}");
        }
        fs::rename(place.join("b"), place.join("c")).unwrap();
        assert!(sums.insert(blueprints.digest("shop").unwrap()), "renamed");
        fs::rename(&place, root.path().join("away")).unwrap();
        assert_eq!(blueprints.digest("shop").unwrap(), UNREADABLE);
        assert_eq!(Blueprints::new(None).digest("shop"), None);
    }

    #[test]
    fn what_a_plan_is_asked_about_counts_instead_of_what_is_on_disk() {
        let root = tempfile::tempdir().unwrap();
        for path in ["shop/web", "other"] {
            fs::create_dir_all(root.path().join(path)).unwrap();
            fs::write(root.path().join(path).join("blueprint.yaml"), BLUEPRINT).unwrap();
        }
        let blueprints = Blueprints::unseen(Some(root.path().to_owned()));
        let files = Files::from_inline(&json!({"blueprint.yaml": "x"}), &FileLimits::default());
        let overlay = Overlay::from([("shop/db".to_owned(), files.unwrap())]);
        blueprints.look(Some(("shop".into(), overlay)));
        assert_eq!(
            blueprints.files("shop/db").unwrap().get("blueprint.yaml"),
            Some(&b"x"[..])
        );
        let missing = format!("{:?}", blueprints.files("./shop/web").err());
        assert!(
            missing.contains("shop/web/blueprint.yaml doesn't exist"),
            "{missing}"
        );
        assert!(blueprints.files("other").is_ok());
    }

    #[test]
    fn a_link_out_of_the_directory_is_refused_and_one_inside_is_followed() {
        let root = tempfile::tempdir().unwrap();
        let (inside, outside) = (root.path().join("inside"), root.path().join("outside"));
        for directory in [inside.join("shop"), outside.join("shop")] {
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("blueprint.yaml"), BLUEPRINT).unwrap();
        }
        symlink(outside.join("shop"), inside.join("out")).unwrap();
        symlink(&outside, inside.join("above")).unwrap();
        symlink("../outside/shop", inside.join("relative")).unwrap();
        symlink("shop", inside.join("same")).unwrap();
        let blueprints = Blueprints::new(Some(inside));
        for path in ["shop", "same", "./shop"] {
            assert!(blueprints.files(path).is_ok(), "{path}");
        }
        for path in ["out", "above/shop", "relative"] {
            let trouble = format!("{:?}", blueprints.files(path).err());
            assert!(trouble.contains("leads out"), "{path}: {trouble}");
        }
        for path in ["../outside/shop", "/etc", "shop/../../outside"] {
            assert!(blueprints.files(path).is_err(), "{path}");
        }
    }
}
