//! The words of a post's content, for searching, and the folding by which texts are compared there.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::LazyLock;

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;
use stet_domain::object::normal_form;

use super::text::decode_text;

/// Maximum bytes of the text that is kept.
const MOST: usize = 16 << 10;

/// Maximum bytes of a content that are read: even with a lot of mark-up there is enough text in
/// them.
pub const LOOKED_AT: usize = 256 << 10;

/// Elements that may stand within a word. All others end one.
const INLINE: &[&str] = &[
    "a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i", "ins", "kbd", "mark", "q",
    "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "tt", "u", "var", "wbr",
];

/// Reports whether an element of that name, in lower case, may stand within a word.
pub fn is_inline(name: &str) -> bool {
    INLINE.contains(&name)
}

/// Reports whether the text of an element of that name, in lower case, is skipped.
pub fn is_unread(name: &str) -> bool {
    UNREAD.contains(&name)
}

/// Elements whose text is not for readers.
const UNREAD: &[&str] = &["script", "style"];

/// A text in the form in which searches compare it. Case is ignored, and so are the Unicode form of
/// characters, the kind and number of spaces, and invisible characters. Both the text and the
/// search term are folded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoldedText<'t>(Cow<'t, str>);

impl FoldedText<'_> {
    /// Folds any text.
    pub fn of(text: &str) -> FoldedText<'static> {
        let mut folded = String::with_capacity(text.len());
        for c in text.chars().filter(|c| !is_invisible(*c)) {
            match is_space(c) {
                true if folded.ends_with(' ') => {}
                true => folded.push(' '),
                false => push_folded(c, &mut folded),
            }
        }
        FoldedText(in_normal_form(folded).into())
    }
}

impl<'t> FoldedText<'t> {
    /// Folds a text that [`text_of`] has returned. Costs next to nothing, except for texts from
    /// when less was folded.
    pub fn of_words(words: &'t str) -> FoldedText<'t> {
        if words.chars().all(is_folded) { FoldedText(normal_form(words)) } else { FoldedText::of(words) }
    }
}

/// Returns a text as filters by whole names compare it: in NFC, with one kind of space and without
/// invisible characters, but with its capitals.
pub fn visible_form(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
        return text.into();
    }
    let seen = text.chars().filter(|c| !is_invisible(*c));
    let visible = seen.map(|c| if is_space(c) { ' ' } else { c }).collect();
    in_normal_form(visible).into()
}

fn in_normal_form(text: String) -> String {
    match normal_form(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(composed) => composed,
    }
}

/// Reports whether a character is a space for searches.
fn is_space(c: char) -> bool {
    c.is_whitespace() || c == '\0'
}

/// Reports whether a character is invisible and no part of a word: soft hyphens, characters without
/// width, marks of direction, and variation selectors.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0100}'..='\u{e01ef}'
    )
}

/// Folds the case of a character: `ß`, `SS` and `ẞ` are equal, and so are the forms of sigma, and
/// `I` with or without a dot. Both cases are applied in turn, because some letters have no lower or
/// upper case of one character.
fn fold_char(c: char) -> impl Iterator<Item = char> {
    c.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase)
}

/// The dot above. `İ` in lower case is an `i` with this second dot, which is dropped.
const DOT_ABOVE: char = '\u{307}';

fn push_folded(c: char, text: &mut String) {
    if c.is_ascii() {
        return text.push(c.to_ascii_lowercase());
    }
    for c in fold_char(c) {
        if c != DOT_ABOVE || !text.ends_with('i') {
            text.push(c);
        }
    }
}

/// The characters of the first plane of Unicode that folding changes, one bit each.
static UNFOLDED: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let mut bits = vec![0; 0x1_0000 / 64];
    for c in ('\0'..='\u{ffff}').filter(|c| changes(*c)) {
        bits[c as usize / 64] |= 1 << (c as usize % 64);
    }
    bits
});

fn changes(c: char) -> bool {
    let is_other_space = is_space(c) && c != ' ';
    is_invisible(c) || is_other_space || c == DOT_ABOVE || !fold_char(c).eq([c])
}

