//! The parameters of a header's value: the `name=value` pairs after the first `;`, as in
//! `Content-Type` and `Content-Disposition`.
//!
//! Clients write these headers in many ways that the grammar (RFC 9110, 5.6.6) forbids but that are
//! unambiguous. The reader accepts them: an unquoted value ends at the next `;`, whatever else is
//! in it. A `\` in a quoted value escapes only `"` and `\`, because old browsers send paths such as
//! `"C:\Desk\ferry.xml"`.

/// A parameter of a header's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderParameter<'h> {
    /// The name as written in the header.
    pub name: &'h str,
    /// The value, without its quotes and escapes.
    pub value: String,
    /// Whether the value was quoted.
    pub quoted: bool,
}

/// An iterator over the parameters of a header's value.
#[derive(Debug)]
pub struct HeaderParameters<'h> {
    rest: &'h str,
}

impl<'h> HeaderParameters<'h> {
    /// Splits a value into the text before the first `;`, trimmed, and the parameters.
    pub fn of(value: &'h str) -> (&'h str, HeaderParameters<'h>) {
        let (main, rest) = value.split_once(';').unwrap_or((value, ""));
        (main.trim(), HeaderParameters { rest })
    }
}

impl<'h> Iterator for HeaderParameters<'h> {
    /// A parameter, or the reason why the rest is unreadable: the end of a sentence that begins
    /// with the header's name.
    type Item = Result<HeaderParameter<'h>, String>;

    fn next(&mut self) -> Option<Self::Item> {
        self.rest = self.rest.trim_start_matches([' ', '\t', ';']);
        if self.rest.is_empty() {
            return None;
        }
        let read = read_one(self.rest);
        self.rest = read.as_ref().map_or("", |(_, rest)| rest);
        Some(read.map(|(parameter, _)| parameter))
    }
}

fn read_one(text: &str) -> Result<(HeaderParameter<'_>, &str), String> {
    let end = text.find([';', '=']).unwrap_or(text.len());
    let name = text[..end].trim();
    let Some(behind) = text[end..].strip_prefix('=') else {
        return Err(format!("has the parameter `{}` without a value", shortened(name)));
    };
    if name.is_empty() {
        return Err("has a parameter without a name".to_owned());
    }
    let behind = behind.trim_start_matches([' ', '\t']);
    let Some(quoted) = behind.strip_prefix('"') else {
        let end = behind.find(';').unwrap_or(behind.len());
        let value = behind[..end].trim_end().to_owned();
        return Ok((HeaderParameter { name, value, quoted: false }, &behind[end..]));
    };
    let (value, rest) = parse_quoted(quoted)
        .ok_or_else(|| format!("has the parameter `{}` without its closing `\"`", shortened(name)))?;
    let rest = rest.trim_start_matches([' ', '\t']);
    if !rest.is_empty() && !rest.starts_with(';') {
        return Err(format!("has something other than a `;` after the quoted value of `{}`", shortened(name)));
    }
    Ok((HeaderParameter { name, value, quoted: true }, rest))
}

/// Returns the value of a quoted string and the text after its closing quote; `None` without one.
fn parse_quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match chars.next_if(|(_, next)| matches!(next, '"' | '\\')) {
                Some((_, escaped)) => value.push(escaped),
                None => value.push('\\'),
            },
            other => value.push(other),
        }
    }
    None
}

/// Returns the beginning of a client's text, at most as long as a message may show.
pub fn shortened(text: &str) -> String {
    const SHOWN: usize = 60;
    let shown: String = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).take(SHOWN).collect();
    if text.chars().nth(SHOWN).is_some() { shown + "…" } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &str) -> Result<Vec<(String, String)>, String> {
        let pair = |parameter: HeaderParameter<'_>| (parameter.name.to_owned(), parameter.value);
        HeaderParameters::of(value).1.map(|parameter| parameter.map(pair)).collect()
    }

    #[test]
    fn values_are_read_quoted_or_not() {
        for (value, expected) in [
            ("form-data", vec![]),
            ("form-data;", vec![]),
            ("a; b=c", vec![("b", "c")]),
            ("a;b=c ;; d = \"e;f=g\" ; ", vec![("b", "c"), ("d", "e;f=g")]),
            ("a; b=c d=e", vec![("b", "c d=e")]),
            ("a; b=", vec![("b", "")]),
            ("a; b=\"\"", vec![("b", "")]),
            (r#"a; b="x\"y\\z\w""#, vec![("b", r#"x"y\z\w"#)]),
            (r#"a; b="\\server\share\f""#, vec![("b", r"\server\share\f")]),
            ("a; b=\"Fähre\"", vec![("b", "Fähre")]),
        ] {
            let expected = expected.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            assert_eq!(read(value), Ok(expected), "{value}");
        }
    }

    #[test]
    fn broken_parameters_are_errors_that_name_them() {
        for (value, part) in [
            ("a; b", "`b` without a value"),
            ("a; =c", "without a name"),
            ("a; b=\"c", "`b` without its closing"),
            ("a; b=\"c\\\"", "`b` without its closing"),
            ("a; b=\"c\" d", "after the quoted value of `b`"),
        ] {
            let why = read(value).expect_err(value);
            assert!(why.contains(part), "{why}");
        }
        let long = format!("a; {}", "x".repeat(9000));
        assert!(read(&long).expect_err("no value").len() < 300);
    }
}
