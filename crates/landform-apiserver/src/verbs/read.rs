//! Get: one object.

use http::Response;

use super::{Place, present};
use crate::body::Body;
use crate::error::Result;
use crate::server::{ApiServer, Call};

impl ApiServer {
    pub(super) async fn get(&self, call: &Call, place: &Place) -> Result<Response<Body>> {
        self.not_older_than(call).await?;
        let key = place.resource.key(&place.namespace, place.name());
        let record = self
            .shared
            .store
            .get(&key)
            .await?
            .ok_or_else(|| place.not_found())?;
        present::one(
            call,
            &place.resource,
            http::StatusCode::OK,
            &record.value,
            record.modified,
        )
    }
}
