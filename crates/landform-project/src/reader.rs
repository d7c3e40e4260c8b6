//! Reads a project's directory, and remembers what it read: a sync reads only what has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use landform_api::project::{ProjectProblem, ProjectSpec, SETTINGS_FILE, SettingsSaid};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::blueprint::Blueprints;
use crate::ignore::Ignore;
use crate::parse::{self, Parsed};
use crate::place;
use crate::programs::Programs;
use crate::scan::{self, Form, Found, Limits, ScanError, Stamp, Tree};
use crate::settings::Settings;
use crate::settling::{Holds, Settling};

/// Clocks of file systems tick in milliseconds: a file that was written so recently may be written again without
/// its times moving, so it is read again the next time.
const FRESH_NANOS: i128 = 100_000_000;

/// Reads one project's directory, again and again.
#[derive(Debug, Default)]
pub struct Reader {
    limits: Limits,
    files: BTreeMap<String, Known>,
    blueprints: Blueprints,
    settings: Settling,
}

#[derive(Debug)]
struct Known {
    stamp: Stamp,
    fresh: bool,
    content: [u8; 32],
    /// What the template was rendered with.
    data: Option<[u8; 32]>,
    parsed: Arc<Parsed>,
}

/// What a directory says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// The settings that hold for all files.
    pub settings: Settings,
    /// Until when they hold though `landform.yaml` doesn't say all of them any more.
    pub settings_until: Option<u64>,
    /// What is remembered of the settings that are in force.
    pub(crate) said: Option<SettingsSaid>,
    /// What each file says.
    pub files: BTreeMap<String, Arc<Parsed>>,
    /// Files and directories that are there and could not be read.
    pub unreadable: BTreeSet<String>,
    /// Problems that no file of [`Reading::files`] has by itself.
    pub problems: Vec<ProjectProblem>,
    /// A sum for each blueprint, by its path.
    pub blueprints: BTreeMap<String, String>,
    /// The programs of hooks that are files of the project.
    pub(crate) programs: Programs,
    /// Where the blueprints are, by path.
    pub(crate) blueprint_places: BTreeMap<String, PathBuf>,
    /// The directory itself, without links.
    pub(crate) root: PathBuf,
    /// Directories whose changes matter.
    pub(crate) directories: BTreeMap<PathBuf, (u64, u64)>,
}

