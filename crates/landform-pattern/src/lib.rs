//! Regular expressions that charge for what they cost.
//!
//! A search takes linear time, and linear still means the size of the pattern times the bytes that are looked at: a pattern
//! with 10,000 states makes a minute out of a megabyte. And all matches of a text take one search each, of which each may look at the
//! whole rest of the text. So every search here is charged before it is made, in steps of the caller's counter: what is
//! charged depends on the pattern and the text only, so the same input always ends at the same place.

mod price;

use std::cell::RefCell;
use std::ops::Range;

use regex::{Captures, Match, Regex, RegexBuilder};
use regex_automata::Input;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson;

pub use price::Price;

/// The memory that a compiled pattern may take.
const PATTERN_BYTES: usize = 1 << 20;
/// The memory that searches may take beside that.
const CACHE_BYTES: usize = 1 << 18;
/// This many states, or bytes seen by one state, are a step.
const STATES_OF_A_STEP: usize = 16;
/// So many bytes are measured before they are charged.
const MEASURED_AT_ONCE: usize = 1024;

/// Why a text is no pattern. The text isn't repeated: it may be data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// It isn't a regular expression.
    Malformed,
    /// It takes too much memory, or is too long.
    TooLarge,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Refused::Malformed => "the pattern is not a regular expression",
            Refused::TooLarge => {
                "the pattern is too large when compiled: use fewer or smaller repetitions (`{n,m}`)"
            }
        })
    }
}

/// A compiled pattern. Cheap to clone once it is in an `Rc`.
#[derive(Debug)]
pub struct Pattern {
    regex: Regex,
    price: Price,
    /// What shows how far a search looks; made when all matches are first asked for.
    ruler: RefCell<Option<Ruler>>,
}

impl Pattern {
    /// Compiles a pattern whose price was paid.
    ///
    /// # Errors
    ///
    /// It is too large.
    pub fn compile(text: &str, price: Price) -> Result<Self, Refused> {
        let regex = RegexBuilder::new(text)
            .size_limit(PATTERN_BYTES)
            .dfa_size_limit(CACHE_BYTES)
            .build()
            .map_err(|_| Refused::TooLarge)?;
        Ok(Pattern {
            regex,
            price,
            ruler: RefCell::default(),
        })
    }

    /// The pattern's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.regex.as_str()
    }

    /// Whether the text has a match.
    ///
    /// # Errors
    ///
    /// Those of `charge`.
    pub fn is_match<E>(
        &self,
        text: &str,
        charge: impl Fn(usize) -> Result<(), E>,
    ) -> Result<bool, E> {
        charge(self.price.steps_of(text.len()))?;
        Ok(self.regex.is_match(text))
    }

    /// The first match.
    ///
    /// # Errors
    ///
    /// Those of `charge`.
    pub fn find<'t, E>(
        &self,
        text: &'t str,
        charge: impl Fn(usize) -> Result<(), E>,
    ) -> Result<Option<Match<'t>>, E> {
        charge(self.price.steps_of(text.len()))?;
        Ok(self.regex.find(text))
    }

    /// The first match with its groups.
    ///
    /// # Errors
    ///
    /// Those of `charge`.
    pub fn captures<'t, E>(
        &self,
        text: &'t str,
        charge: impl Fn(usize) -> Result<(), E>,
    ) -> Result<Option<Captures<'t>>, E> {
        let steps = self.price.steps_of(text.len());
        charge(steps.saturating_mul(self.times_for_groups()))?;
        Ok(self.regex.captures(text))
    }

    /// At most so many matches, from the first one on.
    ///
    /// # Errors
    ///
    /// Those of `charge`.
    pub fn find_all<'t, E>(
        &self,
        text: &'t str,
        most: usize,
        charge: impl Fn(usize) -> Result<(), E>,
    ) -> Result<Vec<Match<'t>>, E> {
        let mut found = Vec::new();
        let searches = self
            .regex
            .find_iter(text)
            .map(|found| (found.range(), found));
        self.each(text, most, searches, charge, |one| {
            found.push(one);
            Ok(())
        })?;
        Ok(found)
    }

    /// Hands over at most so many matches with their groups, one after the other: many groups take much memory.
    ///
    /// # Errors
    ///
    /// Those of `charge` and `take`.
    pub fn each_captures<'t, E>(
        &self,
        text: &'t str,
        most: usize,
        charge: impl Fn(usize) -> Result<(), E>,
        take: impl FnMut(Captures<'t>) -> Result<(), E>,
    ) -> Result<(), E> {
        let searches = self.regex.captures_iter(text);
        let searches =
            searches.map(|found| (found.get(0).map_or(0..0, |whole| whole.range()), found));
        let times = self.times_for_groups();
        let charge = |steps: usize| charge(steps.saturating_mul(times));
        self.each(text, most, searches, charge, take)
    }

    /// A search for groups keeps the places of all of them for each state.
    fn times_for_groups(&self) -> usize {
        1 + self.regex.captures_len()
    }

    fn each<T, E>(
        &self,
        text: &str,
        most: usize,
        mut searches: impl Iterator<Item = (Range<usize>, T)>,
        charge: impl Fn(usize) -> Result<(), E>,
        mut take: impl FnMut(T) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut begin = 0;
        for _ in 0..most {
            self.charge_search(text, begin, &charge)?;
            let Some((range, next)) = searches.next() else {
                break;
            };
            begin = range.end;
            take(next)?;
        }
        Ok(())
    }

    /// Charges for one search, by the bytes that it looks at.
    fn charge_search<E>(
        &self,
        text: &str,
        begin: usize,
        charge: &impl Fn(usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut ruler = self.ruler.borrow_mut();
        let ruler = ruler.get_or_insert_with(|| Ruler::new(self.regex.as_str()));
        ruler.measure(text, begin, |bytes| charge(self.price.steps_of(bytes)))
    }
}

/// Shows how far a search looks before it knows its match.
#[derive(Debug)]
struct Ruler(Option<(DFA, Cache)>);

impl Ruler {
    fn new(pattern: &str) -> Self {
        let compiler = thompson::Config::new().nfa_size_limit(Some(PATTERN_BYTES));
        let config = DFA::config()
            .cache_capacity(CACHE_BYTES)
            .skip_cache_capacity_check(true)
            .unicode_word_boundary(true);
        let dfa = DFA::builder()
            .thompson(compiler)
            .configure(config)
            .build(pattern);
        Ruler(dfa.ok().map(|dfa| {
            let cache = dfa.create_cache();
            (dfa, cache)
        }))
    }

    /// Charges for the bytes that a search from here on looks at, piece by piece; for all that are left where that can't be known.
    fn measure<E>(
        &mut self,
        text: &str,
        begin: usize,
        charge: impl Fn(usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let rest = text.as_bytes().get(begin..).unwrap_or_default();
        let Some((dfa, cache)) = &mut self.0 else {
            return charge(rest.len());
        };
        let input = Input::new(text).range(begin..);
        let Ok(mut state) = dfa.start_state_forward(cache, &input) else {
            return charge(rest.len());
        };
        let mut left = rest.len();
        for piece in rest.chunks(MEASURED_AT_ONCE) {
            for (at, byte) in piece.iter().enumerate() {
                match dfa.next_state(cache, state, *byte) {
                    Ok(next) if next.is_dead() => return charge(at + 1),
                    Ok(next) if !next.is_quit() => state = next,
                    Ok(_) | Err(_) => return charge(left),
                }
            }
            charge(piece.len())?;
            left -= piece.len();
        }
        charge(0)
    }
}

#[cfg(test)]
mod tests;
