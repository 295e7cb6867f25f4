//! Keeps a bounded part of a command's output: its beginning, its end, and the count of what was between them.

use std::collections::VecDeque;
use std::sync::LazyLock;

use mainstay_core::{Principal, PrincipalLimit, PrincipalPermit};

/// How much is kept of every stream, in bytes.
const SMALL: usize = 256 * 1024;

/// Memory for the streams that are longer, of all commands together, in MiB. Many callers may run commands with long
/// output at the same time.
const LARGE_MIB: usize = 512;

/// Half of it for one principal: the output of others must not become shorter because of one that runs many commands.
static LARGE: LazyLock<PrincipalLimit> = LazyLock::new(|| PrincipalLimit::halved(LARGE_MIB));

/// Keeps the first and the last bytes of a stream, in bounded memory.
pub(super) struct HeadTail {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    total: u64,
    cap: usize,
    /// Whose share of the memory for long streams it takes.
    owner: Principal,
    /// That share, once this is a long one.
    memory: Option<PrincipalPermit>,
}

impl HeadTail {
    /// Keeps at most `cap` bytes, half of them from each side; less, if other commands use up the memory.
    pub(super) fn new(cap: usize, owner: Principal) -> Self {
        let (head, tail, half) = (Vec::new(), VecDeque::new(), cap.min(SMALL) / 2);
        Self { head, tail, half, total: 0, cap, owner, memory: None }
    }

    /// Makes room for a long stream, if there is memory. Everything that was kept so far is its beginning.
    fn grow(&mut self) {
        // Never more than a share, so that a stream can be kept however much the operator allows.
        let mebibytes = (self.cap >> 20).clamp(1, LARGE_MIB / 2);
        let Ok(memory) = LARGE.acquire_many(&self.owner, mebibytes) else { return };
        self.memory = Some(memory);
        self.half = self.cap / 2;
        let fitting = (self.half - self.head.len()).min(self.tail.len());
        self.head.extend(self.tail.drain(..fitting));
    }

    /// Adds bytes: to the beginning until that is full, then to the end, where they displace older ones.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let kept = self.head.len() + self.tail.len() + bytes.len();
        if self.memory.is_none() && self.cap > SMALL && kept > 2 * self.half && self.omitted() == 0 {
            self.grow();
        }
        self.total += bytes.len() as u64;
        let room = self.half - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.half)..];
        let surplus = (self.tail.len() + rest.len()).saturating_sub(self.half);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }

    /// How many bytes were left out between the beginning and the end.
    fn omitted(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// The kept bytes as text; invalid UTF-8 becomes U+FFFD. If some are missing, a line says so where they were, and
    /// another one at the end, where programs that see only the text look for it.
    pub(super) fn into_text(mut self) -> CapturedText {
        if self.omitted() == 0 {
            self.head.extend(self.tail);
            return CapturedText { text: String::from_utf8_lossy(&self.head).into_owned(), omitted: 0 };
        }
        let tail: Vec<u8> = self.tail.into();
        // The cut may split a character: its parts are left out, so that they do not become U+FFFD.
        let (head, tail) = (complete_utf8_prefix(&self.head), complete_utf8_suffix(&tail));
        let omitted = self.total - (head.len() + tail.len()) as u64;
        let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
        let line_end = if tail.ends_with('\n') { "" } else { "\n" };
        let text = format!(
            "{head}\n[… {omitted} bytes left out …]\n{tail}{line_end}[output truncated: {omitted} of {} bytes left out]\n",
            self.total
        );
        CapturedText { text, omitted }
    }
}

/// Output as text, and how many bytes of it are missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapturedText {
    pub text: String,
    pub omitted: u64,
}

/// The bytes without an incomplete character at their end.
pub fn complete_utf8_prefix(bytes: &[u8]) -> &[u8] {
    let last_three = bytes.len().saturating_sub(3)..bytes.len();
    let is_start = |at: &usize| !matches!(bytes[*at], 0x80..=0xbf);
    match last_three.rev().find(is_start) {
        // The error has no length if the input ended too early.
        Some(at) if std::str::from_utf8(&bytes[at..]).is_err_and(|error| error.error_len().is_none()) => &bytes[..at],
        Some(_) | None => bytes,
    }
}

/// The bytes without an incomplete character at their beginning.
fn complete_utf8_suffix(bytes: &[u8]) -> &[u8] {
    let strays = bytes.iter().take(3).take_while(|byte| matches!(byte, 0x80..=0xbf)).count();
    &bytes[strays..]
}

