//! The RELAX NG schema of configuration files for editors, generated from the vocabulary.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::{Child, ChildOccurrence, ROOTS, ValueKind, VocabularyElement};

#[cfg(test)]
mod tests;

/// Returns all elements without duplicates, each with a unique name.
fn named() -> Vec<(&'static VocabularyElement, String)> {
    fn visit(
        element: &'static VocabularyElement,
        found: &mut Vec<(&'static VocabularyElement, String)>,
        names: &mut HashMap<&str, usize>,
    ) {
        if found.iter().any(|(known, _)| std::ptr::eq(*known, element)) {
            return;
        }
        let number = names.entry(element.name).or_default();
        *number += 1;
        let name = if *number == 1 { element.name.to_owned() } else { format!("{}.{number}", element.name) };
        found.push((element, name));
        element.children.iter().for_each(|child| visit(child.element, found, names));
    }
    let (mut found, mut names) = (Vec::new(), HashMap::new());
    ROOTS.iter().for_each(|root| visit(root, &mut found, &mut names));
    found
}

fn name_of<'n>(named: &'n [(&'static VocabularyElement, String)], element: &'static VocabularyElement) -> &'n str {
    named.iter().find(|(known, _)| std::ptr::eq(*known, element)).map(|(_, name)| &**name).expect("all are named")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn pattern_of(kind: ValueKind) -> String {
    let data = |params: &[(&str, String)], name: &str| {
        let params: String =
            params.iter().map(|(name, value)| format!("<param name=\"{name}\">{}</param>", escaped(value))).collect();
        format!("<data type=\"{name}\">{params}</data>")
    };
    match kind {
        ValueKind::Text => "<text/>".to_owned(),
        ValueKind::Name => data(&[("minLength", "1".to_owned())], "token"),
        ValueKind::Path => data(&[("pattern", "/.*".to_owned())], "token"),
        ValueKind::Flag => pattern_of(ValueKind::OneOf(&["true", "false", "1", "0"])),
        ValueKind::Whole(least, most) => {
            data(&[("minInclusive", least.to_string()), ("maxInclusive", most.to_string())], "integer")
        }
        ValueKind::Number(least, most) => {
            data(&[("minInclusive", least.to_string()), ("maxInclusive", most.to_string())], "decimal")
        }
        ValueKind::OneOf(names) => {
            let values: String = names.iter().map(|name| format!("<value type=\"token\">{name}</value>")).collect();
            format!("<choice>{values}</choice>")
        }
        ValueKind::Colour => {
            data(&[("pattern", "rgb\\( ?[0-9]{1,3} ?, ?[0-9]{1,3} ?, ?[0-9]{1,3} ?\\)".to_owned())], "token")
        }
        ValueKind::Day => data(&[("pattern", "[0-9]{8}".to_owned())], "token"),
        ValueKind::MonthAndDay => data(&[("pattern", "[0-9]{4}".to_owned())], "token"),
        ValueKind::TimeZone => pattern_of(ValueKind::Name),
    }
}

/// Returns the schema of all files, whose root may be that of any file.
pub fn schema() -> String {
    let named = named();
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- The configuration files of stet, in RELAX NG. Made of the vocabulary in crates/sysconfig/src/vocabulary. -->\n\
         <grammar xmlns=\"http://relaxng.org/ns/structure/1.0\" xmlns:a=\"http://relaxng.org/ns/compatibility/annotations/1.0\"\n\
         \x20        datatypeLibrary=\"http://www.w3.org/2001/XMLSchema-datatypes\">\n  <start>\n    <choice>\n",
    );
    for root in ROOTS {
        let _ = writeln!(out, "      <ref name=\"{}\"/>", name_of(&named, root));
    }
    out.push_str("    </choice>\n  </start>\n");
    for (element, name) in &named {
        let _ = writeln!(out, "  <define name=\"{name}\">\n    <element name=\"{}\">", element.name);
        let _ = writeln!(out, "      <a:documentation>{}</a:documentation>", escaped(element.about));
        for attribute in element.attributes {
            let (begin, end) = if attribute.required { ("", "") } else { ("<optional>", "</optional>") };
            let about = escaped(attribute.about);
            let pattern = pattern_of(attribute.kind);
            let _ = writeln!(
                out,
                "      {begin}<attribute name=\"{}\"><a:documentation>{about}</a:documentation>{pattern}</attribute>{end}",
                attribute.name
            );
        }
        let child = |child: &Child| {
            let times = match child.times {
                ChildOccurrence::AtMostOnce => "optional",
                ChildOccurrence::Any => "zeroOrMore",
                ChildOccurrence::AtLeastOnce => "oneOrMore",
            };
            format!("<{times}><ref name=\"{}\"/></{times}>", name_of(&named, child.element))
        };
        match (element.text, element.children) {
            (Some(kind), _) => {
                let _ = writeln!(out, "      {}", pattern_of(kind));
            }
            (None, []) => out.push_str("      <empty/>\n"),
            (None, [only]) => {
                let _ = writeln!(out, "      {}", child(only));
            }
            (None, several) => {
                let several: String = several.iter().map(|known| format!("        {}\n", child(known))).collect();
                let _ = write!(out, "      <interleave>\n{several}      </interleave>\n");
            }
        }
        out.push_str("    </element>\n  </define>\n");
    }
    out.push_str("</grammar>\n");
    out
}
