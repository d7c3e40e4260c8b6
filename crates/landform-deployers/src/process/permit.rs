//! Whether a process may be started again, outside of a call (C6).
//!
//! A call asks for the right to run programs before it starts a process. A supervisor that starts it again later asks
//! anew, with what the last call has left here.

use std::sync::Arc;

use landform_engine::RightsLater;
use parking_lot::Mutex;

use crate::DeployError;
use crate::deployer::allowed;

/// What is asked before a process is started again. A clone asks the same.
#[derive(Clone, Default)]
pub(crate) struct Permit(Arc<Mutex<Option<RightsLater>>>);

impl Permit {
    /// From now on these rights are asked for.
    pub(crate) fn set(&self, rights: RightsLater) {
        *self.0.lock() = Some(rights);
    }

    /// Asks. Before the first call of [`Permit::set`] nothing is asked for.
    ///
    /// # Errors
    /// The rights that are missing, or why they can't be known.
    pub(crate) async fn ask(&self) -> Result<(), DeployError> {
        let rights = self.0.lock().clone();
        match rights {
            Some(rights) => allowed(rights.missing().await),
            None => Ok(()),
        }
    }
}
