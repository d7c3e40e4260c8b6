//! What would change: the real reconcilers on a fork of the store, with deployers that only look.
