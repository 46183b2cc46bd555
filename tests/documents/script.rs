//! The commands of a Markdown document and the outputs that it promises.

use std::io::Write;
use std::process::{Command, Stdio};

/// Printed between two blocks.
const END_OF_BLOCK: char = '\u{1e}';

/// A block of commands.
struct Block<'d> {
    commands: &'d str,
    /// The promised output; `None` where the document shows none.
    output: Option<&'d str>,
}

/// The blocks of a document, in order.
pub struct Script<'d>(Vec<Block<'d>>);

impl<'d> Script<'d> {
    /// Reads the fenced blocks of a document.
    pub fn of(markdown: &'d str) -> Script<'d> {
        let mut blocks: Vec<Block<'d>> = Vec::new();
        let mut rest = markdown;
        while let Some(start) = rest.find("```") {
            let (language, body) = rest[start + 3..].split_once('\n').expect("a fence ends its line");
            let (body, behind) = body.split_once("```").expect("a fenced block is closed");
            match language {
                "bash" => blocks.push(Block { commands: body, output: None }),
                "text" => {
                    let block = blocks.last_mut().filter(|block| block.output.is_none());
                    block.expect("an output stands behind its commands").output = Some(body);
                }
                _ => {}
            }
            rest = behind;
        }
        assert!(!blocks.is_empty(), "the document has no commands");
        Script(blocks)
    }

    /// Runs all blocks in one shell, in the repository, and compares their outputs. A block that
    /// opens or leaves a shell is for people, who have one open already.
    pub fn run(&self, before: &str, environment: &[(&str, &str)]) {
        let blocks: Vec<&Block<'_>> =
            self.0.iter().filter(|block| !matches!(block.commands.trim(), "bash" | "exit")).collect();
        let mut text = format!("{before}\n");
        for block in &blocks {
            text.push_str(block.commands);
            text.push_str(&format!("\nprintf '{END_OF_BLOCK}'\n"));
        }
        let mut file = tempfile::NamedTempFile::new().expect("there is room for a file");
        file.write_all(text.as_bytes()).expect("a file can be written");
        let run = Command::new("bash")
            .arg(file.path())
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .output()
            .expect("there is a bash");
        let (output, errors) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
        let outputs: Vec<&str> = output.split(END_OF_BLOCK).collect();
        for (index, block) in blocks.iter().enumerate() {
            let got = outputs.get(index).copied().unwrap_or_default();
            let finished = index + 1 < outputs.len();
            let commands = block.commands;
            assert!(finished, "the shell ended in\n{commands}\nit had printed\n{got}\nand as errors\n{errors}");
            if let Some(promised) = block.output {
                assert!(
                    matches(&settled(promised), &settled(got)),
                    "after\n{commands}\nthe document promises\n{promised}\nbut the output is\n{got}\nerrors:\n{errors}"
                );
            }
        }
        assert!(run.status.success(), "{:?}: {errors}", run.status);
    }
}

/// Replaces loids and long numbers, which differ from run to run.
fn settled(text: &str) -> String {
    let mut settled = String::new();
    let mut rest = text.trim();
    while let Some(start) = rest.find(|char: char| char.is_ascii_digit()) {
        settled.push_str(&rest[..start]);
        rest = &rest[start..];
        let is_part = |char: char| char.is_ascii_digit() || matches!(char, '$' | '.');
        let end = rest.find(|char| !is_part(char)).unwrap_or(rest.len());
        let number = &rest[..end];
        let varies = number.contains('$') || number.len() >= 9;
        settled.push_str(if varies { "N" } else { number });
        rest = &rest[end..];
    }
    settled + rest
}

/// Returns whether an output is as promised, where `…` stands for any text.
fn matches(promised: &str, got: &str) -> bool {
    let mut pieces = promised.split('…');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = got.strip_prefix(first) else { return false };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        let Some(found) = rest.find(piece) else { return false };
        rest = &rest[found + piece.len()..];
    }
    true
}

#[test]
fn an_output_matches_up_to_ellipses_and_numbers_that_vary() {
    for (promised, got, same) in [
        ("200\n", "200", true),
        ("200", "404", false),
        ("a …z", "a b c z", true),
        ("a …z", "a b c", false),
        ("first\n…\nlast", "first\nsecond\nlast", true),
        ("1$1.0.66536 \"x\"", "1$1.0.7 \"x\"", true),
        ("1795256172", "1795256999", true),
        ("10 items", "11 items", false),
    ] {
        assert_eq!(matches(&settled(promised), &settled(got)), same, "{promised} {got}");
    }
}
