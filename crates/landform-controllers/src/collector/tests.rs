//! Tables of the rules.
