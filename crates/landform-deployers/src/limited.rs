//! A deployer that serves some namespaces only.

use std::collections::BTreeSet;

use futures::future::BoxFuture;

use crate::{DeployError, Deployed, Deployer, Job, Kept};

/// Another deployer, for items of these namespaces. Those of others are left alone: other processes may serve them.
pub struct Limited<D> {
    deployer: D,
    namespaces: BTreeSet<String>,
}

impl<D: Deployer> Limited<D> {
    /// Limits a deployer.
    pub fn new(deployer: D, namespaces: impl IntoIterator<Item = String>) -> Self {
        Self {
            deployer,
            namespaces: namespaces.into_iter().collect(),
        }
    }
}

impl<D: Deployer> Deployer for Limited<D> {
    fn kind(&self) -> &str {
        self.deployer.kind()
    }

    fn serves(&self, namespace: &str) -> bool {
        self.namespaces.contains(namespace)
    }

    fn deploy<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<Deployed, DeployError>> {
        self.deployer.deploy(job)
    }

    fn remove<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<(), DeployError>> {
        self.deployer.remove(job)
    }

    fn keep<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<Kept, DeployError>> {
        self.deployer.keep(job)
    }

    fn keeps(&self) -> bool {
        self.deployer.keeps()
    }

    fn stop<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<(), DeployError>> {
        self.deployer.stop(job)
    }
}
