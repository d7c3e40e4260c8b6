//! The engine, readable through the API server under `/apis/landform.dev/v1alpha1/engine`.

use std::future::Future;
use std::pin::Pin;

use landform_apiserver::error::{ApiError, Reason};
use landform_apiserver::{Query, View};
use landform_engine::{Engine, ReadError};
use serde_json::Value;

pub(crate) struct EngineView(pub(crate) Engine);

type Answer<'a> = Pin<Box<dyn Future<Output = Result<Option<Value>, ApiError>> + Send + 'a>>;

impl View for EngineView {
    fn read<'a>(&'a self, path: &'a [&'a str], query: &'a Query) -> Answer<'a> {
        Box::pin(async move {
            let get = |key: &str| query.get(key).map(str::to_owned);
            self.0.read(path, &get).await.map_err(|error| match error {
                ReadError::BadQuestion(message) => ApiError::bad_request(message),
                ReadError::Engine(error) => {
                    ApiError::new(Reason::ServiceUnavailable, error.to_string())
                }
            })
        })
    }
}
