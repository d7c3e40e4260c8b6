//! Heavy requests: work on large values is carried out on threads of their own.
//!
//! To decode, patch, check, show and encode objects of megabytes takes tens of milliseconds and more, in one piece. On the
//! threads that serve connections everybody else would wait for it. So such a request as a whole runs on a thread
//! that may block; few do at once, and users take turns as they do in every lane.

use std::sync::Arc;

use http::Method;
use landform_store::RangeQuery;
use tokio::runtime::Handle;

use crate::body::Body;
use crate::error::{ApiError, Result};
use crate::identity::Identity;
use crate::registry::Resource;
use crate::request::accept::{Encoding, Shape};
use crate::request::path::{ObjectsPath, Target};
use crate::server::{ApiServer, Call};
use crate::view::View;

/// A body, or an object to be changed, is large from here on.
pub(crate) const LARGE_BYTES: usize = 64 * 1024;
/// A patch is: a short one may copy and move much.
const LARGE_PATCH_BYTES: usize = 8 * 1024;
/// What is written is, where checking it may take far more than its size says.
const LARGE_COSTLY_BYTES: usize = 4 * 1024;
/// Objects of which a list shows or selects something are, together.
const LARGE_LIST_BYTES: usize = 1024 * 1024;
/// At least this many heavy requests are carried out at once.
const PLACES_MIN: usize = 4;
/// One user may have this many heavy requests waiting: each holds its body in memory.
pub(crate) const WAITING_MAX: usize = 64;

/// How many heavy requests are carried out at once.
pub(crate) fn places() -> usize {
    std::thread::available_parallelism().map_or(PLACES_MIN, |cores| cores.get().max(PLACES_MIN))
}

/// What a request asks for.
pub(crate) enum Work {
    /// A view, the path below it, and the caller if the view is limited to one namespace for that one.
    View(Arc<dyn View>, String, Option<Identity>),
    /// Anything else, and whether it is a watch.
    Request(Target, bool),
}

impl ApiServer {
    /// Carries out a request, here or on a thread of its own.
    pub(crate) async fn carry_out(
        &self,
        call: Call,
        work: Work,
        caller: &str,
    ) -> Result<http::Response<Body>> {
        if !landform_threads::has_others() || !self.is_heavy(&call, &work).await? {
            // In a piece of memory of its own: a task of all parts together is larger than what the allocator hands out
            // cheaply, and came from fresh pages each time.
            return Box::pin(self.work(&call, work)).await;
        }
        let place = self.shared.heavy.enter(caller).await?;
        let (server, runtime) = (self.clone(), Handle::current());
        let work = tokio::task::spawn_blocking(move || {
            // Kept even if nobody waits for the answer any more: the thread is busy until the end.
            let _place = place;
            runtime.block_on(server.work(&call, work))
        });
        match work.await {
            Ok(answer) => answer,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(ApiError::internal("the server is shutting down")),
            },
        }
    }

    async fn work(&self, call: &Call, work: Work) -> Result<http::Response<Body>> {
        match work {
            Work::View(view, rest, limited) => {
                self.read_view(call, &*view, &rest, limited.as_ref()).await
            }
            Work::Request(target, is_watch) => self.dispatch(call, target, is_watch).await,
        }
    }

    async fn is_heavy(&self, call: &Call, work: &Work) -> Result<bool> {
        let size = call.body.len();
        if size > LARGE_BYTES || (call.method == Method::PATCH && size > LARGE_PATCH_BYTES) {
            return Ok(true);
        }
        let Work::Request(target, _) = work else {
            return Ok(false);
        };
        let Target::Objects(path) = target else {
            // Definitions can make these documents large.
            return Ok(matches!(target, Target::OpenApiV2 | Target::OpenApiV3(_)));
        };
        let is_read = matches!(call.method, Method::GET | Method::HEAD);
        if is_read && is_copied(call) {
            return Ok(false);
        }
        let registry = &self.shared.registry;
        let Some(resource) = registry.find(&path.group, &path.version, &path.resource) else {
            return Ok(false);
        };
        let is_checked = matches!(call.method, Method::POST | Method::PUT | Method::PATCH);
        let large = if is_checked && is_costly(&resource) {
            LARGE_COSTLY_BYTES
        } else {
            LARGE_BYTES
        };
        if size > large || call.method == Method::POST {
            return Ok(size > large);
        }
        let Some(name) = &path.name else {
            // Of a whole collection that is deleted some may be large.
            return Ok(!is_read || self.is_large_list(path, &resource).await?);
        };
        let key = resource.key(path.namespace.as_deref().unwrap_or_default(), name);
        let record = self.shared.store.get(&key).await?;
        Ok(record.is_some_and(|record| record.value.len() > large))
    }

    /// Whether the objects of a collection are large together.
    async fn is_large_list(&self, path: &ObjectsPath, resource: &Resource) -> Result<bool> {
        let namespace = path.namespace.as_deref().filter(|_| resource.namespaced);
        let query = RangeQuery {
            bucket: resource.bucket.clone(),
            prefix: namespace.map(|name| format!("{name}/")).unwrap_or_default(),
            after: None,
            limit: None,
            at: None,
        };
        let page = self.shared.store.range(query).await?;
        let sizes = page.records.iter().map(|record| record.value.len());
        Ok(sizes.sum::<usize>() > LARGE_LIST_BYTES)
    }
}

/// Whether checking an object may take far more than its size says; the patterns and rules of a definition are compiled.
fn is_costly(resource: &Resource) -> bool {
    resource.schema.is_costly() || resource.kind == "CustomResourceDefinition"
}

/// Whether what is read goes out as it is stored: no object is decoded.
fn is_copied(call: &Call) -> bool {
    let form = crate::verbs::present::form(call);
    let selects = |name| call.query.get(name).is_some_and(|text| !text.is_empty());
    form.is_ok_and(|form| form.shape == Shape::Full && form.encoding == Encoding::Json)
        && !selects("labelSelector")
        && !selects("fieldSelector")
}
