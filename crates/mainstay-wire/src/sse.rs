//! Server-sent events: encoding a message as one, and parsing a stream of them.

/// One message as an event. JSON text has no line ends, so one `data:` line holds it.
pub fn event(message: &[u8]) -> Vec<u8> {
    [b"data: ", message, b"\n\n"].concat()
}

/// A parser that can be fed pieces of any size. It understands `data:` lines; other fields are skipped.
#[derive(Debug, Default)]
pub struct Reader {
    line: Vec<u8>,
    data: Vec<u8>,
}

impl Reader {
    /// Takes the next piece and returns the data of the events it completes.
    pub fn push(&mut self, piece: &[u8]) -> Vec<String> {
        let mut events = Vec::new();
        for byte in piece {
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            let line = std::mem::take(&mut self.line);
            events.extend(self.end_line(line.strip_suffix(b"\r").unwrap_or(&line)));
        }
        events
    }

    /// What is held back because its event is not complete.
    pub fn held(&self) -> usize {
        self.line.len() + self.data.len()
    }

    fn end_line(&mut self, line: &[u8]) -> Option<String> {
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            return (!data.is_empty()).then(|| String::from_utf8_lossy(&data).into_owned());
        }
        if let Some(data) = line.strip_prefix(b"data:") {
            if !self.data.is_empty() {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_found_wherever_the_stream_is_cut() {
        let mut stream = b": hello\r\nid: 1\r\ndata:\r\n\r\n".to_vec();
        stream.extend(event("{\"a\":\"ü\"}".as_bytes()));
        stream.extend_from_slice(b"event: message\ndata: x\ndata: y\n\ndata: unfinished\n");
        for size in 1..stream.len() {
            let mut reader = Reader::default();
            let found: Vec<String> = stream.chunks(size).flat_map(|piece| reader.push(piece)).collect();
            assert_eq!(found, ["{\"a\":\"ü\"}", "x\ny"], "cut every {size} bytes");
            assert_eq!(reader.held(), "unfinished".len());
        }
    }
}
