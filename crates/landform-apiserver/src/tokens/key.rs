//! The key that signs tokens, and what can be done with it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _,
    UnparsedPublicKey,
};
use serde::{Deserialize, Serialize};

use super::claims::Claims;

const ALGORITHM: &str = "ES256";
/// A token that is longer is none of ours.
const LONGEST: usize = 16 * 1024;

/// A key that can't be used or made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenKeyError {
    /// The bytes are not such a key.
    #[error("not a private key for ECDSA P-256 in PKCS#8: {0}")]
    Unusable(String),
    /// The system gave no randomness.
    #[error("the system has no randomness for a signature")]
    NoRandomness,
}

/// A private key for ECDSA on P-256. Never printed.
pub struct TokenKey {
    pair: EcdsaKeyPair,
    random: SystemRandom,
    id: String,
}

impl std::fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenKey")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

#[derive(Serialize, Deserialize)]
struct Header {
    alg: String,
    kid: String,
}

impl TokenKey {
    /// A new key.
    ///
    /// # Errors
    /// Without randomness.
    pub fn generate() -> Result<Self, TokenKeyError> {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random)
            .map_err(|_| TokenKeyError::NoRandomness)?;
        Self::from_pkcs8(key.as_ref())
    }

    /// A key that was kept: PKCS#8, DER.
    ///
    /// # Errors
    /// When it is no such key.
    pub fn from_pkcs8(der: &[u8]) -> Result<Self, TokenKeyError> {
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, &random)
            .map_err(|error| TokenKeyError::Unusable(error.to_string()))?;
        let id = BASE64.encode(digest(&SHA256, pair.public_key().as_ref()));
        Ok(Self { pair, random, id })
    }

    /// A token that says this.
    pub(super) fn sign(&self, claims: &Claims) -> Result<String, TokenKeyError> {
        let header = Header {
            alg: ALGORITHM.into(),
            kid: self.id.clone(),
        };
        // Plain structs of texts and numbers: they always have a JSON form.
        let part = |json: serde_json::Result<Vec<u8>>| BASE64.encode(json.unwrap_or_default());
        let signed = format!(
            "{}.{}",
            part(serde_json::to_vec(&header)),
            part(serde_json::to_vec(claims))
        );
        let signature = self
            .pair
            .sign(&self.random, signed.as_bytes())
            .map_err(|_| TokenKeyError::NoRandomness)?;
        Ok(format!("{signed}.{}", BASE64.encode(signature)))
    }

    /// What a token says, if this key has signed it. Whether it still counts is another question.
    pub(super) fn verify(&self, token: &str) -> Option<Claims> {
        if token.len() > LONGEST {
            return None;
        }
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let header: Header = serde_json::from_slice(&BASE64.decode(header).ok()?).ok()?;
        if header.alg != ALGORITHM || header.kid != self.id {
            return None;
        }
        let signature = BASE64.decode(signature).ok()?;
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.pair.public_key());
        public.verify(signed.as_bytes(), &signature).ok()?;
        serde_json::from_slice(&BASE64.decode(claims).ok()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn claims() -> Claims {
        Claims {
            sub: "system:serviceaccount:a:b".into(),
            exp: 5,
            ..Claims::default()
        }
    }

    #[test]
    fn only_the_key_that_signed_a_token_knows_it() {
        let (key, other) = (TokenKey::generate().unwrap(), TokenKey::generate().unwrap());
        let token = key.sign(&claims()).unwrap();
        assert_eq!(key.verify(&token), Some(claims()));
        assert_eq!(other.verify(&token), None);
        assert!(TokenKey::from_pkcs8(b"rubbish").is_err());
    }

    #[test]
    fn a_token_that_was_touched_is_worth_nothing() {
        let key = TokenKey::generate().unwrap();
        let token = key.sign(&claims()).unwrap();
        let parts: Vec<&str> = token.split('.').collect();
        let [header, claims, signature] = parts.as_slice() else {
            panic!("three parts: {token}");
        };
        let more = BASE64.encode(r#"{"sub":"system:serviceaccount:a:c","exp":5}"#);
        let none = BASE64.encode(format!(r#"{{"alg":"none","kid":"{}"}}"#, key.id));
        for forged in [
            format!("{header}.{more}.{signature}"),
            format!("{none}.{claims}.{signature}"),
            format!("{none}.{claims}."),
            format!("{header}.{claims}."),
            format!("{header}.{claims}"),
            format!("{header}.{claims}.{signature}.{signature}"),
            String::new(),
        ] {
            assert_eq!(key.verify(&forged), None, "{forged}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".*", a in any::<Vec<u8>>(), b in any::<Vec<u8>>()) {
            let key = TokenKey::generate().unwrap();
            prop_assert_eq!(key.verify(&text), None);
            let text = format!("{}.{}.{}", BASE64.encode(&a), BASE64.encode(&b), BASE64.encode(&a));
            prop_assert_eq!(key.verify(&text), None);
        }
    }
}
