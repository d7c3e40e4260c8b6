//! Views are read beside objects, and hide none.

use std::sync::Arc;

use futures::future::BoxFuture;
use landform_apiserver::error::ApiError;
use landform_apiserver::{AUTHENTICATED, Identity, Query, View};
use serde_json::{Value, json};

use crate::harness::Api;

pub(crate) struct Echo;

impl View for Echo {
    fn namespaced(&self) -> bool {
        true
    }

    fn namespace<'p>(&self, path: &[&'p str]) -> Option<&'p str> {
        match path {
            ["of", namespace, _] => Some(namespace),
            _ => None,
        }
    }

    fn read_as<'a>(
        &'a self,
        path: &'a [&'a str],
        _query: &'a Query,
        who: &'a Identity,
    ) -> BoxFuture<'a, Result<Option<Value>, ApiError>> {
        let answer = json!({"path": path, "for": who.user});
        Box::pin(async { Ok(Some(answer)) })
    }

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

#[tokio::test]
async fn a_role_in_a_namespace_is_enough_for_what_a_view_shows_of_one_of_its_objects() {
    const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    let api = Api::start().await;
    api.server.mount("echo", Arc::new(Echo));
    let rule = json!([{"verbs": ["get"], "apiGroups": ["landform.dev"], "resources": ["echo"]}]);
    let role = json!({"metadata": {"name": "echo"}, "rules": rule});
    api.post(&format!("{RBAC}/roles"), role).await.ok();
    let bound = json!({
        "metadata": {"name": "echo"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "echo"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}],
    });
    api.post(&format!("{RBAC}/rolebindings"), bound).await.ok();
    let jane = api.by(Identity::new("jane", [AUTHENTICATED]));
    let base = "/apis/landform.dev/v1alpha1/echo";
    // It is for her alone: others see all of it.
    let own = format!("{base}/of/default/a");
    assert_eq!(jane.get(&own).await.ok()["for"], "jane");
    assert_eq!(api.get(&own).await.ok()["for"], Value::Null);
    for path in ["/of/other/a", "/of/default%2Fx/a", "/of/default", "", "/x"] {
        let answer = jane.get(&format!("{base}{path}")).await;
        assert_eq!(answer.failed().0, 403, "{path}");
    }
    let asked = jane.post(&own, json!({})).await;
    assert_eq!(asked.failed().0, 403);
}
