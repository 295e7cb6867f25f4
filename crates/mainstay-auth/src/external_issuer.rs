//! Access tokens of another issuer, verified with its public keys from a file. Nothing else is known of them: they
//! cannot be revoked here, and are valid until they expire.

use std::time::Duration;

use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, DecodingKey, decode, decode_header};
use mainstay_core::{Principal, Scopes};
use serde::Deserialize;

use crate::identity::rejection;
use crate::{AuthConfigError, AuthError, ExternalAuth, Identity, Issuer};

/// The longest `sub` that is accepted, in bytes; OpenID Connect Core allows 255 characters of ASCII. It is recorded with
/// every call.
const MAX_SUBJECT_BYTES: usize = 255;

/// Asymmetric algorithms only: `none`, and HMAC with the public key as its secret, would let anybody sign.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

/// The issuer configured with `server.auth.mode = "external"`. Its keys are read once, at start.
pub(crate) struct ExternalIssuer {
    pub(crate) issuer: Issuer,
    keys: Vec<Key>,
}

/// A public key and the algorithms it may verify. The algorithm is never taken from the token alone.
struct Key {
    id: Option<String>,
    algorithms: Vec<Algorithm>,
    public: DecodingKey,
}

#[derive(Deserialize)]
struct Claims {
    /// One issuer. The library accepts a list whose members are allowed; RFC 7519 section 4.1.1 has no lists here.
    #[serde(rename = "iss")]
    _issuer: String,
    sub: String,
    #[serde(default)]
    scope: String,
    /// RFC 7519 allows fractions of a second.
    exp: f64,
}

impl ExternalIssuer {
    pub(crate) fn new(settings: &ExternalAuth) -> Result<Self, AuthConfigError> {
        let invalid = |reason: String| AuthConfigError::Keys { path: settings.keys.display().to_string(), reason };
        let bytes = std::fs::read(&settings.keys).map_err(|error| invalid(error.to_string()))?;
        let keys = parse_keys(&bytes).map_err(invalid)?;
        let issuer = Issuer { url: settings.issuer.clone(), audience: settings.audience.clone() };
        Ok(Self { issuer, keys })
    }

    /// The identity in a valid token.
    pub(crate) fn verify(&self, token: &str) -> Result<Identity, AuthError> {
        let header = decode_header(token).map_err(|error| AuthError::invalid(rejection(&error)))?;
        // RFC 7515 section 4.1.11: what the issuer declares critical has to be understood, and no extension is here.
        if header.crit.is_some() {
            return Err(AuthError::invalid("it has critical extensions, and none is supported"));
        }
        let usable = |key: &&Key| {
            key.algorithms.contains(&header.alg) && (key.id.is_none() || header.kid.is_none() || key.id == header.kid)
        };
        let mut reason = "no key fits its algorithm and key id";
        for key in self.keys.iter().filter(usable) {
            let mut rules = self.issuer.validation(header.alg);
            rules.validate_nbf = true;
            // Clocks of two machines differ by some seconds.
            rules.leeway = 30;
            match decode::<Claims>(token, &key.public, &rules) {
                Ok(token) => return self.identity(&token.claims),
                Err(error) => reason = rejection(&error),
            }
        }
        Err(AuthError::invalid(reason))
    }

    /// Whom the claims name. A subject that names nobody would make all such tokens the same principal.
    fn identity(&self, claims: &Claims) -> Result<Identity, AuthError> {
        let subject = claims.sub.as_str();
        let named = !subject.trim().is_empty() && subject.len() <= MAX_SUBJECT_BYTES;
        if !named || subject.chars().any(char::is_control) {
            return Err(AuthError::invalid("its subject is empty, too long, or has characters that no name has"));
        }
        Ok(Identity {
            principal: Principal::new(&self.issuer.url, subject),
            scopes: Scopes::parse(&claims.scope),
            expires_ms: millis(claims.exp),
            name: None,
        })
    }
}

/// Instants past the range of `i64` become its largest value.
fn millis(seconds: f64) -> i64 {
    let since_epoch = Duration::try_from_secs_f64(seconds).ok();
    since_epoch.and_then(|duration| i64::try_from(duration.as_millis()).ok()).unwrap_or(i64::MAX)
}

/// A JWK set, or one PEM key. A key of a set is used with the algorithm it names, or with every allowed one.
fn parse_keys(bytes: &[u8]) -> Result<Vec<Key>, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    if text.trim_start().starts_with('{') {
        let set: JwkSet = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let keys = set.keys.iter().map(|jwk| {
            let key = DecodingKey::from_jwk(jwk).map_err(|error| error.to_string())?;
            let named = jwk.common.key_algorithm.and_then(|name| name.to_string().parse::<Algorithm>().ok());
            let allowed = |algorithm: &Algorithm| named.is_none_or(|named| named == *algorithm);
            let algorithms = ALGORITHMS.into_iter().filter(allowed).collect();
            Ok(Key { id: jwk.common.key_id.clone(), algorithms, public: key })
        });
        let keys = keys.collect::<Result<Vec<Key>, String>>()?;
        return if keys.is_empty() { Err("the key set is empty".into()) } else { Ok(keys) };
    }
    let forms = [
        (DecodingKey::from_rsa_pem(bytes), &ALGORITHMS[..6]),
        (DecodingKey::from_ec_pem(bytes), &ALGORITHMS[6..8]),
        (DecodingKey::from_ed_pem(bytes), &ALGORITHMS[8..]),
    ];
    let found = forms.into_iter().find_map(|(key, algorithms)| key.ok().map(|key| (key, algorithms)));
    let (key, algorithms) = found.ok_or("it contains neither a JWK set nor a public key in PEM")?;
    Ok(vec![Key { id: None, algorithms: algorithms.to_vec(), public: key }])
}