impl Reading {
    /// Whether nothing may be concluded from an object's absence in a file: the file can't be read, or not all
    /// of it.
    #[must_use]
    pub fn is_unsure(&self, file: &str) -> bool {
        if let Some(parsed) = self.files.get(file) {
            return !parsed.problems.is_empty();
        }
        self.unreadable.iter().any(|path| {
            let below = file.strip_prefix(path.as_str());
            below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// All problems of the files themselves, in the order of files and lines.
    #[must_use]
    pub fn all_problems(&self) -> Vec<ProjectProblem> {
        let of_files = self.files.values().flat_map(|parsed| &parsed.problems);
        let mut all: Vec<_> = of_files.chain(&self.problems).cloned().collect();
        all.sort();
        all
    }
}

/// Why nothing of a project can be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReadProblem {
    /// The directory.
    #[error(transparent)]
    Directory(#[from] ScanError),
    /// The settings, and none were read before.
    #[error("the project's settings can't be read: {}", .0.first().map(|problem| problem.message.as_str()).unwrap_or_default())]
    Settings(Vec<ProjectProblem>),
    /// The settings lack something that they said before the start, and may get it back until this time.
    #[error("{SETTINGS_FILE} doesn't say all that it said")]
    Unsettled(u64),
}

impl Reader {
    /// Allows other sizes.
    #[must_use]
    pub fn with_limits(limits: Limits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// What the settings said before a start.
    pub(crate) fn remember_settings(&mut self, said: &SettingsSaid) {
        self.settings.remember(said);
    }

    /// No object is left that stands for former settings only.
    pub(crate) fn nothing_is_left_behind(&mut self) {
        self.settings.nothing_is_left_behind();
    }

    /// Reads what has changed since the last time, at this time of day.
    ///
    /// # Errors
    /// When nothing at all can be said about the project.
    pub fn read(
        &mut self,
        directory: &Path,
        project: &str,
        spec: &ProjectSpec,
        now_ms: u64,
    ) -> Result<Reading, ReadProblem> {
        if !directory.is_dir() {
            // Otherwise it would be said that there are no settings.
            scan::scan(directory, &Ignore::default(), &self.limits)?;
        }
        let (settings, settings_until, mut problems) = self.settings(directory, spec, now_ms)?;
        let tree = scan::scan(directory, &Ignore::new(&settings.ignore), &self.limits)?;
        let Tree {
            root,
            files,
            blueprints,
            directories,
            problems: found,
            mut unreadable,
        } = tree;
        problems.extend(found);
        let data = settings.data(project);
        let sum: [u8; 32] = Sha256::digest(data.to_string()).into();
        self.files.retain(|path, _| files.contains_key(path));
        let mut read = BTreeMap::new();
        for (path, found) in files {
            match self.file(&path, &found, &data, sum) {
                Ok(Some(parsed)) => drop(read.insert(path, parsed)),
                Ok(None) => {}
                Err(error) => {
                    let message =
                        format!("can't be read: {error}; its objects are left as they are");
                    problems.push(place::of_file(&path, message));
                    unreadable.insert(path);
                }
            }
        }
        let now = now_nanos();
        let sources = read
            .values()
            .flat_map(|parsed: &Arc<Parsed>| &parsed.objects);
        let objects = sources.map(|source| &*source.object);
        let programs = Programs::read(objects, &root, &spec.directory);
        let blueprint_places = blueprints;
        let blueprints = self
            .blueprints
            .sums(&blueprint_places, |stamp| is_fresh(stamp, now));
        Ok(Reading {
            settings,
            settings_until,
            said: self.settings.in_force().map(Settings::said),
            files: read,
            unreadable,
            problems,
            blueprints,
            programs,
            blueprint_places,
            root,
            directories,
        })
    }

    /// The settings, and until when they hold if they are not all there; those of the last time, with what is wrong
    /// now, when they can't be read.
    fn settings(
        &mut self,
        directory: &Path,
        spec: &ProjectSpec,
        now_ms: u64,
    ) -> Result<(Settings, Option<u64>, Vec<ProjectProblem>), ReadProblem> {
        match Settings::load(directory) {
            Ok(read) => match self.settings.take(read, spec, now_ms) {
                Holds::These(settings, until) => Ok((settings.with(spec), until, Vec::new())),
                Holds::Unknown(until) => Err(ReadProblem::Unsettled(until)),
            },
            Err(problems) => match self.settings.in_force() {
                Some(before) => Ok((before.clone().with(spec), None, problems)),
                None => Err(ReadProblem::Settings(problems)),
            },
        }
    }

    /// Reads a file, unless it is as it was; none when it has gone meanwhile.
    fn file(
        &mut self,
        path: &str,
        found: &Found,
        data: &Value,
        sum: [u8; 32],
    ) -> std::io::Result<Option<Arc<Parsed>>> {
        let data_sum = (found.form == Form::Template).then_some(sum);
        if let Some(known) = self.files.get(path)
            && known.stamp == found.stamp
            && !known.fresh
            && known.data == data_sum
        {
            return Ok(Some(known.parsed.clone()));
        }
        let fresh = is_fresh(&found.stamp, now_nanos());
        let bytes = match fs::read(&found.real) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                self.files.remove(path);
                return Ok(None);
            }
            Err(error) => {
                self.files.remove(path);
                return Err(error);
            }
        };
        let content: [u8; 32] = Sha256::digest(&bytes).into();
        if let Some(known) = self.files.get_mut(path)
            && known.content == content
            && known.data == data_sum
        {
            (known.stamp, known.fresh) = (found.stamp, fresh);
            return Ok(Some(known.parsed.clone()));
        }
        let parsed = Arc::new(parsed(path, &bytes, found.form, data));
        let known = Known {
            stamp: found.stamp,
            fresh,
            content,
            data: data_sum,
            parsed: parsed.clone(),
        };
        self.files.insert(path.to_owned(), known);
        Ok(Some(parsed))
    }
}

fn parsed(path: &str, bytes: &[u8], form: Form, data: &Value) -> Parsed {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            let line = 1 + before.matches('\n').count();
            let begun = before.rfind('\n').map_or(0, |at| at + 1);
            let column = 1 + before[begun..].chars().count();
            let message = "this isn't UTF-8: save the file as UTF-8";
            let problem = ProjectProblem {
                line,
                column,
                ..place::of_file(path, message)
            };
            return Parsed {
                objects: Vec::new(),
                problems: vec![problem],
            };
        }
    };
    match form {
        Form::Plain => parse::parse(path, text),
        Form::Template => parse::render(path, text, data),
    }
}

fn now_nanos() -> i128 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| i128::try_from(now.as_nanos()).unwrap_or(i128::MAX))
}

fn is_fresh(stamp: &Stamp, now: i128) -> bool {
    // A time that was set by hand says nothing of when that happened.
    let (seconds, nanos) = stamp.modified.max(stamp.changed);
    let modified = i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
    modified + FRESH_NANOS >= now
}
