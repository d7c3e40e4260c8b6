//! A process with the engine and the reconciler of projects.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use landform_engine::Engine;
use landform_project::Projects;

use super::directory::Directory;
use crate::process::Process;
use crate::simulation::{RETRIES, World};

/// The engine with one project.
pub struct ProjectWorld {
    directory: Directory,
}

impl ProjectWorld {
    /// A world with this directory.
    pub(super) fn new(directory: Directory) -> Self {
        Self { directory }
    }

    pub(super) fn directory(&self) -> &Directory {
        &self.directory
    }
}

impl World for ProjectWorld {
    fn start<'a>(&'a self, process: &'a Process) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let around = process.surroundings();
            let directory = &self.directory;
            let projects = Projects::simulated(directory.root(), directory.notifier());
            let engine = Engine::builder(process.kube_client("engine"))
                .api_in_process()
                .reconciler(projects.reconciler())
                .clock(Arc::new(around.clock.clone()))
                .seed(around.seed)
                .start()
                .map_err(|error| error.to_string())?;
            projects.connect(&engine);
            Ok(())
        }
        .boxed()
    }

    fn patience(&self) -> Duration {
        RETRIES
    }

    fn process_ended(&self) {
        self.directory.notifier().forget();
    }
}
