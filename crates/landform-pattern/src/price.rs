//! What a pattern costs: counted on its syntax, before anything is compiled.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

use crate::{Refused, STATES_OF_A_STEP};

/// Longer patterns aren't read: one byte of `\w` in every two makes kilobytes of ranges.
const LONGEST: usize = 16 * 1024;
/// How deep a pattern may be nested.
const DEEPEST: u32 = 100;
/// What it costs to compile any pattern, and to look into a text at all.
const STEPS_TO_COMPILE: usize = 200;
/// A class beyond ASCII is spelled in sequences of up to four bytes.
const STATES_OF_A_UNICODE_CLASS: usize = 4;
/// What has more to compile takes more than [`PATTERN_BYTES`](crate::PATTERN_BYTES) anyway.
const COMPILED_MAX: usize = 100_000;
/// The memory that a compiled range or state takes.
const BYTES_OF_A_RANGE: usize = 64;

/// What it costs to compile a pattern and to search with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    /// States that may be active together: each of them costs for each byte.
    states: usize,
    /// What is compiled: ranges of classes, as often as they are repeated.
    compiled: usize,
}

impl Price {
    /// The price of a pattern.
    ///
    /// # Errors
    ///
    /// It isn't a pattern.
    pub fn of(pattern: &str) -> Result<Self, Refused> {
        if pattern.len() > LONGEST {
            return Err(Refused::TooLarge);
        }
        let mut parser = ParserBuilder::new().nest_limit(DEEPEST).build();
        let parsed = parser.parse(pattern).map_err(|_| Refused::Malformed)?;
        let price = of(&parsed);
        if price.compiled > COMPILED_MAX {
            return Err(Refused::TooLarge);
        }
        Ok(price)
    }

    /// The steps that it takes to compile it.
    #[must_use]
    pub fn steps_to_compile(self) -> usize {
        STEPS_TO_COMPILE.saturating_add(self.compiled)
    }

    /// The memory that it takes when it is compiled.
    #[must_use]
    pub fn bytes(self) -> usize {
        4096 + self.compiled.saturating_mul(BYTES_OF_A_RANGE)
    }

    /// The steps that it takes to look at this many bytes.
    #[must_use]
    pub fn steps_of(self, bytes: usize) -> usize {
        1 + self.states.saturating_mul(bytes) / STATES_OF_A_STEP
    }
}

/// The parser has limited the depth.
fn of(pattern: &Hir) -> Price {
    let sum = |parts: &[Hir]| {
        let prices = parts.iter().map(of);
        let one = Price {
            states: 1,
            compiled: 1,
        };
        prices.fold(one, |sum, part| Price {
            states: sum.states.saturating_add(part.states),
            compiled: sum.compiled.saturating_add(part.compiled),
        })
    };
    match pattern.kind() {
        HirKind::Empty | HirKind::Look(_) => sum(&[]),
        HirKind::Literal(literal) => Price {
            states: literal.0.len(),
            compiled: literal.0.len(),
        },
        HirKind::Class(class) => Price {
            states: match class {
                Class::Unicode(class) if !class.is_ascii() => STATES_OF_A_UNICODE_CLASS,
                Class::Unicode(_) | Class::Bytes(_) => 1,
            },
            compiled: match class {
                Class::Unicode(class) => class.ranges().len(),
                Class::Bytes(class) => class.ranges().len(),
            },
        },
        HirKind::Repetition(repetition) => {
            let inner = sum(std::slice::from_ref(&repetition.sub));
            let open = repetition.min.saturating_add(1);
            let times = repetition.max.unwrap_or(open).max(1);
            let times = usize::try_from(times).unwrap_or(usize::MAX);
            Price {
                states: inner.states.saturating_mul(times),
                compiled: inner.compiled.saturating_mul(times),
            }
        }
        HirKind::Capture(capture) => sum(std::slice::from_ref(&capture.sub)),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => sum(parts),
    }
}
