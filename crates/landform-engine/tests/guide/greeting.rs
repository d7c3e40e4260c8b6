//! Greetings: each says its name after the greeting that it follows.

use futures::future::BoxFuture;
use kube::core::DynamicObject;
use landform_api::GroupVersionKind;
use landform_engine::{Context, Failure, Outcome, Reconciler, Ref};
use serde_json::json;

pub struct Greetings;

impl Reconciler for Greetings {
    fn kind(&self) -> GroupVersionKind {
        GroupVersionKind::new("guide.landform.dev", "v1", "Greeting")
    }

    fn refs(&self, greeting: &DynamicObject) -> Vec<Ref> {
        let after = greeting.data["spec"]["after"].as_str();
        let after = after.map(|name| Ref {
            kind: self.kind(),
            namespace: greeting.metadata.namespace.clone(),
            name: name.to_owned(),
        });
        after.into_iter().collect()
    }

    fn reconcile<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<Outcome, Failure>> {
        Box::pin(async move {
            let greeting = context.object();
            let name = greeting.data["spec"]["name"].as_str().unwrap_or_default();
            let text = match context.refs().first() {
                None => format!("Hello {name}"),
                Some(first) => {
                    let Some(first) = &first.object else {
                        let missing = &first.reference.name;
                        return Ok(Outcome::Wait(format!("the greeting {missing}")));
                    };
                    let before = first.data["status"]["text"].as_str().unwrap_or_default();
                    format!("{before} and {name}")
                }
            };
            let generation = greeting.metadata.generation;
            let status = json!({"text": text, "observedGeneration": generation});
            context.write_status(&status).await?;
            Ok(Outcome::Done)
        })
    }
}
