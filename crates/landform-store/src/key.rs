//! Keys: a bucket and a name within it.
//!
//! The bucket is what a watch or a list is about (for the API server: one resource). A backend with
//! flat keys, such as etcd, writes `/<bucket>/<name>`; neither part may be empty, and a bucket
//! holds no slash, so the flat form is unambiguous.

use std::fmt;
use std::sync::Arc;

/// A set of keys that is listed and watched together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bucket(Arc<str>);

impl Bucket {
    /// Names a bucket.
    ///
    /// # Panics
    /// When the name is empty or holds a slash: bucket names are made by code, never by input.
    #[must_use]
    pub fn new(name: &str) -> Self {
        assert!(
            !name.is_empty() && !name.contains('/'),
            "not a bucket name: {name:?}"
        );
        Self(name.into())
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A key: a bucket, and a name that orders keys within it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The bucket.
    pub bucket: Bucket,
    /// The name within the bucket; it may hold slashes.
    pub name: Arc<str>,
}

impl Key {
    /// Names a key in a bucket.
    #[must_use]
    pub fn new(bucket: &Bucket, name: &str) -> Self {
        Self {
            bucket: bucket.clone(),
            name: name.into(),
        }
    }
}

/// Buckets are found by their bare name, too.
impl std::borrow::Borrow<str> for Bucket {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}/{}", self.bucket, self.name)
    }
}
