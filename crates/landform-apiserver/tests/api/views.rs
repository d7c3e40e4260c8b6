//! Views are read beside objects, and hide none.

use std::sync::Arc;

use futures::future::BoxFuture;
use landform_apiserver::error::ApiError;
use landform_apiserver::{Query, View};
use serde_json::{Value, json};

use crate::harness::Api;

pub(crate) struct Echo;

impl View for Echo {
    fn read<'a>(
        &'a self,
        path: &'a [&'a str],
        query: &'a Query,
    ) -> BoxFuture<'a, Result<Option<Value>, ApiError>> {
        let answer = (path != ["nothing"]).then(|| json!({"path": path, "of": query.get("of")}));
        Box::pin(async { Ok(answer) })
    }
}

#[tokio::test]
async fn a_view_answers_reads_below_its_name_and_nothing_else() {
    let api = Api::start().await;
    let base = "/apis/landform.dev/v1alpha1";
    assert_eq!(api.get(&format!("{base}/echo/a")).await.code, 404);
    api.server.mount("echo", Arc::new(Echo));
    let answer = api.get(&format!("{base}/echo/a/b%3Ax?of=c")).await.ok();
    assert_eq!(answer, json!({"path": ["a", "b:x"], "of": "c"}));
    assert_eq!(api.get(&format!("{base}/echo/nothing")).await.code, 404);
    assert_eq!(api.get(&format!("{base}/echoes/a")).await.code, 404);
    let written = api.post(&format!("{base}/echo/a"), json!({})).await;
    assert_eq!(written.failed().0, 405);
}
