//! The view `plans`: a question is POSTed, a plan is the answer.

use std::sync::Arc;

use futures::future::BoxFuture;
use landform_apiserver::error::{ApiError, Reason, Result};
use landform_apiserver::{Identity, Query, View};
use landform_store::Store;
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::question::Question;
use crate::world::Settings;
use crate::{PlanError, plan};

/// So many plans are made at once: each keeps a core busy.
const AT_ONCE: usize = 1;

/// Answers `POST /apis/landform.dev/v1alpha1/plans`.
pub struct Plans {
    store: Arc<dyn Store>,
    settings: Settings,
    turns: Semaphore,
}

impl Plans {
    /// Plans on what is in this store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, settings: Settings) -> Self {
        Self {
            store,
            settings,
            turns: Semaphore::new(AT_ONCE),
        }
    }
}

impl View for Plans {
    fn verbs(&self) -> &'static [&'static str] {
        &["create"]
    }

    fn read<'a>(
        &'a self,
        _path: &'a [&'a str],
        _query: &'a Query,
    ) -> BoxFuture<'a, Result<Option<Value>>> {
        Box::pin(async { Ok(None) })
    }

    fn ask_as<'a>(
        &'a self,
        path: &'a [&'a str],
        _query: &'a Query,
        question: Value,
        who: &'a Identity,
    ) -> BoxFuture<'a, Result<Option<Value>>> {
        Box::pin(async move {
            if !path.is_empty() {
                return Ok(None);
            }
            let question: Question = serde_json::from_value(question).map_err(|error| {
                ApiError::bad_request(format!("the question can't be read: {error}"))
            })?;
            let _turn = self
                .turns
                .acquire()
                .await
                .map_err(|error| internal(&error))?;
            let answer = plan(&*self.store, question, &self.settings, who).await;
            let answer = answer.map_err(|error| match error {
                PlanError::TooLong => ApiError::new(Reason::Timeout, error.to_string()),
                PlanError::Fork(_) | PlanError::Start(_) | PlanError::Ended => internal(&error),
            })?;
            let answer = serde_json::to_value(answer).map_err(|error| internal(&error))?;
            Ok(Some(answer))
        })
    }
}

fn internal(error: &dyn std::error::Error) -> ApiError {
    ApiError::new(Reason::InternalError, error.to_string())
}
