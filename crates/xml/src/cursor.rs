//! A position in a piece of markup, for the grammar inside tags and the DOCTYPE.

use super::chars::{SPACE, is_name};
use super::error::{XmlError, XmlErrorKind, quoted};

/// The rest of a piece of markup, and its offset in the document.
pub(super) struct MarkupCursor<'a> {
    rest: &'a str,
    at: usize,
}

impl<'a> MarkupCursor<'a> {
    pub(super) fn new(text: &'a str, at: usize) -> Self {
        Self { rest: text, at }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn rest(&self) -> &'a str {
        self.rest
    }

    /// Passes `len` bytes, which must end on a character boundary of the rest.
    fn take(&mut self, len: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(len);
        self.rest = rest;
        self.at += len;
        taken
    }

    /// Passes white space; returns whether there was any.
    pub(super) fn skip_space(&mut self) -> bool {
        let len = self.rest.len() - self.rest.trim_start_matches(SPACE).len();
        self.take(len);
        len > 0
    }

    /// Passes white space that the grammar demands before `what`.
    pub(super) fn space_before(&mut self, what: &str) -> Result<(), XmlError> {
        if self.skip_space() { Ok(()) } else { Err(self.expected(&format!("white space before {what}"))) }
    }

    /// Passes `token` if it is next; returns whether it was.
    pub(super) fn eat(&mut self, token: &str) -> bool {
        let found = self.rest.starts_with(token);
        if found {
            self.take(token.len());
        }
        found
    }

    /// Passes everything up to and including `end`, and returns the text before `end`.
    pub(super) fn through(&mut self, end: &str) -> Option<&'a str> {
        let len = self.rest.find(end)?;
        let body = self.take(len);
        self.take(end.len());
        Some(body)
    }

    /// Passes everything before the first of `stops`, or the whole rest.
    pub(super) fn before(&mut self, stops: &[char]) -> &'a str {
        self.take(self.rest.find(stops).unwrap_or(self.rest.len()))
    }

    /// Passes a legal name.
    pub(super) fn name(&mut self, what: &str) -> Result<&'a str, XmlError> {
        const ENDS: [char; 16] = [' ', '\t', '\n', '\r', '=', '"', '\'', '<', '>', '&', ';', '/', '[', ']', '%', '?'];
        let at = self.at;
        let name = self.before(&ENDS);
        if name.is_empty() {
            return Err(self.expected(what));
        }
        if is_name(name) {
            return Ok(name);
        }
        let fault = format!("{} is no legal XML name for {what}", quoted(name));
        Err(XmlError::at_byte(XmlErrorKind::BadName, at, fault))
    }

    /// Passes a quoted text, and returns its offset and the text between the quotes.
    pub(super) fn literal(&mut self, what: &str) -> Result<(usize, &'a str), XmlError> {
        let quote = match self.rest.as_bytes().first() {
            Some(b'"') => "\"",
            Some(b'\'') => "'",
            _ => return Err(self.expected(&format!("{what} in quotes"))),
        };
        let opened = self.at;
        self.eat(quote);
        let at = self.at;
        let body = self.through(quote).ok_or_else(|| {
            let fault = format!("the quote that opens {what} is never closed");
            XmlError::syntax(opened, fault)
        })?;
        Ok((at, body))
    }

    /// Returns the error for text that is not what the grammar demands here.
    pub(super) fn expected(&self, what: &str) -> XmlError {
        let fault = if self.rest.is_empty() {
            format!("the markup ends where {what} is expected")
        } else {
            format!("{} stands where {what} is expected", quoted(self.rest))
        };
        XmlError::syntax(self.at, fault)
    }
}
