//! How an engine comes to follow Reconcilers.

use std::sync::Arc;

use futures::future::BoxFuture;
use kube::Client;
use landform_api::GroupKind;

use super::controller::{ReconcilerController, Registry};
use super::definition::{InstallError, install};
use crate::engine::{Engine, EngineError};
use crate::key::Key;
use crate::reconciler::Reconciler;

/// Why an engine doesn't follow Reconcilers.
#[derive(Debug, thiserror::Error)]
pub enum HooksError {
    /// The API doesn't take the kind.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// The engine doesn't take the controller.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Makes the kind `Reconciler` known to the API of an engine, and has the engine follow its objects.
///
/// # Errors
/// When the API refuses the kind, or the engine has stopped.
pub async fn start(client: &Client, engine: &Engine) -> Result<(), HooksError> {
    install(client).await?;
    let controller = ReconcilerController::new(Arc::new(engine.clone()));
    engine.register(Arc::new(controller)).await?;
    Ok(())
}

impl Registry for Engine {
    fn register(&self, reconciler: Arc<dyn Reconciler>) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let registered = Engine::register(self, reconciler).await;
            registered.map_err(|error| error.to_string())
        })
    }

    fn unregister(&self, kind: GroupKind) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let gone = Engine::unregister(self, &kind).await;
            gone.map_err(|error| error.to_string())
        })
    }

    fn ask(&self, key: Key) {
        Engine::ask(self, key);
    }
}
