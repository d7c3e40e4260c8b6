//! Why an object is not where it should be: the chain from it to the root causes; and the pictures of what owns
//! and refers to what.
