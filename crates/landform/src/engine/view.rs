//! The engine and what catalogs offer, readable through the API server under
//! `/apis/landform.dev/v1alpha1/engine` and `…/catalogs`.

use std::future::Future;
use std::pin::Pin;

use landform_apiserver::error::{ApiError, Reason};
use landform_apiserver::{Query, View};
use landform_catalog::describe;
use landform_engine::{Engine, ReadError};
use landform_operators::Operators;
use serde_json::Value;

pub(crate) struct EngineView(pub(crate) Engine);

type Answer<'a> = Pin<Box<dyn Future<Output = Result<Option<Value>, ApiError>> + Send + 'a>>;

impl View for EngineView {
    fn verbs(&self) -> &'static [&'static str] {
        &["create", "get"]
    }

    fn read<'a>(&'a self, path: &'a [&'a str], query: &'a Query) -> Answer<'a> {
        Box::pin(async move {
            let get = |key: &str| query.get(key).map(str::to_owned);
            self.0.read(path, &get).await.map_err(refused)
        })
    }

    fn ask<'a>(&'a self, path: &'a [&'a str], _: &'a Query, _: Value) -> Answer<'a> {
        Box::pin(async move { self.0.asked(path).await.map_err(refused) })
    }
}

fn refused(error: ReadError) -> ApiError {
    match error {
        ReadError::BadQuestion(message) => ApiError::bad_request(message),
        ReadError::Engine(error) => ApiError::new(Reason::ServiceUnavailable, error.to_string()),
    }
}

/// What all catalogs offer: `landform catalog` without `--catalog` asks here.
pub(crate) struct CatalogsView(pub(crate) Operators);

/// What questions may hold.
const QUESTIONS: [&str; 4] = ["filter", "channel", "from", "to"];

impl View for CatalogsView {
    fn read<'a>(&'a self, path: &'a [&'a str], query: &'a Query) -> Answer<'a> {
        Box::pin(async move {
            let given = QUESTIONS.iter().filter_map(|key| {
                let value = query.get(key)?;
                Some(((*key).to_owned(), value.to_owned()))
            });
            let given: Vec<_> = given.collect();
            let path = path.join("/");
            let answer = self.0.look(|index| describe::answer(index, &path, &given));
            match answer {
                Ok(value) => Ok(Some(value)),
                Err(refusal) if refusal.absent => {
                    Err(ApiError::new(Reason::NotFound, refusal.to_string()))
                }
                Err(refusal) => Err(ApiError::bad_request(refusal.to_string())),
            }
        })
    }
}
