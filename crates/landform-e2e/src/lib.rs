//! Tests with real clients against the real binary.
