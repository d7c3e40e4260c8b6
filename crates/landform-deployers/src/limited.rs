//! A deployer that serves some namespaces only.

use std::collections::BTreeSet;

use futures::future::BoxFuture;

use crate::{DeployError, Deployed, Deployer, Job, Kept};

/// Another deployer, for items of these namespaces. Items of others fail, but what they deployed before can be removed.
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

    fn check(&self, job: &Job<'_>) -> Result<(), DeployError> {
        let (namespace, _) = job.name();
        if self.namespaces.contains(namespace) {
            return Ok(());
        }
        let served: Vec<&str> = self.namespaces.iter().map(String::as_str).collect();
        let message = format!(
            "items of type {} are not deployed in the namespace {namespace}: this server does that in {}",
            self.deployer.kind(),
            served.join(", ")
        );
        Err(DeployError::configuration("NamespaceNotServed", message))
    }
}

impl<D: Deployer> Deployer for Limited<D> {
    fn kind(&self) -> &str {
        self.deployer.kind()
    }

    fn deploy<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<Deployed, DeployError>> {
        match self.check(job) {
            Ok(()) => self.deployer.deploy(job),
            Err(error) => Box::pin(async { Err(error) }),
        }
    }

    fn remove<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<(), DeployError>> {
        self.deployer.remove(job)
    }

    fn keep<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<Kept, DeployError>> {
        match self.check(job) {
            Ok(()) => self.deployer.keep(job),
            Err(error) => Box::pin(async { Err(error) }),
        }
    }

    fn keeps(&self) -> bool {
        self.deployer.keeps()
    }

    fn stop<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<(), DeployError>> {
        self.deployer.stop(job)
    }
}
