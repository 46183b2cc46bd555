//! Parsing XML and serialising it again.

use super::Limits;
use super::error::XmlError;
use super::output::Output;
use super::scan::Scanner;
use super::token::{Run, XmlToken};

/// A part of a document. White space outside the root is not content; each item there gets a line
/// of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DocumentPart {
    Prolog,
    Content,
    Epilog,
}

pub(super) fn reserialize(xml: &str, limits: &Limits) -> Result<String, XmlError> {
    let mut scanner = Scanner::new(xml, limits)?;
    let mut out = Output::with_capacity(xml.len());
    let mut part = DocumentPart::Prolog;
    let mut depth = 0_usize;
    let mut run = Run::default();
    while let Some(token) = scanner.next()? {
        if let XmlToken::Text(piece) = &token {
            run.push(piece);
            continue;
        }
        end_run(&mut out, &mut run);
        match token {
            XmlToken::Start(name, attributes) => {
                part = DocumentPart::Content;
                depth += 1;
                out.open(name);
                for (name, value) in attributes {
                    out.attribute(name, &value);
                }
            }
            XmlToken::End(name) => {
                out.close(name);
                depth -= 1;
                if depth == 0 {
                    part = DocumentPart::Epilog;
                }
            }
            XmlToken::Comment(text) => item(&mut out, part, &["<!--", &text, "-->"]),
            XmlToken::Instruction(target, data) => {
                let space = if data.is_empty() { "" } else { " " };
                item(&mut out, part, &["<?", target, space, &data, "?>"]);
            }
            XmlToken::Doctype(raw) => item(&mut out, part, &[raw]),
            XmlToken::Declaration(standalone) => {
                let start = "<?xml version=\"1.0\" encoding=\"UTF-8\"";
                match standalone {
                    Some(value) => {
                        let standalone = [start, " standalone=\"", value, "\"?>"];
                        item(&mut out, part, &standalone);
                    }
                    None => item(&mut out, part, &[start, "?>"]),
                }
            }
            XmlToken::Text(_) => {}
        }
    }
    Ok(out.into_text())
}

fn item(out: &mut Output, part: DocumentPart, parts: &[&str]) {
    if part == DocumentPart::Epilog {
        out.raw(&["\n"]);
    }
    out.raw(parts);
    if part == DocumentPart::Prolog {
        out.raw(&["\n"]);
    }
}

/// Writes a run of text. White space from references stays a reference, so that the next reader
/// does not take it for layout.
fn end_run(out: &mut Output, run: &mut Run) {
    let run = std::mem::take(run);
    if run.is_kept_space() {
        out.kept_space(&run.text);
    } else {
        out.text(&run.text);
    }
}
