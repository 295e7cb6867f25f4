//! The parameters of a request to the authorization server: a form as RFC 6749 has it, or JSON as contract 001 shows it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::HeaderMap;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use mainstay_auth::oauth::{OAuthError, OAuthErrorKind};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::headers::single;
use crate::http::body;

/// The parameters in use. Others are ignored, as RFC 6749 section 3.2 requires.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Parameters {
    pub(super) grant_type: Option<String>,
    pub(super) client_id: Option<String>,
    pub(super) client_secret: Option<String>,
    pub(super) scope: Option<String>,
    pub(super) refresh_token: Option<String>,
    pub(super) resource: Option<String>,
    pub(super) token: Option<String>,
}

impl Parameters {
    pub(super) fn parse(headers: &HeaderMap, sent: &[u8]) -> Result<Self, OAuthError> {
        single(headers, CONTENT_TYPE).map_err(invalid)?;
        let mut parameters = match body::media_type(headers).as_str() {
            body::JSON => json_object(sent)?,
            body::FORM => form(sent)?,
            _ => return Err(invalid("Send application/x-www-form-urlencoded or application/json.")),
        };
        parameters.add_basic(basic(headers)?)?;
        Ok(parameters)
    }

    /// A client authenticates in the header or in the body, not in both (RFC 6749 section 2.3). Its id may be in both.
    fn add_basic(&mut self, basic: Option<(String, String)>) -> Result<(), OAuthError> {
        let Some((id, secret)) = basic else { return Ok(()) };
        if self.client_secret.is_some() || self.client_id.as_ref().is_some_and(|named| *named != id) {
            return Err(invalid("The client authenticates twice: use the Authorization header or the body."));
        }
        (self.client_id, self.client_secret) = (Some(id), Some(secret));
        Ok(())
    }
}

fn invalid(why: &'static str) -> OAuthError {
    OAuthError::new(OAuthErrorKind::InvalidRequest, why)
}

fn json_object(body: &[u8]) -> Result<Parameters, OAuthError> {
    // The parser's own message is not used: it may quote a secret.
    let malformed = || invalid("The body must be one JSON object whose members are strings, without duplicates.");
    // serde would accept an array as the fields in order.
    let object = body.trim_ascii_start().first().filter(|first| **first == b'{');
    object.and_then(|_| serde_json::from_slice(body).ok()).ok_or_else(malformed)
}

fn form(body: &[u8]) -> Result<Parameters, OAuthError> {
    let mut fields = Map::new();
    for (name, value) in form_urlencoded::parse(body) {
        // RFC 6749 section 3.2: a parameter without a value counts as omitted.
        if !value.is_empty() && fields.insert(name.into_owned(), Value::String(value.into_owned())).is_some() {
            return Err(invalid("A parameter is repeated."));
        }
    }
    serde_json::from_value(Value::Object(fields)).map_err(|_| invalid("The form cannot be decoded."))
}

/// The id and secret of HTTP Basic, each form-encoded (RFC 6749 section 2.3.1). Other schemes are ignored.
fn basic(headers: &HeaderMap) -> Result<Option<(String, String)>, OAuthError> {
    let Some(value) = single(headers, AUTHORIZATION).map_err(invalid)? else { return Ok(None) };
    let Some((scheme, given)) = value.split_once(' ') else { return Ok(None) };
    if !scheme.eq_ignore_ascii_case("basic") {
        return Ok(None);
    }
    let malformed = || OAuthError::new(OAuthErrorKind::InvalidClient, "The Basic credentials cannot be decoded.");
    let bytes = BASE64.decode(given.trim()).map_err(|_| malformed())?;
    let text = String::from_utf8(bytes).map_err(|_| malformed())?;
    let (id, secret) = text.split_once(':').ok_or_else(malformed)?;
    Ok(Some((form_decode(id), form_decode(secret))))
}

fn form_decode(text: &str) -> String {
    // Decoded as the one name of a form. Clients that do not encode `&` and `=` mean the characters themselves.
    let name = text.replace('&', "%26").replace('=', "%3D");
    form_urlencoded::parse(name.as_bytes()).map(|(name, _)| name.into_owned()).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(headers: &[(http::HeaderName, &str)], body: &str) -> Result<Parameters, OAuthError> {
        let headers = headers.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect();
        Parameters::parse(&headers, body.as_bytes())
    }

    const FORM: (http::HeaderName, &str) = (CONTENT_TYPE, "application/x-www-form-urlencoded;charset=UTF-8");
    const JSON: (http::HeaderName, &str) = (CONTENT_TYPE, "application/json");

    #[test]
    fn a_form_and_json_have_the_same_parameters() {
        for (kind, body) in [
            (
                FORM,
                "grant_type=client_credentials&client_id=a&client_secret=s%2B+%26&scope=read+write&extra=1&resource=",
            ),
            (
                JSON,
                r#"{"grant_type":"client_credentials","client_id":"a","client_secret":"s+ &","scope":"read write","extra":[1]}"#,
            ),
        ] {
            let asked = read(&[kind], body).unwrap_or_else(|refusal| panic!("{body}: {refusal:?}"));
            assert_eq!(asked.grant_type.as_deref(), Some("client_credentials"));
            assert_eq!((asked.client_id.as_deref(), asked.client_secret.as_deref()), (Some("a"), Some("s+ &")));
            assert_eq!((asked.scope.as_deref(), asked.resource), (Some("read write"), None));
        }
    }

    #[test]
    fn basic_credentials_are_form_encoded_inside() {
        let header = format!("Basic {}", BASE64.encode("a%3Ab:s%2B%26+x=y"));
        let asked = read(&[FORM, (AUTHORIZATION, &header)], "grant_type=client_credentials&client_id=a%3Ab").unwrap();
        assert_eq!((asked.client_id.as_deref(), asked.client_secret.as_deref()), (Some("a:b"), Some("s+& x=y")));
    }

    #[test]
    fn repeated_and_malformed_parameters_are_rejected() {
        let basic = format!("Basic {}", BASE64.encode("a:s"));
        for (headers, body) in [
            (vec![FORM], "grant_type=a&grant_type=b"),
            (vec![FORM, (AUTHORIZATION, basic.as_str())], "client_id=a&client_secret=s"),
            (vec![FORM, (AUTHORIZATION, basic.as_str())], "client_id=b"),
            (vec![FORM, (AUTHORIZATION, basic.as_str()), (AUTHORIZATION, basic.as_str())], ""),
            (vec![JSON], r#"{"scope":"a","scope":"b"}"#),
            (vec![JSON], r#"{"scope":["read"]}"#),
            (vec![JSON], "[]"),
            (vec![JSON], ""),
            (vec![(CONTENT_TYPE, "text/plain")], "grant_type=a"),
            (vec![], "grant_type=a"),
        ] {
            let refusal = read(&headers, body).map(drop).unwrap_err();
            assert_eq!(refusal.kind, OAuthErrorKind::InvalidRequest, "{body}");
        }
        for unreadable in ["Basic !", &format!("Basic {}", BASE64.encode("no colon"))] {
            let refusal = read(&[FORM, (AUTHORIZATION, unreadable)], "").map(drop).unwrap_err();
            assert_eq!(refusal.kind, OAuthErrorKind::InvalidClient, "{unreadable}");
        }
    }
}
