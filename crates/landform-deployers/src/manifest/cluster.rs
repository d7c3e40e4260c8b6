//! Requests to the target, behind the fence.
//!
//! Before each write the call looks whether it was cancelled. A write that was sent is waited for, because
//! the target carries it out whether anybody waits or not: when a call has returned, all its writes have
//! ended. When a call is dropped instead, because its time is over, its last write goes on as a task, and
//! the item's next call begins when that has ended. Reads are dropped at once.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use kube::api::{Api, DeleteParams, PatchParams, PostParams, Preconditions};
use kube::core::request::Request;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Client, Resource as _};
use landform_api::kind::split_api_version;
use landform_engine::Change;
use parking_lot::Mutex;
use serde_json::Value;
use tokio_util::task::TaskTracker;

use super::Shared;
use super::answers::Limits;
use super::object::ObjectName;
use super::report;
use super::settled::Settled;
use super::target::Connection;
use crate::{DeployError, Job};

/// A target that doesn't answer a request within this time is taken for unreachable.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Who writes, in `managedFields`.
const FIELD_MANAGER: &str = "landform-manifest";

/// Where objects of a kind are.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) resource: ApiResource,
    pub(super) namespaced: bool,
}

/// What became of a request to delete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deletion {
    /// There is no such object any more.
    Gone,
    /// It is marked, and goes when its finalizers are gone.
    Marked,
    /// It isn't any more what it was.
    Changed,
}

/// The API of a target, for one call.
pub(super) struct Cluster<'a> {
    pub(super) job: &'a Job<'a>,
    pub(super) target: String,
    pub(super) namespace: String,
    client: Client,
    pub(super) limits: Option<Limits>,
    /// Whether it is Landform's own.
    pub(super) here: bool,
    pub(super) settled: &'a Settled,
    /// The item's writes that have not ended.
    writes: Arc<TaskTracker>,
    /// By `apiVersion` and kind; none when the target doesn't serve it.
    places: Mutex<BTreeMap<(String, String), Option<Place>>>,
}

impl<'a> Cluster<'a> {
    pub(super) fn new(job: &'a Job<'a>, connection: Connection, shared: Shared<'a>) -> Self {
        Self {
            writes: shared.writes,
            settled: shared.settled,
            job,
            target: connection.target,
            namespace: connection.namespace,
            client: connection.client,
            limits: connection.limits,
            here: connection.here,
            places: Mutex::default(),
        }
    }

    /// Where objects of a kind are; none when the target doesn't serve it. Asked once in a call.
    pub(super) async fn place(
        &self,
        api_version: &str,
        kind: &str,
    ) -> Result<Option<Place>, DeployError> {
        let key = (api_version.to_owned(), kind.to_owned());
        if let Some(known) = self.places.lock().get(&key) {
            return Ok(known.clone());
        }
        let Some((group, version)) = split_api_version(api_version) else {
            return Ok(None);
        };
        let list = if group.is_empty() {
            self.read(self.client.list_core_api_resources(version))
                .await
        } else {
            self.read(self.client.list_api_group_resources(api_version))
                .await
        };
        let list = match list? {
            Ok(list) => list,
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(None),
            Err(error) => return Err(report::of_target("Discover", &self.target, &error)),
        };
        // Subresources have a slash in their names.
        let resources = list.resources.into_iter();
        let resources = resources.filter(|resource| !resource.name.contains('/'));
        let mut places = self.places.lock();
        for resource in resources {
            let name = GroupVersionKind::gvk(group, version, &resource.kind);
            let place = Place {
                resource: ApiResource::from_gvk_with_plural(&name, &resource.name),
                namespaced: resource.namespaced,
            };
            places.insert((api_version.to_owned(), resource.kind), Some(place));
        }
        Ok(places.get(&key).cloned().flatten())
    }

    /// From a definition that is about to be applied.
    pub(super) fn learn(&self, api_version: &str, kind: &str, place: Place) {
        let key = (api_version.to_owned(), kind.to_owned());
        self.places.lock().insert(key, Some(place));
    }

    pub(super) fn api(&self, place: &Place, namespace: Option<&str>) -> Api<DynamicObject> {
        api(self.client.clone(), place, namespace)
    }

    /// Whether the item may delete an object of Landform itself without a right of its writer's: the server noted that it was made
    /// for this item. With definitions and namespaces go objects of others, so they must have been made with all rights.
    pub(super) fn is_made_here(&self, object: &ObjectName, seen: &DynamicObject) -> bool {
        let takes_others =
            ["Namespace", "CustomResourceDefinition"].contains(&object.kind.as_str());
        let maker = self.job.maker_of(seen);
        maker.is_some_and(|maker| maker.writer.is_none() || !takes_others)
    }

