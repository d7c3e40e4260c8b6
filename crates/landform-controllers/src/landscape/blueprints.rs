//! Where blueprints come from, and a few of them that were read before.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use landform_api::landscaper::installation::BlueprintDefinition;
use landform_blueprint::{Blueprint, FileLimits, Files};
use parking_lot::Mutex;
use serde_json::Value;

use super::report::Trouble;

/// So many blueprints are kept after they were read.
const KEPT: usize = 256;

/// Reads blueprints.
pub struct Blueprints {
    /// Paths are below this directory; without one, no path is allowed.
    directory: Option<PathBuf>,
    kept: Mutex<BTreeMap<String, Arc<Blueprint>>>,
}

impl Blueprints {
    /// Blueprints in this directory, and those that are written into installations.
    #[must_use]
    pub fn new(directory: Option<PathBuf>) -> Self {
        Self {
            directory,
            kept: Mutex::default(),
        }
    }

    /// Reads the blueprint of an installation.
    pub(super) fn load(&self, from: &BlueprintDefinition) -> Result<Arc<Blueprint>, Trouble> {
        match (&from.inline, &from.path, &from.reference) {
            (Some(inline), None, None) => self.inline(&inline.filesystem),
            (None, Some(path), None) => self.on_disk(path),
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
    fn on_disk(&self, path: &str) -> Result<Arc<Blueprint>, Trouble> {
        let Some(directory) = &self.directory else {
            return Err(trouble(
                "spec.blueprint.path needs a directory of blueprints: start the server with --blueprints DIRECTORY".into(),
            ));
        };
        let below = Path::new(path);
        let plain = |part: std::path::Component<'_>| {
            matches!(
                part,
                std::path::Component::Normal(_) | std::path::Component::CurDir
            )
        };
        if !below.components().all(plain) {
            return Err(trouble(format!(
                "spec.blueprint.path {path:?} must be below the server's directory of blueprints: neither absolute nor with .."
            )));
        }
        let place = directory.join(below);
        if leads_outside(directory, &place) {
            return Err(trouble(format!(
                "spec.blueprint.path {path:?} is a link that leads out of the server's directory of blueprints"
            )));
        }
        let files = Files::from_path(&place, &FileLimits::default());
        let files = files.map_err(|error| trouble(format!("{path}: {error}")))?;
        Ok(Arc::new(parse(files)?))
    }
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
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    const BLUEPRINT: &str = "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\n";

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
            assert!(blueprints.on_disk(path).is_ok(), "{path}");
        }
        for path in ["out", "above/shop", "relative"] {
            let trouble = format!("{:?}", blueprints.on_disk(path).err());
            assert!(trouble.contains("leads out"), "{path}: {trouble}");
        }
        for path in ["../outside/shop", "/etc", "shop/../../outside"] {
            assert!(blueprints.on_disk(path).is_err(), "{path}");
        }
    }
}
