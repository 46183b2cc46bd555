//! The way from pieces of a query to its tree.

use super::dates::parse_dates;
use super::lexer::{QueryPiece, TermPiece, pieces};
use super::{
    FieldScope, LeafCondition, MAX_QUERY_BYTES, MAX_QUERY_CONDITIONS, MAX_QUERY_WORDS, QueryClause, QueryLeaf,
    QueryOptions, SearchQuery, WordCondition,
};
use crate::QueryError;
use crate::analysis::{CleanText, analyse, fold_value, is_single_character_word};

/// Parses a query.
pub(super) fn parse(text: &str, options: QueryOptions) -> Result<SearchQuery, QueryError> {
    if text.len() > MAX_QUERY_BYTES {
        let message = format!("The query has {} bytes. At most {MAX_QUERY_BYTES} are allowed.", text.len());
        return Err(QueryError::new(message, text));
    }
    let mut parser =
        QueryParser { options, query: SearchQuery::default(), alternative: false, conditions: 0, words: 0 };
    for piece in pieces(text) {
        match piece {
            QueryPiece::Or => parser.alternative = true,
            QueryPiece::Term(term) => parser.add_term(term)?,
        }
    }
    Ok(parser.query)
}

/// The state of [`parse`].
struct QueryParser {
    options: QueryOptions,
    query: SearchQuery,
    /// Whether the next term is an alternative of the last one.
    alternative: bool,
    conditions: usize,
    words: usize,
}

impl QueryParser {
    /// Adds a condition, if the term makes one.
    fn add_term(&mut self, term: TermPiece<'_>) -> Result<(), QueryError> {
        let Some(condition) = self.condition(term)? else { return Ok(()) };
        self.conditions += 1;
        if self.conditions > MAX_QUERY_CONDITIONS {
            let message = format!(
                "The query has too many words, beginning with `{}`. At most {MAX_QUERY_CONDITIONS} words, phrases and \
                 conditions are allowed.",
                term.text
            );
            return Err(QueryError::new(message, term.text));
        }
        let leaf = QueryLeaf { negated: term.negated, condition };
        match self.query.clauses.last_mut() {
            Some(clause) if std::mem::take(&mut self.alternative) => clause.alternatives.push(leaf),
            _ => self.query.clauses.push(QueryClause { alternatives: vec![leaf] }),
        }
        self.alternative = false;
        Ok(())
    }

    /// Returns the condition of a term, if it makes one.
    fn condition(&mut self, term: TermPiece<'_>) -> Result<Option<LeafCondition>, QueryError> {
        let field = term.field.map(fold_value);
        if let Some(field @ ("created" | "modified")) = field.as_deref() {
            let dates = parse_dates(field == "created", term.text, self.options.zone_offset_seconds);
            return match dates {
                Ok(dates) => Ok(Some(LeafCondition::Dates(dates))),
                Err(_) if self.options.as_you_type && term.last => Ok(None),
                Err(error) => Err(error),
            };
        }
        let scope = match field.as_deref() {
            None => FieldScope::Any,
            Some("name") => FieldScope::Name,
            Some("title") => FieldScope::Title,
            Some("text") => FieldScope::Text,
            Some(name) => FieldScope::Small(name.to_owned()),
        };
        self.word_condition(term, scope)
    }

    /// Returns the condition of a term about words, if it has any.
    fn word_condition(&mut self, term: TermPiece<'_>, scope: FieldScope) -> Result<Option<LeafCondition>, QueryError> {
        let clean = CleanText::new(term.text);
        let mut words = analyse(&clean.text, 0, MAX_QUERY_WORDS + 1);
        let whole = match words.iter().position(|word| word.whole) {
            // The joined words must be the whole text: a phrase of several has only its parts.
            Some(at) if !term.quoted && at + 1 == words.len() && words[at].position == 0 => words.pop(),
            _ => None,
        };
        words.retain(|word| !word.whole && !word.plain.is_empty());
        self.words += words.len();
        if self.words > MAX_QUERY_WORDS {
            let message = format!(
                "The query has more than {MAX_QUERY_WORDS} words, of which `{}` is the last read. At most \
                 {MAX_QUERY_WORDS} words are allowed, those of phrases included.",
                term.text
            );
            return Err(QueryError::new(message, term.text));
        }
        let Some(last) = words.last() else { return Ok(None) };
        let starred = clean.text.ends_with('*');
        let typed = self.options.as_you_type && term.last && !term.negated && last.end == clean.text.len();
        // A character that is a word begins no other word.
        let single = last.plain.chars().all(is_single_character_word);
        let prefix = !term.quoted && (starred || typed) && !single;
        Ok(Some(LeafCondition::Words(WordCondition { scope, words, whole, prefix, quoted: term.quoted })))
    }
}
