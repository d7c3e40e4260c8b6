//! What a client asked for, taken from path, query, headers and body.

pub mod accept;
pub mod decode;
pub mod path;
pub mod query;
pub(crate) mod receive;