/// Reports whether a character may stand in a folded text.
fn is_folded(c: char) -> bool {
    match c as usize {
        ascii @ 0..0x80 => !(ascii as u8).is_ascii_uppercase() && ascii >= usize::from(b' '),
        first_plane @ ..0x1_0000 => UNFOLDED[first_plane / 64] >> (first_plane % 64) & 1 == 0,
        _ => !changes(c),
    }
}

impl Deref for FoldedText<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// Reports whether a content of this type is text.
pub fn is_text(content_type: &str) -> bool {
    let kind = essence(content_type);
    kind.starts_with("text/") || is_markup(&kind) || is_json(&kind)
}

/// Returns the text of a content from its first bytes: XML and HTML without mark-up, other text as
/// it is. The text is folded like [`FoldedText`], white space is one space, and a long text is cut
/// off. Bytes that are not text have none. A longer content may be given, but only its first
/// [`LOOKED_AT`] bytes count.
pub fn text_of(content_type: &str, head: &[u8]) -> String {
    if !is_text(content_type) {
        return String::new();
    }
    let is_whole = head.len() < LOOKED_AT;
    // The cut may be within a character; the bytes before that are UTF-8 nevertheless.
    let head = match std::str::from_utf8(head) {
        Err(error) if !is_whole && error.error_len().is_none() => &head[..error.valid_up_to()],
        _ => head,
    };
    let words = WordCollector { folded: true, most: MOST, whole: is_whole, ..WordCollector::default() };
    let mut text = words_of(content_type, &decode_text(content_type, head), words);
    if let Cow::Owned(composed) = normal_form(&text) {
        text = composed;
        // Some characters take more bytes in this form.
        while text.len() > MOST {
            text.pop();
        }
        text.truncate(text.trim_end().len());
    }
    text
}

/// Returns the text of a content for readers: like [`text_of`], but with its capitals and complete.
pub fn read_of(content_type: &str, text: &str) -> String {
    words_of(content_type, text, WordCollector { most: usize::MAX, whole: true, ..WordCollector::default() })
}

fn words_of(content_type: &str, text: &str, mut words: WordCollector) -> String {
    if is_markup(&essence(content_type)) {
        without_markup(text, &mut words)
    } else {
        words.add(text)
    }
    words.text
}

