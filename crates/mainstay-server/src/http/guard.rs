//! Protection against requests from foreign web pages (CSRF and DNS rebinding). A page that a person has open can send
//! requests to any port of their machine, under any name that resolves to it. It cannot forge the Host, Origin and
//! Sec-Fetch-* headers, so every request is checked against them before its route is looked up.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{self, HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};

use super::body;
use crate::headers::single;
use crate::{ServerSettings, StartError};

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// Response headers that pages of allowed origins may read, besides those that CORS always allows.
const EXPOSED_HEADERS: &str = "Mcp-Session-Id, WWW-Authenticate, X-Session-ID, X-Request-ID, Retry-After, \
     X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset";

/// The names and origins under which this server accepts requests.
pub(crate) struct Guard {
    hosts: Vec<Host>,
    /// Host headers as nearly all clients of this machine send them: they need not be parsed.
    usual_hosts: Vec<String>,
    /// Lower-case `scheme://host:port`.
    origins: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
struct Host {
    name: String,
    /// `None` allows any port: behind a proxy, clients use the proxy's port, which is not known here.
    port: Option<u16>,
}

impl Guard {
    pub(crate) fn new(listening: SocketAddr, settings: &ServerSettings) -> Result<Self, StartError> {
        let port = Some(listening.port());
        // An unspecified address (0.0.0.0) is not a name clients use.
        let address = listening.to_string();
        let bound = address.rsplit_once(':').map(|(host, _)| host).filter(|_| !listening.ip().is_unspecified());
        let own = ["localhost", "127.0.0.1", "[::1]"].into_iter().chain(bound);
        let mut hosts: Vec<Host> = own.map(|name| Host { name: name.to_owned(), port }).collect();
        let mut origins: Vec<String> =
            hosts.iter().map(|host| format!("http://{}:{}", host.name, listening.port())).collect();
        let usual_hosts = hosts.iter().map(|host| format!("{}:{}", host.name, listening.port())).collect();
        for allowed in &settings.allowed_hosts {
            let wrong = || StartError::Allowed(allowed.clone(), "write it as host or host:port");
            let authority: Authority = allowed.parse().map_err(|_| wrong())?;
            hosts.push(Host { name: authority.host().to_ascii_lowercase(), port: authority.port_u16() });
        }
        for allowed in &settings.allowed_origins {
            let origin = origin(allowed)
                .ok_or_else(|| StartError::Allowed(allowed.clone(), "write it as scheme://host:port"))?;
            origins.push(origin);
        }
        Ok(Self { hosts, usual_hosts, origins })
    }

    /// The Origin header, if the request has one and it is allowed; an error if the request has to be rejected.
    fn allowed_origin(&self, uri: &Uri, headers: &HeaderMap) -> Result<Option<HeaderValue>, &'static str> {
        let host = single(headers, HOST)?;
        // HTTP/2 has the name in `:authority`, HTTP/1.1 in the request line of a client that uses a proxy. If both name
        // the server, readers differ in which one counts.
        let authority = uri.authority().map(Authority::as_str);
        if host.is_none() && authority.is_none() {
            return Err("the Host header is missing");
        }
        if !host.into_iter().chain(authority).all(|named| self.is_own(named)) {
            return Err("the Host header does not name this server; add the name to allowed_hosts to allow it");
        }
        match single(headers, ORIGIN)? {
            None if is_cross_site_fetch(headers)? => Err("pages of other sites may not fetch from this server"),
            None => Ok(None),
            Some(from) if origin(from).is_some_and(|from| self.origins.contains(&from)) => {
                Ok(headers.get(ORIGIN).cloned())
            }
            Some(_) => Err("pages of this Origin may not call this server; add it to allowed_origins to allow them"),
        }
    }

    fn is_own(&self, named: &str) -> bool {
        if self.usual_hosts.iter().any(|usual| usual == named) {
            return true;
        }
        let Ok(authority) = named.parse::<Authority>() else { return false };
        // `user@host` is valid in a URL, but not in a Host header.
        if named.contains('@') {
            return false;
        }
        let name = authority.host().to_ascii_lowercase();
        let port = authority.port_u16().unwrap_or(80);
        self.hosts.iter().any(|host| host.name == name && host.port.is_none_or(|own| own == port))
    }
}

/// Middleware. Rejects foreign requests with 403, answers CORS preflight requests, and adds CORS headers to responses
/// for pages of allowed origins.
pub(crate) async fn check(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let page = match guard.allowed_origin(request.uri(), request.headers()) {
        Ok(Some(page)) => page,
        Ok(None) => return next.run(request).await,
        Err(reason) => return body::problem(StatusCode::FORBIDDEN, "forbidden", format!("Forbidden: {reason}.")),
    };
    let requested = request.headers().get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    let mut response = match *request.method() {
        Method::OPTIONS => StatusCode::NO_CONTENT.into_response(),
        _ => next.run(request).await,
    };
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, page);
    headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE"));
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED_HEADERS));
    // A page can only send the headers listed here, so any that it asks for may be allowed: none of them grants access by
    // itself.
    headers.extend(requested.map(|requested| (header::ACCESS_CONTROL_ALLOW_HEADERS, requested)));
    response
}

/// Whether a page of another site embeds this URL, as an image or a script for example: such requests have no Origin
/// header. Following a link is allowed.
fn is_cross_site_fetch(headers: &HeaderMap) -> Result<bool, &'static str> {
    let cross_site = single(headers, FETCH_SITE)?.is_some_and(|site| matches!(site, "cross-site" | "same-site"));
    Ok(cross_site && single(headers, FETCH_MODE)? != Some("navigate"))
}

