//! The schema and the reference for people match the vocabulary. `UPDATE_GOLDEN=1 cargo test -p
//! stet-sysconfig --lib schema` writes both.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;

const SCHEMA: &str = "docs/schema/stet.rng";
const REFERENCE: &str = "docs/CONFIGURATION-FILES.md";

fn shown(kind: ValueKind) -> String {
    match kind {
        ValueKind::OneOf(names) => names
            .iter()
            .map(|name| if name.is_empty() { "(empty)".to_owned() } else { format!("`{name}`") })
            .collect::<Vec<_>>()
            .join(", "),
        other => other.wanted(),
    }
}

fn reference() -> String {
    let named = named();
    let mut out = String::from(
        "# Configuration files\n\nAll elements of the XML files below `/SysConfig`. What they mean to the server and its clients is in\n\
         [api/configuration.md](api/configuration.md). [schema/stet.rng](schema/stet.rng) is the same as a RELAX NG schema, for editors.\n\n\
         This page and the schema are made of the vocabulary that the server itself checks files by (`crates/sysconfig/src/vocabulary`). White space\n\
         around values counts for nothing. Elements stand in any order within the one that they belong to. What has a namespace of its\n\
         own is passed over.\n\n\
         Several elements have the same name and differ by where they stand. Here the second and later ones have a number: `channel.2` is\n\
         written `<channel>` in a file.\n",
    );
    for (element, name) in &named {
        let root = ROOTS.iter().any(|root| std::ptr::eq(*root, *element));
        let level = if root { "##" } else { "###" };
        let title = if root { format!("{name}: a file") } else { name.clone() };
        let _ = writeln!(out, "\n{level} {title}\n\n{}", element.about);
        if !element.attributes.is_empty() {
            out.push_str("\n| attribute | | value | what it is |\n|---|---|---|---|\n");
            for attribute in element.attributes {
                let needed = if attribute.required { "required" } else { "" };
                let kind = shown(attribute.kind).replace('|', "\\|");
                let _ = writeln!(out, "| `{}` | {needed} | {kind} | {} |", attribute.name, attribute.about);
            }
        }
        if let Some(kind) = element.text {
            let _ = writeln!(out, "\nIts text is {}.", shown(kind));
        }
        if !element.children.is_empty() {
            let child = |child: &Child| {
                let times = match child.times {
                    ChildOccurrence::AtMostOnce => "at most once",
                    ChildOccurrence::Any => "any number",
                    ChildOccurrence::AtLeastOnce => "once at least",
                };
                format!("`{}` ({times})", name_of(&named, child.element))
            };
            let children: Vec<String> = element.children.iter().map(child).collect();
            let _ = writeln!(out, "\nIn it: {}.", children.join(", "));
        }
    }
    out
}

fn golden(path: &str, made: &str) {
    let file = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(file.parent().expect("it lies in a folder")).expect("the folder can be made");
        std::fs::write(&file, made).expect("it can be written");
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(kept == made, "{path} is not what the vocabulary says: UPDATE_GOLDEN=1 writes it anew");
}

#[test]
fn schema_and_reference_are_what_the_vocabulary_says() {
    golden(SCHEMA, &schema());
    golden(REFERENCE, &reference());
}

/// Returns whether a file is valid under the schema; `None` where `xmllint` is missing.
fn is_valid(file: &Path) -> Option<bool> {
    let schema = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(SCHEMA);
    let checked = Command::new("xmllint").arg("--noout").arg("--relaxng").arg(schema).arg(file).output();
    match checked {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(!said.contains("Relax-NG parser error"), "the schema is at fault: {said}");
            Some(output.status.success())
        }
        Err(_) => {
            assert!(std::env::var_os("CI").is_none(), "xmllint is missing");
            eprintln!("skipped: there is no xmllint");
            None
        }
    }
}

