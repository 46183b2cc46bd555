//! The pieces of a query: words, phrases, and signs.

/// A piece of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueryPiece<'a> {
    /// The operator between alternatives.
    Or,
    /// A word, a phrase, or a condition about a field.
    Term(TermPiece<'a>),
}

/// A word, a phrase, or a condition about a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TermPiece<'a> {
    pub negated: bool,
    /// The name before a colon.
    pub field: Option<&'a str>,
    /// The text without quotes.
    pub text: &'a str,
    pub quoted: bool,
    /// Whether the query ends right behind the piece.
    pub last: bool,
}

/// Reports whether a character begins or ends a phrase.
fn is_quote(character: char) -> bool {
    matches!(character, '"' | '“' | '”' | '„' | '‟' | '«' | '»' | '＂')
}

/// Reports whether a character separates pieces.
fn is_space(character: char) -> bool {
    character.is_whitespace() || character.is_control()
}

/// Splits a query into pieces.
pub(super) fn pieces(query: &str) -> Vec<QueryPiece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = query;
    loop {
        rest = rest.trim_start_matches(is_space);
        if rest.is_empty() {
            return pieces;
        }
        let (piece, after) = next_piece(rest);
        rest = after;
        pieces.extend(piece);
    }
}

/// Reads the piece at the begin of a text that does not begin with a space.
fn next_piece(text: &str) -> (Option<QueryPiece<'_>>, &str) {
    let bare = text.trim_start_matches('-');
    let negated = bare.len() < text.len();
    if bare.starts_with(is_quote) {
        let (phrase, rest) = phrase(bare);
        let term = TermPiece { negated, field: None, text: phrase, quoted: true, last: false };
        return (Some(QueryPiece::Term(term)), rest);
    }
    let end = bare.find(|c| is_space(c) || is_quote(c)).unwrap_or(bare.len());
    let (chunk, rest) = bare.split_at(end);
    if chunk.is_empty() {
        return (None, rest);
    }
    if chunk == "OR" && !negated {
        return (Some(QueryPiece::Or), rest);
    }
    match chunk.split_once(':').filter(|(name, value)| is_field(name, value, rest)) {
        Some((name, "")) => {
            let (phrase, rest) = phrase(rest);
            let term = TermPiece { negated, field: Some(name), text: phrase, quoted: true, last: false };
            (Some(QueryPiece::Term(term)), rest)
        }
        Some((name, value)) => {
            let term = TermPiece { negated, field: Some(name), text: value, quoted: false, last: rest.is_empty() };
            (Some(QueryPiece::Term(term)), rest)
        }
        None => {
            let term = TermPiece { negated, field: None, text: chunk, quoted: false, last: rest.is_empty() };
            (Some(QueryPiece::Term(term)), rest)
        }
    }
}

/// Reports whether the texts around a colon are the name of a field and its value.
fn is_field(name: &str, value: &str, rest: &str) -> bool {
    let named = name.starts_with(char::is_alphabetic)
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    named && !value.starts_with("//") && (!value.is_empty() || rest.starts_with(is_quote))
}

/// Returns the phrase whose opening quote a text begins with, and the text behind the phrase.
fn phrase(text: &str) -> (&str, &str) {
    let inner = text.strip_prefix(is_quote).unwrap_or(text);
    inner.split_once(is_quote).unwrap_or((inner, ""))
}