/// The origin as lower-case `scheme://host:port`, with the default port filled in. `None` for `null` and anything else
/// that is not an origin.
fn origin(text: &str) -> Option<String> {
    let uri: Uri = text.parse().ok()?;
    let (scheme, authority) = (uri.scheme_str()?, uri.authority()?);
    let bare = uri.path_and_query().is_none_or(|rest| rest.as_str() == "/")
        && !text.ends_with('/')
        && !authority.as_str().contains('@');
    let port = authority.port_u16().or(match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    })?;
    bare.then(|| format!("{scheme}://{}:{port}", authority.host()).to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(hosts: &[&str], origins: &[&str]) -> bool {
        allows_with(hosts, origins, &[])
    }

    fn allows_with(hosts: &[&str], origins: &[&str], more: &[(&'static str, &str)]) -> bool {
        let settings = ServerSettings {
            allowed_hosts: vec!["box.example".into(), "other.example:9000".into()],
            allowed_origins: vec!["https://app.example".into()],
            ..ServerSettings::default()
        };
        let guard = Guard::new(SocketAddr::from(([127, 0, 0, 1], 8099)), &settings).unwrap();
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(HOST, host.parse().unwrap());
        }
        for origin in origins {
            headers.append(ORIGIN, origin.parse().unwrap());
        }
        for (name, value) in more {
            headers.append(*name, value.parse().unwrap());
        }
        guard.allowed_origin(&Uri::from_static("/mcp"), &headers).is_ok()
    }

    #[test]
    fn the_servers_own_names_are_allowed() {
        for host in [
            "127.0.0.1:8099",
            "localhost:8099",
            "LOCALHOST:8099",
            "[::1]:8099",
            "box.example",
            "box.example:1",
            "other.example:9000",
        ] {
            assert!(allows(&[host], &[]), "{host}");
        }
        for origin in
            ["http://localhost:8099", "http://127.0.0.1:8099", "https://app.example", "https://app.example:443"]
        {
            assert!(allows(&["localhost:8099"], &[origin]), "{origin}");
        }
    }

    #[test]
    fn other_hosts_are_rejected() {
        let foreign = [
            "evil.example",
            "localhost",
            "localhost:80",
            "localhost:9000",
            "localhost.:8099",
            "0.0.0.0:8099",
            "127.0.0.2:8099",
            "localhost:8099@evil.example",
            "user@localhost:8099",
            "other.example",
            "null",
            "",
            "127.1:8099",
            "2130706433:8099",
        ];
        for host in foreign {
            assert!(!allows(&[host], &[]), "{host:?}");
        }
        assert!(!allows(&[], &[]));
        assert!(!allows(&["localhost:8099", "localhost:8099"], &[]));
    }

    #[test]
    fn the_authority_of_a_request_is_checked_as_its_host_header_is() {
        let guard = Guard::new(SocketAddr::from(([127, 0, 0, 1], 8099)), &ServerSettings::default()).unwrap();
        let allows = |authority: &str, host: Option<&'static str>| {
            let uri = Uri::builder().scheme("http").authority(authority).path_and_query("/mcp").build().unwrap();
            let host = host.map(|host| (HOST, HeaderValue::from_static(host)));
            guard.allowed_origin(&uri, &host.into_iter().collect()).is_ok()
        };
        assert!(allows("localhost:8099", None) && allows("localhost:8099", Some("127.0.0.1:8099")));
        for foreign in ["evil.example", "evil.example:8099", "localhost", "localhost.:8099", "user@localhost:8099"] {
            assert!(!allows(foreign, None) && !allows(foreign, Some("localhost:8099")), "{foreign}");
        }
        assert!(!allows("localhost:8099", Some("evil.example")));
    }

    #[test]
    fn cross_site_fetches_are_rejected_and_links_are_followed() {
        let fetched =
            |site, mode| allows_with(&["localhost:8099"], &[], &[("sec-fetch-site", site), ("sec-fetch-mode", mode)]);
        for mode in ["no-cors", "cors", "same-origin", "websocket", ""] {
            assert!(!fetched("cross-site", mode) && !fetched("same-site", mode), "{mode}");
            assert!(fetched("same-origin", mode) && fetched("none", mode), "{mode}");
        }
        assert!(fetched("cross-site", "navigate") && fetched("same-site", "navigate"));
        assert!(!allows_with(&["localhost:8099"], &[], &[("sec-fetch-site", "cross-site")]));
        assert!(!allows_with(&["localhost:8099"], &[], &[("sec-fetch-site", "none"), ("sec-fetch-site", "none")]));
        let allowed = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "cors")];
        assert!(allows_with(&["localhost:8099"], &["https://app.example"], &allowed));
    }

    #[test]
    fn other_origins_are_rejected() {
        let foreign = [
            "null",
            "http://evil.example",
            "http://localhost",
            "http://localhost:9000",
            "https://localhost:8099",
            "http://localhost.:8099",
            "http://0.0.0.0:8099",
            "http://localhost:8099.evil.example",
            "file://",
            "http://app.example",
            "http://localhost:8099/",
            "",
            "http://x@localhost:8099",
        ];
        for origin in foreign {
            assert!(!allows(&["localhost:8099"], &[origin]), "{origin:?}");
        }
        assert!(!allows(&["localhost:8099"], &["http://localhost:8099", "http://localhost:8099"]));
    }
}
