//! The little of HTTP/1.1 a keep-alive client needs to know where a reply ends.

use anyhow::{Context, Result, bail};
use memchr::{memchr, memmem};

/// A whole reply at the start of the input.
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// Bytes of the input the reply takes up, head and framing included.
    pub(crate) length: usize,
    pub(crate) head_length: usize,
}

enum BodyEnd {
    After(usize),
    Chunked,
}

/// Looks for one whole reply. `None` means more bytes are to come; `body` then holds nothing of use.
pub(crate) fn read(input: &[u8], body: &mut Vec<u8>) -> Result<Option<Reply>> {
    let Some(end) = memmem::find(input, b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = &input[..end + 2];
    let head_length = end + 4;
    let rest = &input[head_length..];
    body.clear();
    let body_length = match body_end(head)? {
        BodyEnd::After(length) if rest.len() < length => return Ok(None),
        BodyEnd::After(length) => {
            body.extend_from_slice(&rest[..length]);
            length
        }
        BodyEnd::Chunked => match read_chunks(rest, body)? {
            Some(length) => length,
            None => return Ok(None),
        },
    };
    Ok(Some(Reply { status: status(head)?, length: head_length + body_length, head_length }))
}

fn status(head: &[u8]) -> Result<u16> {
    head.strip_prefix(b"HTTP/1.1 ")
        .and_then(|rest| std::str::from_utf8(rest.get(..3)?).ok()?.parse().ok())
        .context("the reply does not start with an HTTP/1.1 status line")
}

fn body_end(head: &[u8]) -> Result<BodyEnd> {
    if let Some(length) = header(head, b"content-length") {
        return Ok(BodyEnd::After(std::str::from_utf8(length)?.parse()?));
    }
    match header(head, b"transfer-encoding") {
        Some(coding) if coding.eq_ignore_ascii_case(b"chunked") => Ok(BodyEnd::Chunked),
        Some(_) => bail!("the reply has a transfer encoding this client does not know"),
        None => Ok(BodyEnd::After(0)),
    }
}

/// The value of a header; `name` is in lower case.
pub(crate) fn header<'a>(head: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut rest = head;
    while let Some(end) = memchr(b'\n', rest) {
        let line = &rest[..end];
        rest = &rest[end + 1..];
        if line.len() > name.len() && line[name.len()] == b':' && line[..name.len()].eq_ignore_ascii_case(name) {
            return Some(line[name.len() + 1..].trim_ascii());
        }
    }
    None
}

/// Gathers the chunks' payloads, so that a text cut in two by a chunk's border is found all the same.
fn read_chunks(input: &[u8], body: &mut Vec<u8>) -> Result<Option<usize>> {
    let mut at = 0;
    loop {
        let Some(line) = memmem::find(&input[at..], b"\r\n") else {
            return Ok(None);
        };
        let size = std::str::from_utf8(&input[at..at + line])?;
        let size = usize::from_str_radix(size.trim(), 16).context("a chunk without its size")?;
        let start = at + line + 2;
        let end = start + size;
        if input.len() < end + 2 {
            return Ok(None);
        }
        body.extend_from_slice(&input[start..end]);
        at = end + 2;
        if size == 0 {
            return Ok(Some(at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: &[u8] =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\ndata: \r\n4\r\n{}\n\n\r\n0\r\n\r\nHTTP";

    #[test]
    fn chunks_are_joined_and_the_next_reply_is_left() {
        let mut body = Vec::new();
        let reply = read(EVENTS, &mut body).unwrap().unwrap();
        assert_eq!(body, b"data: {}\n\n");
        assert_eq!(&EVENTS[reply.length..], b"HTTP");
    }

    #[test]
    fn a_reply_cut_anywhere_is_not_yet_a_reply() {
        let whole = EVENTS.len() - b"HTTP".len();
        for cut in 0..whole {
            let got = read(&EVENTS[..cut], &mut Vec::new()).unwrap();
            assert!(got.is_none(), "a whole reply was seen in {cut} bytes");
        }
    }

    #[test]
    fn a_length_is_found_whatever_its_case() {
        let mut body = Vec::new();
        let reply = read(b"HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nok", &mut body);
        assert_eq!(reply.unwrap().unwrap().status, 202);
        assert_eq!(body, b"ok");
    }
}
