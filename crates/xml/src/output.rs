//! The canonical spelling of elements, attributes and text.

/// A writer of XML text. An element without contents is closed as `<a/>`.
#[derive(Default)]
pub struct Output {
    text: String,
    /// The last start tag still lacks its `>`.
    tag_open: bool,
}

impl Output {
    /// Creates an output with room for that many bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self { text: String::with_capacity(bytes), tag_open: false }
    }

    /// Bytes written.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Returns the output.
    pub fn into_text(self) -> String {
        self.text
    }

    /// Begins an element.
    pub fn open(&mut self, name: &str) {
        self.end_tag();
        self.text.push('<');
        self.text.push_str(name);
        self.tag_open = true;
    }

    /// Writes an attribute. Only allowed directly after [`Self::open`] or another attribute.
    pub fn attribute(&mut self, name: &str, value: &str) {
        self.text.push(' ');
        self.text.push_str(name);
        self.text.push_str("=\"");
        self.escape(value, attribute_escape);
        self.text.push('"');
    }

    /// Writes text in which literal white space is safe.
    pub fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.end_tag();
            self.escape(text, text_escape);
        }
    }

    /// Writes white space as references, so that readers don't take it for layout.
    pub(super) fn kept_space(&mut self, space: &str) {
        if !space.is_empty() {
            self.end_tag();
            self.escape(space, space_escape);
        }
    }

    /// Writes markup unchanged.
    pub fn raw(&mut self, parts: &[&str]) {
        self.end_tag();
        self.text.extend(parts.iter().copied());
    }

    /// Ends the innermost open element.
    pub fn close(&mut self, name: &str) {
        if self.tag_open {
            self.text.push_str("/>");
            self.tag_open = false;
        } else {
            self.raw(&["</", name, ">"]);
        }
    }

    fn end_tag(&mut self) {
        if self.tag_open {
            self.text.push('>');
            self.tag_open = false;
        }
    }

    /// Writes a text with escapes. `escape` replaces ASCII bytes only, so the pieces between them
    /// are whole characters.
    fn escape(&mut self, text: &str, escape: fn(u8) -> Option<&'static str>) {
        let mut done = 0;
        for (i, byte) in text.bytes().enumerate() {
            if let Some(escaped) = escape(byte) {
                self.text.push_str(&text[done..i]);
                self.text.push_str(escaped);
                done = i + 1;
            }
        }
        self.text.push_str(&text[done..]);
    }
}

fn text_escape(byte: u8) -> Option<&'static str> {
    match byte {
        b'&' => Some("&amp;"),
        b'<' => Some("&lt;"),
        // Only "]]>" needs it, but one rule for all is simpler to read back.
        b'>' => Some("&gt;"),
        b'\r' => Some("&#13;"),
        _ => None,
    }
}

fn attribute_escape(byte: u8) -> Option<&'static str> {
    match byte {
        b'"' => Some("&quot;"),
        b'\t' => Some("&#9;"),
        b'\n' => Some("&#10;"),
        _ => text_escape(byte),
    }
}

fn space_escape(byte: u8) -> Option<&'static str> {
    match byte {
        b' ' => Some("&#32;"),
        _ => attribute_escape(byte),
    }
}
