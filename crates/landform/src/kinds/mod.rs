//! `landform api-resources` and `landform explain`: which kinds there are, and what their fields mean.

pub(crate) mod explain;
pub(crate) mod resources;
mod schema;
