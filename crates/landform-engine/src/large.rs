//! Large values: few runs at once have them decoded.
//!
//! A megabyte of text can be fifty when it is decoded. A run that computes only ([`Reconciler::takes_turns`]) and finds that its
//! object, or what it refers to, is large lets the text go, waits for a place, and reads again: whoever waits holds nothing. A run has
//! at most one place, so that none waits for another; places are given in the order in which they were asked for.
//!
//! Any run that has found something large computes beside the threads that serve requests, and few do at once ([`Turns`]). A run that
//! waits for programs holds no turn meanwhile.
//!
//! [`Reconciler::takes_turns`]: crate::Reconciler::takes_turns

use std::sync::Arc;

use kube::api::{Api, GetParams};
use kube::core::{DynamicObject, Request, TypeMeta};
use kube::{Client, Error};
use landform_api::Budget;
use landform_api::budget::Size;
use landform_threads::{Turns, aside_if};
use serde::de::Error as _;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::context::is_gone;
use crate::reconciler::Failure;

/// What a run reads is large from here on.
pub(crate) const LARGE_BYTES: usize = 64 * 1024;
/// This many runs have large values decoded at once.
const PLACES: usize = 2;

/// The places of runs with large values.
#[derive(Clone)]
pub(crate) struct LargeRuns {
    places: Arc<Semaphore>,
    /// Turns to compute, with a place and without.
    pub(crate) turns: Turns,
}

/// A place; it is free again when this is dropped.
pub(crate) struct LargePlace(#[expect(dead_code, reason = "held")] OwnedSemaphorePermit);

impl Default for LargeRuns {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(PLACES)),
            turns: Turns::new(PLACES),
        }
    }
}

impl LargeRuns {
    /// Waits for a place, unless the run is cancelled.
    pub(crate) async fn enter(
        &self,
        cancellation: &CancellationToken,
    ) -> Result<LargePlace, Failure> {
        let place = cancellation.run_until_cancelled(self.places.clone().acquire_owned());
        match place.await {
            Some(Ok(place)) => Ok(LargePlace(place)),
            // It is never closed.
            Some(Err(_)) | None => Err(Failure::Cancelled),
        }
    }
}

/// The text of an object; `None` when the API says that there is none.
pub(crate) async fn text_of(
    client: &Client,
    api: &Api<DynamicObject>,
    name: &str,
) -> Result<Option<String>, Error> {
    let request = Request::new(api.resource_url()).get(name, &GetParams::default());
    let request = request.map_err(Error::BuildRequest)?;
    match client.request_text(request).await {
        Ok(text) => Ok(Some(text)),
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The object that a text stands for. What it holds is built once: kube's own way to decode builds it twice.
pub(crate) fn decoded(text: &str) -> Result<DynamicObject, Error> {
    aside_if(text.len() > LARGE_BYTES, || object_of(text)).map_err(Error::SerdeError)
}

fn object_of(text: &str) -> serde_json::Result<DynamicObject> {
    let mut data: Value = serde_json::from_str(text)?;
    let Some(fields) = data.as_object_mut() else {
        return Err(serde_json::Error::custom("the answer is no object"));
    };
    let mut word = |name| match fields.remove(name) {
        Some(Value::String(word)) => Some(word),
        _ => None,
    };
    let types = word("apiVersion")
        .zip(word("kind"))
        .map(|(api_version, kind)| TypeMeta { api_version, kind });
    let metadata = fields.remove("metadata").unwrap_or_default();
    Ok(DynamicObject {
        types,
        metadata: serde_json::from_value(metadata)?,
        data,
    })
}

/// How much a run has read of what its object refers to.
#[derive(Default)]
pub(crate) struct ReadSoFar {
    pub(crate) bytes: usize,
    cells: usize,
}

impl ReadSoFar {
    /// Counts an object that was decoded from a text of this length.
    pub(crate) fn add(&mut self, bytes: usize, object: &DynamicObject) -> Result<(), Failure> {
        self.bytes += bytes;
        self.cells += Size::of(&object.data).cells;
        let Budget { cells, bytes, .. } = Budget::FILE;
        if self.bytes > bytes || self.cells > cells {
            return Err(Failure::Invalid(format!(
                "all that it refers to is too much at once, more than {bytes} bytes or {cells} cells (a map counts 8, a list 4, any other value 1): refer to fewer or smaller objects"
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_is_decoded_as_kube_does_it() {
        for object in [
            json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": "a", "labels": {"x": "y"}},
                "spec": {"l": [1, {"b": null}]}, "data": "x"}),
            json!({"apiVersion": "v1", "kind": "A", "metadata": {}}),
        ] {
            let text = object.to_string();
            let expected: DynamicObject = serde_json::from_str(&text).unwrap();
            assert_eq!(decoded(&text).unwrap(), expected);
        }
        assert!(decoded("[]").is_err());
    }

    #[tokio::test]
    async fn few_have_large_values_at_once_and_a_cancelled_one_waits_no_longer() {
        let (runs, token) = (LargeRuns::default(), CancellationToken::new());
        let first = runs.enter(&token).await.ok().unwrap();
        let _second = runs.enter(&token).await.ok().unwrap();
        let mut third = Box::pin(runs.enter(&token));
        assert!(third.as_mut().now_or_never().is_none());
        let cancelled = CancellationToken::new();
        let mut fourth = Box::pin(runs.enter(&cancelled));
        assert!(fourth.as_mut().now_or_never().is_none());
        cancelled.cancel();
        assert!(matches!(
            fourth.now_or_never(),
            Some(Err(Failure::Cancelled))
        ));
        drop(first);
        assert!(third.now_or_never().unwrap().is_ok());
    }
}
