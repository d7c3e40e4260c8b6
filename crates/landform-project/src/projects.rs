//! All projects of an engine: what they share, and what wakes them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use landform_api::project;
use landform_api::{GroupKind, GroupVersionKind};
use landform_engine::{Engine, Failure, Key, Related};
use parking_lot::Mutex;

use crate::apply::Kinds;
use crate::reconciler::ProjectReconciler;
use crate::state::{Memory, State};
use crate::watch::{Notifier, System};

/// All projects of an engine: makes their reconciler, and wakes them when files change.
#[derive(Clone)]
pub struct Projects {
    shared: Arc<Shared>,
}

/// What is done with the engine when something has changed.
type TellEngine = Box<dyn Fn(&Engine) + Send + Sync>;

pub(crate) struct Shared {
    /// Projects may be in this directory, or below it.
    root: Option<PathBuf>,
    engine: OnceLock<Engine>,
    /// Is called when files of blueprints have changed.
    blueprints: OnceLock<TellEngine>,
    pub(crate) states: Mutex<BTreeMap<String, Arc<State>>>,
    pub(crate) kinds: Kinds,
    followed: Mutex<BTreeSet<GroupKind>>,
    pub(crate) notifier: Arc<dyn Notifier>,
    /// Whether files are read where the run is, and not on a thread of their own.
    pub(crate) reads_inline: bool,
}

impl Projects {
    /// Projects whose directories are this one, or below it; without one, no directory is allowed.
    #[must_use]
    pub fn new(root: Option<PathBuf>) -> Self {
        Self::with(root, Arc::new(System), false)
    }

    /// Projects of a simulation, which tells of changes itself. Files are read where the run is: what another
    /// thread does would come at any time.
    #[must_use]
    pub fn simulated(root: PathBuf, notifier: Arc<dyn Notifier>) -> Self {
        Self::with(Some(root), notifier, true)
    }

    fn with(root: Option<PathBuf>, notifier: Arc<dyn Notifier>, reads_inline: bool) -> Self {
        Self {
            shared: Arc::new(Shared {
                root,
                engine: OnceLock::new(),
                blueprints: OnceLock::new(),
                states: Mutex::default(),
                kinds: Kinds::default(),
                followed: Mutex::default(),
                notifier,
                reads_inline,
            }),
        }
    }

    /// The reconciler, for an engine.
    #[must_use]
    pub fn reconciler(&self) -> ProjectReconciler {
        ProjectReconciler {
            shared: self.shared.clone(),
        }
    }

    /// Says what to do when files of blueprints have changed: which installations use them isn't known here.
    pub fn when_blueprints_change(&self, tell: impl Fn(&Engine) + Send + Sync + 'static) {
        // A second one would never be called; there is one.
        let _ = self.shared.blueprints.set(Box::new(tell));
    }

    /// Tells which engine runs the reconciler: it is asked for runs when files change.
    pub fn connect(&self, engine: &Engine) {
        // A second engine would never be asked; there is one.
        let _ = self.shared.engine.set(engine.clone());
    }
}

impl Shared {
    pub(crate) fn state(&self, name: &str) -> Arc<State> {
        self.states
            .lock()
            .entry(name.to_owned())
            .or_default()
            .clone()
    }

    /// Asks for a run that looks only at what changed.
    pub(crate) fn wake(&self, name: &str) {
        let state = self.states.lock().get(name).cloned();
        if let (Some(state), Some(engine)) = (state, self.engine.get()) {
            state.note();
            engine.ask(Key::new(Arc::new(project::kind().into()), "", name));
        }
    }

    pub(crate) fn blueprints_changed(&self) {
        if let (Some(tell), Some(engine)) = (self.blueprints.get(), self.engine.get()) {
            tell(engine);
        }
    }

    /// Tells all projects something of objects, and wakes those for which that matters.
    pub(crate) fn tell(&self, matters: impl Fn(&mut Memory) -> bool) {
        let states = self.states.lock().clone();
        for (project, state) in states {
            let matters = matters(&mut state.memory.lock());
            if matters {
                self.wake(&project);
            }
        }
    }

    /// From now on the ends of objects of these kinds reach the projects.
    pub(crate) async fn follow(&self, kinds: Vec<GroupVersionKind>) -> Result<(), Failure> {
        let Some(engine) = self.engine.get() else {
            return Ok(());
        };
        for kind in kinds {
            let group_kind: GroupKind = kind.clone().into();
            let own = group_kind == project::kind().into();
            if own || !self.followed.lock().insert(group_kind) {
                continue;
            }
            let related = Related::new(kind, |_| Vec::new()).when_moved(|_| 0);
            let relating = engine.relate(project::kind().into(), related).await;
            relating.map_err(|error| Failure::Transient(error.to_string()))?;
        }
        Ok(())
    }

    /// What stands for a directory in the right to use it: its first part below the directory of projects, or `.` for that one itself;
    /// none when the path may lead elsewhere.
    pub(crate) fn first_part(&self, directory: &Path) -> Option<String> {
        let roots = self.root.iter();
        let mut roots = roots.flat_map(|root| [Some(root.clone()), root.canonicalize().ok()]);
        let inside = roots.find_map(|root| directory.strip_prefix(root?).ok());
        let parts = inside.unwrap_or(directory).components();
        let parts = parts.map(|part| match part {
            Component::Normal(part) => Some(part.to_string_lossy().into_owned()),
            Component::CurDir => Some(".".to_owned()),
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => None,
        });
        let parts: Option<Vec<_>> = parts.collect();
        let first = parts?.into_iter().find(|part| part != ".");
        Some(first.unwrap_or_else(|| ".".to_owned()))
    }

    /// The directory of a project, if it is allowed.
    pub(crate) fn directory(&self, given: &str) -> Result<PathBuf, String> {
        let Some(root) = &self.root else {
            return Err("spec.directory needs a directory of projects: start the server with --projects DIRECTORY".into());
        };
        if given.is_empty() {
            return Err(
                "spec.directory is missing: name the directory that holds the project's files"
                    .into(),
            );
        }
        let unreadable = |path: &Path, error: std::io::Error| {
            format!("the directory {} can't be read: {error}", path.display())
        };
        let path = root.join(given);
        let root = root
            .canonicalize()
            .map_err(|error| unreadable(root, error))?;
        let real = path
            .canonicalize()
            .map_err(|error| unreadable(Path::new(given), error))?;
        if !real.starts_with(&root) {
            return Err(format!(
                "spec.directory {given:?} is not below the server's directory of projects"
            ));
        }
        Ok(real)
    }
}
