//! Values that are encrypted on disk: those of the buckets that the store's owner names.
//!
//! A journal has one *data key*, made for it at random. It is kept in the journal itself, encrypted (*wrapped*) by a
//! [`KeyService`] whose own key is elsewhere: so a copy of the files, a backup too, is of no use without that key, and to
//! change it, only the data key has to be wrapped anew. In memory values are as they are.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};

use crate::Error;

/// A key of AES-256.
pub type PlainKey = [u8; 32];

/// Encrypts data keys with a key of its own, which is not among the store's files.
///
/// Its errors are sentences that say what to do.
pub trait KeyService: Send + Sync {
    /// Encrypts a data key. The text is all that is kept.
    ///
    /// # Errors
    /// When there is no key to encrypt with.
    fn wrap(&self, key: &PlainKey) -> Result<String, String>;

    /// Decrypts what [`wrap`](Self::wrap) gave.
    ///
    /// # Errors
    /// When it was encrypted with a key that isn't there.
    fn unwrap(&self, wrapped: &str) -> Result<PlainKey, String>;

    /// Whether `wrap` would use the same key today.
    fn is_current(&self, wrapped: &str) -> bool;
}

/// What is encrypted, and who keeps the key.
#[derive(Clone)]
pub struct Sealing {
    /// The names of the buckets whose values are encrypted.
    pub buckets: Arc<BTreeSet<String>>,
    /// Who encrypts the data key.
    pub keys: Arc<dyn KeyService>,
}

impl fmt::Debug for Sealing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealing")
            .field("buckets", &self.buckets)
            .finish_non_exhaustive()
    }
}

/// The data key of a journal.
pub(crate) struct Seal {
    buckets: Arc<BTreeSet<String>>,
    key: Cipher,
    wrapped: String,
}

impl Seal {
    /// A new data key.
    pub(crate) fn make(sealing: &Sealing, place: &str) -> Result<Arc<Self>, Error> {
        let failed = |problem| sealed(place, problem);
        let plain = random_key().map_err(failed)?;
        let wrapped = sealing.keys.wrap(&plain).map_err(failed)?;
        Ok(Self::of(sealing, &plain, wrapped))
    }

    /// The data key that a journal has.
    pub(crate) fn open(
        sealing: Option<&Sealing>,
        wrapped: String,
        place: &str,
    ) -> Result<Arc<Self>, Error> {
        let Some(sealing) = sealing else {
            let problem = "this needs the key that they were encrypted with: name its file";
            return Err(sealed(place, problem.to_owned()));
        };
        let plain = sealing.keys.unwrap(&wrapped);
        let plain = plain.map_err(|problem| sealed(place, problem))?;
        Ok(Self::of(sealing, &plain, wrapped))
    }

    fn of(sealing: &Sealing, plain: &PlainKey, wrapped: String) -> Arc<Self> {
        Arc::new(Self {
            buckets: Arc::clone(&sealing.buckets),
            key: Cipher::new(plain),
            wrapped,
        })
    }

    pub(crate) fn wrapped(&self) -> &str {
        &self.wrapped
    }

    /// Whether values of this bucket are encrypted.
    pub(crate) fn covers(&self, bucket: &str) -> bool {
        self.buckets.contains(bucket)
    }

    /// Encrypts a value for one place, and no other.
    pub(crate) fn encrypt(&self, place: &[u8], value: &[u8]) -> Result<Vec<u8>, String> {
        self.key.encrypt(place, value)
    }

    /// None if the value was not encrypted with this key for this place.
    pub(crate) fn decrypt(&self, place: &[u8], value: &[u8]) -> Option<Vec<u8>> {
        self.key.decrypt(place, value)
    }
}

fn sealed(place: &str, problem: String) -> Error {
    Error::Sealed {
        place: place.to_owned(),
        problem,
    }
}

/// A key made at random.
///
/// # Errors
/// When the operating system gives no random bytes.
pub fn random_key() -> Result<PlainKey, String> {
    let mut key = PlainKey::default();
    let random = SystemRandom::new().fill(&mut key);
    random.map_err(|_| "the operating system gives no random bytes".to_owned())?;
    Ok(key)
}

/// AES-256-GCM with random nonces, which stand before the text.
pub struct Cipher(LessSafeKey);

impl Cipher {
    /// With a key.
    #[must_use]
    #[expect(
        clippy::missing_panics_doc,
        clippy::expect_used,
        reason = "a key of this length is a key of this cipher"
    )]
    pub fn new(key: &PlainKey) -> Self {
        let key = UnboundKey::new(&AES_256_GCM, key).expect("32 bytes are a key of AES-256");
        Self(LessSafeKey::new(key))
    }

    /// Encrypts a text for one place: it can't be decrypted for another.
    ///
    /// # Errors
    /// When the operating system gives no random bytes.
    pub fn encrypt(&self, place: &[u8], text: &[u8]) -> Result<Vec<u8>, String> {
        let mut nonce = [0; NONCE_LEN];
        let random = SystemRandom::new().fill(&mut nonce);
        random.map_err(|_| "the operating system gives no random bytes".to_owned())?;
        let mut sealed = Vec::with_capacity(NONCE_LEN + text.len() + AES_256_GCM.tag_len());
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(text);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = self
            .0
            .seal_in_place_separate_tag(nonce, Aad::from(place), &mut sealed[NONCE_LEN..])
            .map_err(|_| "the value is too long to be encrypted".to_owned())?;
        sealed.extend_from_slice(tag.as_ref());
        Ok(sealed)
    }

    /// None if this is not what `encrypt` made with this key for this place.
    #[must_use]
    pub fn decrypt(&self, place: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, text) = sealed.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut text = text.to_vec();
        let plain = self.0.open_in_place(nonce, Aad::from(place), &mut text);
        let length = plain.ok()?.len();
        text.truncate(length);
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encrypted_for_one_place_is_read_there_and_nowhere_else() {
        let cipher = Cipher::new(&[7; 32]);
        let sealed = cipher.encrypt(b"a", b"text").unwrap();
        assert_eq!(cipher.decrypt(b"a", &sealed).unwrap(), b"text");
        assert_ne!(sealed, cipher.encrypt(b"a", b"text").unwrap());
        assert!(cipher.decrypt(b"b", &sealed).is_none());
        assert!(Cipher::new(&[8; 32]).decrypt(b"a", &sealed).is_none());
        for byte in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[byte] ^= 1;
            assert!(cipher.decrypt(b"a", &changed).is_none(), "byte {byte}");
            assert!(cipher.decrypt(b"a", &sealed[..byte]).is_none());
        }
    }
}