/// Returns a content type without its parameters, in lower case.
pub fn essence(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Reports whether a content of this type, without its parameters, is XML or HTML.
pub fn is_markup(kind: &str) -> bool {
    matches!(kind, "text/xml" | "application/xml" | "text/html") || kind.ends_with("+xml")
}

/// Reports whether a content of this type, without its parameters, is JSON.
pub fn is_json(kind: &str) -> bool {
    kind == "application/json" || kind.ends_with("+json")
}

/// A text with single spaces that is being built.
#[derive(Default)]
struct WordCollector {
    text: String,
    /// Whether the text is folded.
    folded: bool,
    /// Maximum bytes.
    most: usize,
    /// Whether the input is a whole content, not only its beginning.
    whole: bool,
    /// Whether there was a space since the last character.
    gap: bool,
    full: bool,
}

impl WordCollector {
    fn add(&mut self, piece: &str) {
        for c in piece.chars() {
            if is_space(c) {
                self.gap = true;
                continue;
            }
            if self.folded && is_invisible(c) {
                continue;
            }
            let before = self.text.len();
            if std::mem::take(&mut self.gap) && !self.text.is_empty() {
                self.text.push(' ');
            }
            if self.folded {
                push_folded(c, &mut self.text);
            } else {
                self.text.push(c);
            }
            if self.text.len() > self.most {
                self.text.truncate(before);
                self.full = true;
            }
            if self.full {
                return;
            }
        }
    }
}

/// Extracts the text as far as the mark-up can be separated from it: posts come from editors in
/// browsers, too, and need not be well-formed.
fn without_markup(markup: &str, words: &mut WordCollector) {
    let markup = &*with_strays_escaped(markup);
    let mut reader = Reader::from_str(markup);
    let config = reader.config_mut();
    (config.check_end_names, config.allow_unmatched_ends, config.allow_dangling_amp) = (false, true, true);
    let mut unread = 0usize;
    while !words.full {
        // Where the next event begins.
        let place = reader.buffer_position();
        let Ok(event) = reader.read_event() else {
            // Mark-up without an end: no text after it can be recognised.
            if words.whole && unread == 0 {
                let rest = usize::try_from(place).ok().and_then(|place| markup.get(place..)).unwrap_or_default();
                words.gap = true;
                words.add(rest);
            }
            return;
        };
        match event {
            Event::Start(tag) => {
                let name = tag.name().as_ref().to_ascii_lowercase();
                unread += usize::from(is_unread(&name));
                words.gap |= !is_inline(&name);
            }
            Event::End(tag) => {
                let name = tag.name().as_ref().to_ascii_lowercase();
                unread = unread.saturating_sub(usize::from(is_unread(&name)));
                words.gap |= !is_inline(&name);
            }
            Event::Empty(tag) => words.gap |= !is_inline(&tag.name().as_ref().to_ascii_lowercase()),
            Event::Eof => return,
            _ if unread > 0 => {}
            Event::Text(piece) => words.add(&piece.xml10_content()),
            Event::CData(piece) => words.add(&piece.xml10_content()),
            Event::GeneralRef(reference) => match reference.resolve_char_ref() {
                Ok(Some(c)) => words.add(c.encode_utf8(&mut [0; 4])),
                _ => add_entity(&reference, words),
            },
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
}

/// Escapes each `<` that begins no mark-up: otherwise the text after it would be taken for mark-up.
fn with_strays_escaped(markup: &str) -> Cow<'_, str> {
    let mut escaped = String::new();
    let (mut taken, mut place) = (0, 0);
    while let Some(found) = markup[place..].find('<') {
        let at = place + found;
        let rest = &markup[at + 1..];
        // In these, a `<` is plain text.
        let end = [("![CDATA[", "]]>"), ("!--", "-->")].into_iter().find(|(begin, _)| rest.starts_with(begin));
        place = at + 1;
        if let Some((_, end)) = end {
            let Some(found) = rest.find(end) else { break };
            place += found;
        } else if !rest.starts_with(|c: char| c.is_alphabetic() || "_:/!?".contains(c)) {
            escaped.push_str(&markup[taken..at]);
            escaped.push_str("&lt;");
            taken = place;
        }
    }
    if taken == 0 {
        return markup.into();
    }
    escaped.push_str(&markup[taken..]);
    escaped.into()
}

/// Adds an entity of XML or HTML; an unknown one ends a word.
fn add_entity(name: &str, words: &mut WordCollector) {
    if let Some(text) = resolve_predefined_entity(name) {
        return words.add(text);
    }
    let whole = format!("&{name};");
    match html_escape::decode_html_entities(&whole) {
        text if text == whole => words.gap = true,
        text => words.add(&text),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever a client sends.
        #[test]
        fn any_bytes_have_a_text_within_the_bounds(bytes: Vec<u8>, markup in "[<>&;/!a-z\\[\\]\"'= äİ-]{0,200}", kind in 0usize..4) {
            let kind = ["text/xml", "text/html", "text/plain", "application/json"][kind];
            for input in [bytes.as_slice(), markup.as_bytes(), &markup.repeat(200).into_bytes()] {
                let text = text_of(kind, input);
                prop_assert!(text.len() <= MOST && text == text.trim() && !text.contains("  "));
            }
        }
    }

    #[test]
    fn markup_is_no_text_and_ends_words_unless_it_stands_within_one() {
        let text = |xml: &str| text_of("text/xml", xml.as_bytes());
        assert_eq!(text("<post><p>The Ferry</p><p>is <b>L</b>ate</p></post>"), "the ferry is late");
        assert_eq!(text("<?xml version='1.0'?><!DOCTYPE p [<!ENTITY x 'y'>]><!-- no --><p a='>no<'>yes</p>"), "yes");
        assert_eq!(text("<p>a &lt; b &amp; c&#33; <![CDATA[<d>]]></p>"), "a < b & c! <d>");
        assert_eq!(text("<p>one<br/>two</p>\n\t <p/> three"), "one two three");
        assert_eq!(text(""), "");
    }

    #[test]
    fn html_need_not_be_well_formed_and_has_names_for_characters() {
        let text = |html: &str| text_of("text/HTML; charset=utf-8", html.as_bytes());
        assert_eq!(text("<p>Gr&uuml;&szlig;e&nbsp;aus<br>K&Ouml;LN<p>Bye"), "grüsse aus köln bye");
        assert_eq!(text("<style>p { color: red }</style><SCRIPT>var a;</SCRIPT><p>Seen</div></p>"), "seen");
        assert_eq!(text("<p>fish&chips;& co &#xD800; &#x41;"), "fish & co a", "what is no character ends a word");
    }

    #[test]
    fn other_text_is_taken_as_it_is_and_what_is_none_has_none() {
        assert_eq!(text_of("text/plain", "<B> ÄÖ\r\n\tx".as_bytes()), "<b> äö x");
        assert_eq!(text_of("application/json", b"{\"a\": 1}"), "{\"a\": 1}");
        assert_eq!(text_of("image/png", b"text"), "");
        assert_eq!(text_of("", b"text"), "");
    }

    #[test]
    fn a_less_than_sign_that_begins_no_markup_is_text_and_takes_none() {
        let wind = "<p>Wind < 5 knots, the harbour's master says</p><p>More <3</p>";
        assert_eq!(read_of("text/xml", wind), "Wind < 5 knots, the harbour's master says More <3");
        assert_eq!(text_of("text/html", wind.as_bytes()), "wind < 5 knots, the harbour's master says more <3");
        assert_eq!(
            read_of("text/xml", "<p><<é/><_a/><:b/><?c?><![CDATA[1 < 2 &lt;]]> <!-- < --> <</p><"),
            "< 1 < 2 &lt; < <"
        );
        assert_eq!(read_of("text/html", "<p a='1 < 2'>x</p>"), "x");
    }

    #[test]
    fn markup_without_an_end_is_text_with_all_behind_it_unless_it_was_cut_off() {
        let never = "<p>Wind <b knots, the harbour's master says</p><p>More</p>";
        let read = "Wind <b knots, the harbour's master says</p><p>More</p>";
        assert_eq!(read_of("text/xml", never), read);
        assert_eq!(text_of("text/xml", never.as_bytes()), read.to_lowercase());
        assert_eq!(read_of("text/html", "<p>a<![CDATA[b</p>"), "a <![CDATA[b</p>");
        assert_eq!(read_of("text/html", "<p>a</p><script>var b <'c</p>"), "a");
        let cut = format!("<p>end</p>{}<p a='", " ".repeat(LOOKED_AT));
        assert_eq!(text_of("text/xml", cut.as_bytes()), "end");
    }

    #[test]
    fn the_text_is_that_of_the_encoding_that_is_said_wherever_it_is_cut_off() {
        assert_eq!(text_of("text/plain; charset=iso-8859-1", b"K\xd6LN"), "köln");
        assert_eq!(text_of("text/xml", b"<?xml version='1.0' encoding='latin1'?><p>K\xf6ln</p>"), "köln");
        // UTF-8 that is declared to be Latin-1, cut off within a character.
        let long = format!("é{}ö", " ".repeat(LOOKED_AT - 3));
        assert_eq!(text_of("text/plain; charset=latin1", &long.as_bytes()[..LOOKED_AT]), "é");
        assert_eq!(text_of("text/plain; charset=latin1", b"caf\xe9"), "café");
    }

    #[test]
    fn texts_for_readers_keep_their_case_and_full_length() {
        assert_eq!(read_of("text/xml", "<p>The <b>F</b>erry</p>\n<p>is LATE</p>"), "The Ferry is LATE");
        assert_eq!(read_of("text/plain", "<B>\tÄ"), "<B> Ä");
        assert_eq!(read_of("text/plain", &"x".repeat(2 * MOST)).len(), 2 * MOST);
    }

    #[test]
    fn folded_texts_are_equal_for_all_normal_forms_and_cases() {
        use unicode_normalization::UnicodeNormalization;

        // All planes with letters.
        for c in ('\0'..='\u{1ffff}').chain('\u{e0000}'..='\u{e01ff}') {
            let (text, apart) = (format!("a{c}b"), format!("a{c}b").nfd().collect::<String>());
            let folded = FoldedText::of(&text);
            if text != apart {
                assert_eq!(folded, FoldedText::of(&apart), "{c:?}");
            }
            assert_eq!(FoldedText::of(&folded), folded, "{c:?}");
            assert_eq!(FoldedText::of_words(&folded), folded, "{c:?}");
            for case in [text.to_lowercase(), text.to_uppercase()] {
                assert_eq!(FoldedText::of(&case), folded, "{c:?}");
            }
            // The stored text of a content is folded in the same way.
            assert_eq!(text_of("text/plain", text.as_bytes()), &*folded, "{c:?}");
        }
        // In lower case alone it is one character.
        assert_eq!(FoldedText::of("J\u{30c}"), FoldedText::of("\u{1f0}"));
        for form in ["Cafe\u{301}", "Caf\u{e9}"] {
            assert_eq!(text_of("text/xml", format!("<p>{form}</p>").as_bytes()), "caf\u{e9}");
        }
        // Older posts have their text as it was received.
        assert_eq!(FoldedText::of_words("cafe\u{301}"), FoldedText::of("Caf\u{e9}"));
    }

    #[test]
    fn invisible_characters_and_letter_or_space_variants_are_ignored() {
        for alike in [
            &["Ladehafen", "Lade\u{ad}hafen", "LADE\u{200b}HAFEN", "\u{feff}lade\u{2060}ha\u{200d}fen"][..],
            &["10 000", "10\u{a0}000", "10\u{202f}000", "10\u{2009} 000", "10\n000", "10\u{3000}000"],
            &["Straße", "STRASSE", "STRA\u{1e9e}E", "stra\u{17f}se"],
            &["İstanbul", "istanbul", "ISTANBUL", "I\u{307}stanbul", "ıstanbul"],
            &["ΟΔΟΣ", "οδος", "οδοσ"],
            &["Cafe\u{301}", "CAF\u{c9}", "caf\u{e9}"],
            &["\u{fb01}x", "FIX"],
        ] {
            for text in alike {
                assert_eq!(FoldedText::of(text), FoldedText::of(alike[0]), "{text:?}");
                assert_eq!(
                    text_of("text/xml", format!("<p>{text}</p>").as_bytes()),
                    &*FoldedText::of(alike[0]),
                    "{text:?}"
                );
            }
        }
        // Texts from when less was folded.
        assert_eq!(*FoldedText::of_words("lade\u{ad}hafen straße"), *"ladehafen strasse");
        assert_eq!(visible_form("Lade\u{ad}hafen\u{a0}Nord  e\u{301}"), "Ladehafen Nord  \u{e9}");
        assert_eq!(read_of("text/plain", "Lade\u{ad}hafen"), "Lade\u{ad}hafen", "readers get it as it is");
    }

    #[test]
    fn a_text_whose_normal_form_is_longer_is_cut_too() {
        let text = text_of("text/plain", "\u{958} ".repeat(MOST).as_bytes());
        assert!(text.len() <= MOST && text.len() > MOST - 16 && text == text.trim(), "{}", text.len());
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let text = text_of("text/plain", "ä".repeat(MOST).as_bytes());
        assert_eq!(text, "ä".repeat(MOST / 2));
        let text = text_of("text/xml", format!("<p>{}</p>", "x y ".repeat(MOST)).as_bytes());
        assert!(text.len() <= MOST && text.len() > MOST - 4 && text.starts_with("x y x y"));
        assert_eq!(text_of("text/plain", &"aä".as_bytes()[..2]), "a\u{fffd}");
    }
}
