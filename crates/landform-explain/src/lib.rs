//! Why an object is not where it should be: the chain from it to the root causes; and the pictures of what owns
//! and refers to what.
//!
//! | module | holds |
//! | --- | --- |
//! | [`age`] | lengths of time, as people read them |
//! | [`object`] | how objects are named here |
//! | [`reader`], [`client`] | what must be read, and how it is read from any Kubernetes API |
//! | [`why`] | from an object to its root causes: `judge` is pure and sees one object, `walk` follows |
//! | [`mod@tree`], [`mod@graph`] | who owns whom, and who refers to whom |
//! | [`render`] | the same for terminals and as pictures |
//! | [`view`] | the same under `/apis/landform.dev/v1alpha1/` |

pub mod age;
pub mod client;
pub mod graph;
pub mod object;
pub mod reader;
pub mod render;
pub mod tree;
pub mod view;
pub mod why;

pub use client::ClientReader;
pub use object::ObjectRef;
pub use reader::{ReadError, Reader};
pub use view::Explain;
pub use why::{Why, explain};