/// Decodes the next bytes of a stream, without splitting a character between two chunks: `held` is what was held back of
/// the chunk before. No bytes are the end of the stream, where nothing is held back.
pub(super) fn decode_chunk(held: &mut Vec<u8>, bytes: &[u8]) -> String {
    held.extend_from_slice(bytes);
    let whole = if bytes.is_empty() { held.len() } else { complete_utf8_prefix(held).len() };
    let text = String::from_utf8_lossy(&held[..whole]).into_owned();
    held.drain(..whole);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(cap: usize, pieces: &[&[u8]]) -> CapturedText {
        text_for(&Principal::local(), cap, pieces)
    }

    fn text_for(owner: &Principal, cap: usize, pieces: &[&[u8]]) -> CapturedText {
        let mut kept = HeadTail::new(cap, owner.clone());
        for piece in pieces {
            kept.push(piece);
        }
        kept.into_text()
    }

    #[test]
    fn what_fits_is_kept_whole() {
        let kept = text_of(10, &[b"abc", b"defg", b"hij"]);
        assert_eq!((kept.text.as_str(), kept.omitted), ("abcdefghij", 0));
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let kept = text_of(10, &[b"abcdefgh", b"ijklmnopqrstuvwxyz"]);
        assert_eq!(
            (kept.text.as_str(), kept.omitted),
            ("abcde\n[… 16 bytes left out …]\nvwxyz\n[output truncated: 16 of 26 bytes left out]\n", 16)
        );
    }

    #[test]
    fn the_end_is_the_last_bytes_however_they_came() {
        let kept = text_of(6, &[b"abc", b"d", b"ef", b"g", b"hijklm", b"n"]);
        assert_eq!(kept.text, "abc\n[… 8 bytes left out …]\nlmn\n[output truncated: 8 of 14 bytes left out]\n");
    }

    #[test]
    fn a_cut_never_shows_half_a_character() {
        let kept = text_of(8, &["aäää€€€".as_bytes()]);
        assert!(!kept.text.contains('\u{fffd}'), "{}", kept.text);
        assert!(kept.text.starts_with("aä\n[… 10 bytes left out …]\n€\n[output truncated: 10 of 16"), "{}", kept.text);
        assert_eq!(kept.omitted, 10);
    }

    #[test]
    fn a_flood_stays_within_its_bound() {
        let mut kept = HeadTail::new(1000, Principal::local());
        let block = vec![b'x'; 1 << 20];
        for _ in 0..1024 {
            kept.push(&block);
        }
        assert_eq!(kept.omitted(), (1 << 30) - 1000);
        assert!(kept.head.capacity() + kept.tail.capacity() < 10_000);
    }

    #[test]
    fn long_streams_are_whole_while_there_is_memory_and_counted_otherwise() {
        const CAP: usize = 8 << 20;
        let pieces: Vec<Vec<u8>> = (0..CAP / 1024).map(|number| format!("{number:1024}").into_bytes()).collect();
        let whole = pieces.concat();
        let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
        let kept = text_of(CAP, &pieces);
        assert!(kept.text.as_bytes() == whole && kept.omitted == 0);
        // Who uses up its own share leaves that of others alone.
        let [ann, bob, eve] = ["ann", "bob", "eve"].map(|name| Principal::new("https://issuer", name));
        let mut held: Vec<_> = (0..LARGE_MIB).map_while(|_| LARGE.acquire(&ann).ok()).collect();
        assert_eq!(text_for(&ann, CAP, &pieces).omitted, (CAP - SMALL) as u64);
        assert_eq!(text_for(&bob, CAP, &pieces).omitted, 0);
        held.extend((0..LARGE_MIB).map_while(|_| LARGE.acquire(&bob).ok()));
        let kept = text_for(&eve, CAP, &pieces);
        assert_eq!(kept.omitted, (CAP - SMALL) as u64);
        assert!(kept.text.len() < SMALL + 200 && kept.text.ends_with("bytes left out]\n"));
    }

    #[test]
    fn pieces_wait_for_the_rest_of_a_character() {
        let (held, euro) = (&mut Vec::new(), "€".as_bytes());
        assert_eq!(decode_chunk(held, &[b'a', euro[0], euro[1]]), "a");
        assert_eq!(decode_chunk(held, &[euro[2], b'b']), "€b");
        assert_eq!(decode_chunk(held, b"\xff\xc3"), "\u{fffd}");
        assert_eq!(decode_chunk(held, b""), "\u{fffd}");
    }
}