    pub(super) async fn get(
        &self,
        place: &Place,
        object: &ObjectName,
    ) -> Result<Option<DynamicObject>, DeployError> {
        let api = self.api(place, object.namespace.as_deref());
        match self.read(api.get(&object.name)).await? {
            Ok(found) => Ok(Some(found)),
            // By the number: of a kind that isn't served yet, Kubernetes says it without a reason.
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(report::of_object("Read", &self.target, object, &error)),
        }
    }

    /// Creates an object; none when there is one already.
    pub(super) async fn create(
        &self,
        place: &Place,
        object: &ObjectName,
        body: &Value,
    ) -> Result<Option<DynamicObject>, DeployError> {
        let path = DynamicObject::url_path(&place.resource, object.namespace.as_deref());
        let params = PostParams {
            field_manager: Some(FIELD_MANAGER.into()),
            ..PostParams::default()
        };
        let bytes = body.to_string().into_bytes();
        let request = Request::new(path).create(&params, bytes).map_err(|_| {
            DeployError::configuration("InvalidName", format!("{object} can't be asked for"))
        })?;
        let client = self.client.clone();
        match self
            .write(async move { client.request(request).await })
            .await?
        {
            Ok(created) => Ok(Some(created)),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(None),
            Err(error) => Err(report::of_object("Create", &self.target, object, &error)),
        }
    }

    /// Changes an object; none when it isn't any more what it was.
    pub(super) async fn patch(
        &self,
        place: &Place,
        object: &ObjectName,
        change: &Change,
    ) -> Result<Option<DynamicObject>, DeployError> {
        let path = DynamicObject::url_path(&place.resource, object.namespace.as_deref());
        let params = PatchParams {
            field_manager: Some(FIELD_MANAGER.into()),
            ..PatchParams::default()
        };
        let request = change.request(path, &object.name, &params).map_err(|_| {
            DeployError::configuration("InvalidName", format!("{object} can't be asked for"))
        })?;
        let client = self.client.clone();
        let request = async move { client.request(request).await };
        match self.write(request).await? {
            Ok(patched) => Ok(Some(patched)),
            Err(kube::Error::Api(status)) if [404, 409].contains(&status.code) => Ok(None),
            Err(error) => Err(report::of_object("Update", &self.target, object, &error)),
        }
    }

    /// Deletes an object, if it is as it was seen.
    pub(super) async fn delete(
        &self,
        place: &Place,
        object: &ObjectName,
        seen: &DynamicObject,
    ) -> Result<Deletion, DeployError> {
        let client = match self.here && !self.is_made_here(object, seen) {
            true => self.job.client()?,
            false => self.client.clone(),
        };
        let api = api(client, place, object.namespace.as_deref());
        let params = DeleteParams::background().preconditions(Preconditions {
            uid: seen.metadata.uid.clone(),
            resource_version: seen.metadata.resource_version.clone(),
        });
        let name = object.name.clone();
        let request = async move { api.delete(&name, &params).await };
        match self.write(request).await? {
            Ok(answer) if answer.is_left() => Ok(Deletion::Marked),
            Ok(_) => Ok(Deletion::Gone),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Deletion::Gone),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(Deletion::Changed),
            Err(error) => Err(report::of_object("Delete", &self.target, object, &error)),
        }
    }

    async fn read<T>(
        &self,
        request: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<Result<T, kube::Error>, DeployError> {
        let request = tokio::time::timeout(REQUEST_TIMEOUT, request);
        let answer = self.job.or_cancelled(request).await?;
        answer.map_err(|_| self.silent())
    }

    async fn write<T: Send + 'static>(
        &self,
        request: impl Future<Output = Result<T, kube::Error>> + Send + 'static,
    ) -> Result<Result<T, kube::Error>, DeployError> {
        if self.job.is_cancelled() {
            return Err(DeployError::cancelled());
        }
        let request = tokio::time::timeout(REQUEST_TIMEOUT, request);
        match self.writes.spawn(request).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err(self.silent()),
            Err(_) => {
                let message = format!("target {}: a request ended unexpectedly", self.target);
                Err(DeployError::transient("Request", "Unreachable", message))
            }
        }
    }

    fn silent(&self) -> DeployError {
        let message = format!(
            "target {}: no answer within {} s",
            self.target,
            REQUEST_TIMEOUT.as_secs()
        );
        DeployError::transient("Request", "Unreachable", message)
    }
}

fn api(client: Client, place: &Place, namespace: Option<&str>) -> Api<DynamicObject> {
    match namespace {
        Some(namespace) => Api::namespaced_with(client, namespace, &place.resource),
        None => Api::all_with(client, &place.resource),
    }
}
