//! The answers of this crate for terminals and as pictures. Pure: what is styled is decided by the caller.

mod style;
mod why;

pub use style::{Ansi, Plain, Style, Tone};
pub use why::{why, why_styled};
