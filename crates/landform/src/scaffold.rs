//! Files that a command makes for people to go on with: all of them or none, and never over others.

use std::path::{Component, Path, PathBuf};

use landform_api::project::SETTINGS_FILE;

use crate::schema::{BLUEPRINT, PROJECT, schema_of, text};
use crate::{AnyError, say};

/// Where the schemas lie that the first lines of files name, below a project's directory. Projects pass hidden directories over.
const SCHEMAS: &str = ".schemas";

/// Files that are to be written, by their paths below a directory.
#[derive(Debug, Default)]
pub(crate) struct Scaffold {
    pub(crate) files: Vec<(String, String)>,
}

impl Scaffold {
    pub(crate) fn add(&mut self, path: impl Into<String>, text: impl Into<String>) {
        self.files.push((path.into(), text.into()));
    }

    /// Writes the files into a directory and the schemas into the project's, and says which.
    pub(crate) fn write(&self, directory: &Path, project: &Path) -> Result<(), AnyError> {
        let taken: Vec<_> = self
            .files
            .iter()
            .map(|(path, _)| directory.join(path))
            .filter(|path| path.symlink_metadata().is_ok())
            .map(|path| path.display().to_string())
            .collect();
        if !taken.is_empty() {
            return Err(format!(
                "nothing was written, because there is already {}: choose another name, or another directory with --dir",
                taken.join(", ")
            )
            .into());
        }
        let mut written = Vec::new();
        for (path, content) in &self.files {
            let file = directory.join(path);
            if let Err(error) = write(&file, content) {
                // Half of it would be of no use.
                for file in &written {
                    let _ = std::fs::remove_file(file);
                }
                return Err(error);
            }
            written.push(file);
        }
        for name in [PROJECT, BLUEPRINT] {
            let schema = text(&schema_of(name)?)?;
            write(
                &project.join(SCHEMAS).join(format!("{name}.json")),
                &format!("{schema}\n"),
            )?;
        }
        for file in written {
            say(&format!("wrote {}\n", file.display()))?;
        }
        Ok(())
    }
}

fn write(file: &Path, content: &str) -> Result<(), AnyError> {
    let made = file.parent().map_or(Ok(()), std::fs::create_dir_all);
    let done = made.and_then(|()| std::fs::write(file, content));
    done.map_err(|error| format!("{} can't be written: {error}", file.display()).into())
}

/// Where something new belongs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The directory of the project that it is part of.
    pub(crate) project: PathBuf,
    /// Its own directory, relative to the project's; empty when it is that one.
    pub(crate) below: PathBuf,
    /// Whether the project has settings already.
    pub(crate) known: bool,
}

impl Place {
    /// A directory that is perhaps not there yet: part of the project around it, or else a project of its own.
    pub(crate) fn of(directory: &Path) -> Result<Self, AnyError> {
        let unclear = |error: std::io::Error| format!("the present directory is unknown: {error}");
        let whole = std::path::absolute(directory).map_err(unclear)?;
        let whole = without_dots(&whole);
        let around = whole
            .ancestors()
            .find(|around| around.join(SETTINGS_FILE).is_file());
        let project = around.unwrap_or(&whole).to_path_buf();
        let below = whole.strip_prefix(&project).unwrap_or(Path::new(""));
        Ok(Self {
            below: below.to_path_buf(),
            known: around.is_some(),
            project,
        })
    }

    /// A path below its own directory, as the project's files name it.
    pub(crate) fn named(&self, path: &str) -> String {
        self.below.join(path).display().to_string()
    }

    /// From a file that lies `depth` directories below its own one, the way to the schemas.
    pub(crate) fn schemas(&self, depth: usize) -> String {
        let up = self.below.components().count() + depth;
        format!("{}{SCHEMAS}", "../".repeat(up))
    }
}

/// The same path without `.` and `..`, by its words alone: it needn't exist.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn something_new_is_part_of_the_project_around_it_or_a_project_of_its_own() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path();
        let alone = Place::of(&root.join("shop")).unwrap();
        assert_eq!(alone.project, root.join("shop"));
        assert_eq!((alone.known, alone.named("page")), (false, "page".into()));
        assert_eq!(alone.schemas(1), "../.schemas");
        std::fs::write(root.join(SETTINGS_FILE), "").unwrap();
        let inside = Place::of(&root.join("x/../products/./shop")).unwrap();
        assert_eq!(inside.project, root);
        assert_eq!(
            (inside.known, inside.named("page")),
            (true, "products/shop/page".into())
        );
        assert_eq!(inside.schemas(1), "../../../.schemas");
    }

    #[test]
    fn nothing_is_written_over_a_file_that_is_there() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("b.yaml"), "mine").unwrap();
        let mut scaffold = Scaffold::default();
        scaffold.add("a.yaml", "");
        scaffold.add("b.yaml", "");
        let error = scaffold.write(home.path(), home.path()).unwrap_err();
        assert!(
            error.to_string().contains("b.yaml: choose another name"),
            "{error}"
        );
        assert!(!home.path().join("a.yaml").exists());
        let kept = std::fs::read_to_string(home.path().join("b.yaml"));
        assert_eq!(kept.unwrap(), "mine");
    }
}
