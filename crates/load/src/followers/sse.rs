//! An incremental parser of server-sent events (HTML standard, 9.2). A lone carriage return, which
//! no server sends, does not end a line.

/// The greatest length of a line or event in bytes.
const MOST: usize = 1 << 20;

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    /// The last received `id`, of this or an earlier event.
    pub id: &'a str,
    /// The name; `message` by default.
    pub name: &'a str,
    /// The data, with all of its lines.
    pub data: &'a str,
}

/// A parser with the received part of an incomplete event.
#[derive(Debug, Default)]
pub struct Parser {
    line: Vec<u8>,
    id: String,
    name: String,
    data: String,
}

impl Parser {
    /// Parses the next bytes, and calls `take` for each event that they complete.
    ///
    /// # Errors
    /// A sentence if the bytes are not events.
    pub fn feed(&mut self, mut bytes: &[u8], mut take: impl FnMut(Event<'_>)) -> Result<(), String> {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = (&bytes[..end], &bytes[end + 1..]);
            if self.line.is_empty() {
                self.line(line, &mut take)?;
            } else {
                let mut whole = std::mem::take(&mut self.line);
                whole.extend_from_slice(line);
                self.line(&whole, &mut take)?;
                whole.clear();
                self.line = whole;
            }
            bytes = rest;
        }
        self.line.extend_from_slice(bytes);
        if self.line.len() > MOST {
            return Err(format!("a line is longer than {MOST} bytes"));
        }
        Ok(())
    }

    fn line(&mut self, line: &[u8], take: &mut impl FnMut(Event<'_>)) -> Result<(), String> {
        let line = std::str::from_utf8(line).map_err(|_| "a line is no UTF-8".to_owned())?;
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.is_empty() {
            if !self.data.is_empty() {
                let name = if self.name.is_empty() { "message" } else { &self.name };
                // Each line of data has added an end of line.
                take(Event { id: &self.id, name, data: self.data.strip_suffix('\n').unwrap_or(&self.data) });
            }
            self.name.clear();
            self.data.clear();
            return Ok(());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => value.clone_into(&mut self.id),
            "event" => value.clone_into(&mut self.name),
            "data" => {
                self.data.push_str(value);
                self.data.push('\n');
                if self.data.len() > MOST {
                    return Err(format!("an event is longer than {MOST} bytes"));
                }
            }
            // A comment, or an unknown field.
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = ":\n\nid: 1\nevent: a.b\ndata: {\"x\": 1}\n\n: a comment\nid:2\r\ndata: one\r\ndata:two\r\n\r\nevent: empty\n\n\
                        retry: 5\nid: 3\nevent: ü\ndata\n\n";

    fn events(pieces: &[&[u8]]) -> Vec<(String, String, String)> {
        let (mut parser, mut found) = (Parser::default(), Vec::new());
        for piece in pieces {
            let keep =
                |event: Event<'_>| found.push((event.id.to_owned(), event.name.to_owned(), event.data.to_owned()));
            parser.feed(piece, keep).unwrap();
        }
        found
    }

    #[test]
    fn events_are_the_same_however_they_are_cut() {
        let whole = events(&[TEXT.as_bytes()]);
        let wanted = [("1", "a.b", "{\"x\": 1}"), ("2", "message", "one\ntwo"), ("3", "ü", "")];
        let wanted = wanted.map(|(id, name, data)| (id.to_owned(), name.to_owned(), data.to_owned()));
        assert_eq!(whole, wanted);
        for cut in 0..TEXT.len() {
            let (head, tail) = TEXT.as_bytes().split_at(cut);
            assert_eq!(events(&[head, tail]), wanted, "cut at {cut}");
        }
        let bytes: Vec<&[u8]> = TEXT.as_bytes().chunks(1).collect();
        assert_eq!(events(&bytes), wanted);
    }

    #[test]
    fn malformed_event_streams_are_refused_before_they_fill_the_memory() {
        let mut parser = Parser::default();
        assert!(parser.feed(b"data: \xff\n", |_| ()).unwrap_err().contains("UTF-8"));
        let mut parser = Parser::default();
        let endless = vec![b'x'; MOST + 1];
        assert!(parser.feed(&endless, |_| ()).unwrap_err().contains("longer"));
        let (mut parser, line) = (Parser::default(), [b"data: ", &endless[..1000], b"\n"].concat());
        assert!((0..2000).any(|_| parser.feed(&line, |_| ()).is_err()));
    }
}
