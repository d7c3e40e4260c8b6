//! The answers of this crate for terminals and as pictures. Pure: what is styled is decided by the caller.

mod graph;
mod layout;
mod style;
mod svg;
mod tree;
mod why;

pub use graph::{graph_dot, graph_mermaid, graph_text, graph_text_styled};
pub use style::{Ansi, Plain, Style, Tone};
pub use svg::graph_svg;
pub use tree::{tree, tree_styled};
pub use why::{why, why_styled};
