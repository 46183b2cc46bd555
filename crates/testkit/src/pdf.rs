//! The text of a PDF as programs extract it: by the glyph numbers in its instructions, and the
//! characters that each font assigns to them. Only PDFs in the form that this server writes can be
//! read.

use std::collections::HashMap;
use std::io::Read;

use flate2::read::ZlibDecoder;

/// A parsed PDF.
pub struct Pdf {
    /// The text of each page, with a line feed after each line.
    pub pages: Vec<String>,
}

impl Pdf {
    /// Parses a file.
    ///
    /// # Panics
    /// If it is not a PDF in the form that the server writes.
    pub fn read(file: &[u8]) -> Pdf {
        assert!(file.starts_with(b"%PDF-"), "a PDF begins otherwise");
        let end = String::from_utf8_lossy(&file[file.len().saturating_sub(16)..]).into_owned();
        assert!(end.trim_end().ends_with("%%EOF"), "a PDF ends otherwise: {end}");
        let objects = objects(file);
        let font_of = |dict: &str| {
            let cmap = &objects[&reference(dict, "/ToUnicode").expect("a font has a map to Unicode")];
            characters(&String::from_utf8_lossy(&cmap.stream()))
        };
        let kinds = |kind: &str| {
            let mut found: Vec<u32> =
                objects.iter().filter(|(_, object)| object.dict.contains(kind)).map(|(number, _)| *number).collect();
            found.sort_unstable();
            found
        };
        let page_of = |number: u32| {
            let dict = &objects[&number].dict;
            let fonts: HashMap<&str, HashMap<u16, char>> = ["R", "B"]
                .into_iter()
                .filter_map(|name| Some((name, font_of(&objects[&reference(dict, &format!("/{name} "))?].dict))))
                .collect();
            let content = objects[&reference(dict, "/Contents").expect("a page has contents")].stream();
            text_of(&content, &fonts)
        };
        let pages = kinds("/Type /Page\n").into_iter().map(page_of).collect();
        Pdf { pages }
    }
}

/// An object: its dictionary, and the bytes of its stream as they are stored.
struct Object {
    dict: String,
    stream: Vec<u8>,
}

impl Object {
    fn stream(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        ZlibDecoder::new(&*self.stream).read_to_end(&mut bytes).expect("a stream can be inflated");
        bytes
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// Returns the objects of a file by their numbers.
fn objects(file: &[u8]) -> HashMap<u32, Object> {
    let (mut objects, mut rest) = (HashMap::new(), file);
    while let Some(begin) = find(rest, b" 0 obj\n") {
        let line = rest[..begin].rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        let number = String::from_utf8_lossy(line).parse().expect("an object has a number");
        rest = &rest[begin + 7..];
        let end = find(rest, b"endobj").expect("an object ends");
        let object = match find(&rest[..end], b"stream\n") {
            None => Object { dict: String::from_utf8_lossy(&rest[..end]).into_owned(), stream: Vec::new() },
            Some(begin) => {
                let dict = String::from_utf8_lossy(&rest[..begin]).into_owned();
                let length = value(&dict, "/Length").and_then(|text| text.parse().ok()).expect("a stream has a length");
                let stream = rest[begin + 7..][..length].to_vec();
                rest = &rest[begin + 7 + length..];
                Object { dict, stream }
            }
        };
        objects.insert(number, object);
    }
    objects
}

/// Returns the word after a key of a dictionary.
fn value<'d>(dict: &'d str, key: &str) -> Option<&'d str> {
    let (_, behind) = dict.split_once(key)?;
    behind.split_whitespace().next()
}

fn reference(dict: &str, key: &str) -> Option<u32> {
    value(dict, key)?.trim_start_matches('[').parse().ok()
}

/// Returns the characters that a font assigns to glyph numbers.
fn characters(cmap: &str) -> HashMap<u16, char> {
    let mut found = HashMap::new();
    let mut within = false;
    for line in cmap.lines() {
        match line {
            _ if line.ends_with("beginbfchar") => within = true,
            "endbfchar" => within = false,
            _ if within => {
                let parts: Vec<&str> = line.split(['<', '>']).map(str::trim).filter(|part| !part.is_empty()).collect();
                let [code, units] = parts[..] else { panic!("no pair: {line}") };
                let units: Vec<u16> = (0..units.len() / 4).map(|at| hex(&units[4 * at..4 * at + 4])).collect();
                let character = char::decode_utf16(units).next().and_then(Result::ok).expect("a character");
                found.insert(hex(code), character);
            }
            _ => {}
        }
    }
    found
}

fn hex(digits: &str) -> u16 {
    u16::from_str_radix(digits, 16).expect("hexadecimal digits")
}

/// Returns the text that the instructions of a page show, with one line for each text object.
fn text_of(content: &[u8], fonts: &HashMap<&str, HashMap<u16, char>>) -> String {
    let (mut text, mut font, mut at, mut word) = (String::new(), None, 0, String::new());
    // The last instruction may end without a following byte.
    while at <= content.len() {
        let byte = content.get(at).copied().unwrap_or(b'\n');
        if byte == b'(' || byte == b'<' {
            let (shown, end) = string(content, at);
            let font: &HashMap<u16, char> = font.expect("a font is set before text is shown");
            text.extend(shown.chunks(2).map(|code| font[&u16::from_be_bytes([code[0], code[1]])]));
            at = end;
            continue;
        }
        at += 1;
        if !byte.is_ascii_whitespace() && !b"[]".contains(&byte) {
            word.push(char::from(byte));
            continue;
        }
        match std::mem::take(&mut word).as_str() {
            "ET" => text.push('\n'),
            name if name.starts_with('/') => font = fonts.get(&name[1..]),
            _ => {}
        }
    }
    text
}

/// Returns the bytes of a string that begins there, and the position of its end.
fn string(content: &[u8], begin: usize) -> (Vec<u8>, usize) {
    if content[begin] == b'<' {
        let end = begin + find(&content[begin..], b">").expect("a string ends");
        let digits = String::from_utf8_lossy(&content[begin + 1..end]).into_owned();
        let bytes =
            (0..digits.len() / 2).map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).expect("digits"));
        return (bytes.collect(), end + 1);
    }
    let (mut bytes, mut at, mut depth) = (Vec::new(), begin + 1, 0);
    loop {
        match content[at] {
            b')' if depth == 0 => return (bytes, at + 1),
            b'\\' => {
                at += 1;
                bytes.push(match content[at] {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 8,
                    b'f' => 12,
                    b'0'..=b'7' => {
                        let digits = std::str::from_utf8(&content[at..at + 3]).expect("three digits");
                        at += 2;
                        u8::from_str_radix(digits, 8).expect("octal digits")
                    }
                    other => other,
                });
            }
            other => {
                depth += i32::from(other == b'(') - i32::from(other == b')');
                bytes.push(other);
            }
        }
        at += 1;
    }
}