#[test]
fn the_schema_takes_what_the_server_takes() {
    use crate::whole::WholeFile;
    use crate::{ConfigFile, Jobs, ObjectTypes, Site, Workflows, parse};
    let data = tempfile::tempdir().expect("a temporary directory can be made");
    let file: PathBuf = data.path().join("file.xml");
    let both = |text: &str, server: bool| {
        std::fs::write(&file, text).expect("it can be written");
        if let Some(valid) = is_valid(&file) {
            assert_eq!(valid, server, "the schema does not say what the server says of {text}");
        }
    };
    fn by_server<T: ConfigFile>(text: &str) -> bool {
        parse::<T>(&WholeFile::of_text("/SysConfig/file.xml", text)).is_ok_and(|parsed| parsed.unknown.is_empty())
    }
    for (text, wanted) in [
        ("<objectTypes/>", false),
        ("<objectTypes><objectType name='A' family='folder'/></objectTypes>", true),
        ("<objectTypes><objectType name=' ' family='folder'/></objectTypes>", false),
        ("<objectTypes><objectType name='A' family='box'/></objectTypes>", false),
        ("<objectTypes><objectType name='A' family=' folder '/></objectTypes>", true),
        ("<objectTypes><objectType name='A' family='folder' colour='red'/></objectTypes>", false),
        (
            "<objectTypes><objectType name='A' family='folder'><extension>a</extension><contentType>a/b</contentType><extension>b</extension></objectType></objectTypes>",
            true,
        ),
        ("<objectTypes><objectType name='A' family='folder'><extension/></objectType></objectTypes>", false),
    ] {
        assert_eq!(by_server::<ObjectTypes>(text), wanted, "{text}");
        both(text, wanted);
    }
    for (text, wanted) in [
        ("<workflows/>", true),
        ("<workflows><workflow name='W'/></workflows>", false),
        ("<workflows><workflow name='W'><status name='a' identifier='rgb(1, 2, 3)'/></workflow></workflows>", true),
        ("<workflows><workflow name='W'><status name='a' identifier='red'/></workflow></workflows>", false),
        (
            "<workflows><workflow name='W'><status name='a' identifier='rgb(1,2,3)' initial='yes'/></workflow></workflows>",
            false,
        ),
    ] {
        assert_eq!(by_server::<Workflows>(text), wanted, "{text}");
        both(text, wanted);
    }
    for (text, wanted) in [
        ("<jobs><job name='a' command='b' schedule='* * * * *'><select unchangedDays='90'/></job></jobs>", true),
        ("<jobs><job name='a' command='b' schedule='* * * * *'><select unchangedDays='-1'/></job></jobs>", false),
        ("<jobs><job name='a' command='b' schedule='* * * * *'><select folder='News'/></job></jobs>", false),
        (
            "<jobs><job name='a' command='b' schedule='* * * * *'><description>x</description><description/></job></jobs>",
            false,
        ),
    ] {
        assert_eq!(by_server::<Jobs>(text), wanted, "{text}");
        both(text, wanted);
    }
    for (text, wanted) in [
        ("<siteConfig/>", true),
        ("<siteConfig><baseFolders/><products/></siteConfig>", true),
        ("<siteConfig><products/><products/></siteConfig>", false),
        (
            "<siteConfig><workFolders><workFolder path='/a' label='A'><workFolder path='/a/b' label='B'/></workFolder></workFolders></siteConfig>",
            true,
        ),
        (
            "<siteConfig><products><product name='P'><calendar name='c'><exception date='20261224' publishes='true'/></calendar></product></products></siteConfig>",
            true,
        ),
        (
            "<siteConfig><products><product name='P'><calendar name='c'><exception date='2026' publishes='true'/></calendar></product></products></siteConfig>",
            false,
        ),
    ] {
        assert_eq!(by_server::<Site>(text), wanted, "{text}");
        both(text, wanted);
    }
}

#[test]
fn the_sample_is_as_the_schema_has_it() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("src/sample/files/SysConfig");
    let mut checked = 0;
    let mut folders = vec![folder.clone()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).expect("it can be read").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("it is a text");
            let root = ROOTS
                .iter()
                .find(|root| text.contains(&format!("<{}", root.name)) && text.contains(&format!("</{}>", root.name)));
            // Templates and stylesheets are none; what has entities is tried with the server's own
            // reader.
            if root.is_none() || text.contains("<!ENTITY") || path.ends_with("Templates") || text.contains("<!DOCTYPE")
            {
                continue;
            }
            let Some(valid) = is_valid(&path) else { return };
            assert!(valid, "{}", path.display());
            checked += 1;
        }
    }
    assert!(checked >= 12, "{checked}");
}
