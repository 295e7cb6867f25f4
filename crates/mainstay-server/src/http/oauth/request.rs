//! What a client of the authorization server sends: a form as OAuth has it, or JSON as the contract shows it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::HeaderMap;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use mainstay_engine::oauth::{Reason, Refusal};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::headers::single;

/// Every parameter that is looked at; others are ignored, as OAuth wants it.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Asked {
    pub(super) grant_type: Option<String>,
    pub(super) client_id: Option<String>,
    pub(super) client_secret: Option<String>,
    pub(super) scope: Option<String>,
    pub(super) refresh_token: Option<String>,
    pub(super) resource: Option<String>,
    pub(super) token: Option<String>,
}

impl Asked {
    pub(super) fn read(headers: &HeaderMap, body: &[u8]) -> Result<Self, Refusal> {
        let kind = single(headers, CONTENT_TYPE).map_err(wrong)?.unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let mut asked = match kind.as_str() {
            "application/json" => object(body)?,
            "application/x-www-form-urlencoded" => form(body)?,
            _ => return Err(wrong("Send application/x-www-form-urlencoded or application/json.")),
        };
        asked.join(basic(headers)?)?;
        Ok(asked)
    }

    /// A client proves itself in the header or in the body, not in both. Its id alone may be in both.
    fn join(&mut self, basic: Option<(String, String)>) -> Result<(), Refusal> {
        let Some((id, secret)) = basic else { return Ok(()) };
        if self.client_secret.is_some() || self.client_id.as_ref().is_some_and(|named| *named != id) {
            return Err(wrong("The client proves itself twice: use the Authorization header or the body."));
        }
        (self.client_id, self.client_secret) = (Some(id), Some(secret));
        Ok(())
    }
}

fn wrong(why: &'static str) -> Refusal {
    Refusal::new(Reason::Request, why)
}

fn object(body: &[u8]) -> Result<Asked, Refusal> {
    // What was wrong is not said in the words of the parser, which may repeat the value.
    let refused = || wrong("The body must be one JSON object whose members are strings, none of them twice.");
    // An array would be read as the same members without their names.
    let opening = body.trim_ascii_start().first().filter(|first| **first == b'{');
    opening.and_then(|_| serde_json::from_slice(body).ok()).ok_or_else(refused)
}

fn form(body: &[u8]) -> Result<Asked, Refusal> {
    let mut fields = Map::new();
    for (name, value) in form_urlencoded::parse(body) {
        // A parameter without a value is treated as if it were not there.
        if !value.is_empty() && fields.insert(name.into_owned(), Value::String(value.into_owned())).is_some() {
            return Err(wrong("A parameter came twice."));
        }
    }
    serde_json::from_value(Value::Object(fields)).map_err(|_| wrong("The form cannot be read."))
}

/// The id and secret of HTTP Basic, each of them form-encoded (RFC 6749, 2.3.1). Other schemes are nothing to us.
fn basic(headers: &HeaderMap) -> Result<Option<(String, String)>, Refusal> {
    let Some(value) = single(headers, AUTHORIZATION).map_err(wrong)? else { return Ok(None) };
    let Some((scheme, given)) = value.split_once(' ') else { return Ok(None) };
    if !scheme.eq_ignore_ascii_case("basic") {
        return Ok(None);
    }
    let unreadable = || Refusal::new(Reason::Client, "The Basic credentials cannot be read.");
    let bytes = BASE64.decode(given.trim()).map_err(|_| unreadable())?;
    let text = String::from_utf8(bytes).map_err(|_| unreadable())?;
    let (id, secret) = text.split_once(':').ok_or_else(unreadable)?;
    Ok(Some((decoded(id), decoded(secret))))
}

fn decoded(text: &str) -> String {
    // Read as the one name of a form; what separates names in a form is part of it if somebody left it as it was.
    let name = text.replace('&', "%26").replace('=', "%3D");
    form_urlencoded::parse(name.as_bytes()).map(|(name, _)| name.into_owned()).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(headers: &[(http::HeaderName, &str)], body: &str) -> Result<Asked, Refusal> {
        let headers = headers.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect();
        Asked::read(&headers, body.as_bytes())
    }

    const FORM: (http::HeaderName, &str) = (CONTENT_TYPE, "application/x-www-form-urlencoded;charset=UTF-8");
    const JSON: (http::HeaderName, &str) = (CONTENT_TYPE, "application/json");

    #[test]
    fn a_form_and_json_say_the_same() {
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
    fn what_is_doubled_or_of_another_shape_is_refused() {
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
            assert_eq!(refusal.reason, Reason::Request, "{body}");
        }
        for unreadable in ["Basic !", &format!("Basic {}", BASE64.encode("no colon"))] {
            let refusal = read(&[FORM, (AUTHORIZATION, unreadable)], "").map(drop).unwrap_err();
            assert_eq!(refusal.reason, Reason::Client, "{unreadable}");
        }
    }
}
