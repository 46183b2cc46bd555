//! The rules by which the build packs the console's folder: which files are served, as what, and
//! which modules the page asks for at once.
//!
//! `build.rs` includes this file. The crate has it for its tests only.

use std::collections::BTreeSet;

/// Reports whether a file or folder of `console` is served. Tests, documents and the settings of
/// tools stay outside, as do declarations of types, which only the checker reads.
pub fn is_served(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let is_for_tools = name == "jsconfig.json"
        || (name.starts_with("package") && name.ends_with(".json"))
        || name == "node_modules"
        || name.ends_with(".d.ts");
    path != "tests" && !name.starts_with('.') && !name.ends_with(".md") && !is_for_tools
}

/// Returns the media type of a file; `None` if its extension has none.
pub fn media_type(path: &str) -> Option<&'static str> {
    Some(match path.rsplit_once('.')?.1 {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "json" => "application/json",
        "webmanifest" => "application/manifest+json",
        "woff2" => "font/woff2",
        "png" => "image/png",
        _ => return None,
    })
}

/// Fills the page: `{{assets}}` with the folder of the assets, `{{modulepreload}}` with a link for
/// each module. All addresses are relative, so that they hold below any prefix.
///
/// # Panics
/// If the page lacks one of the two.
pub fn fill_index(page: &str, folder: &str, modules: &[String]) -> String {
    for place in ["{{assets}}", "{{modulepreload}}"] {
        assert!(page.contains(place), "console/index.html lacks {place}");
    }
    let link = |module: &String| format!("<link rel=\"modulepreload\" href=\"{folder}/{module}\">");
    let links: Vec<String> = modules.iter().map(link).collect();
    page.replace("{{modulepreload}}", &links.join("\n")).replace("{{assets}}", folder)
}

/// Returns the modules that a module imports statically, directly or through others, nearest first.
/// `read` returns the text of a module.
///
/// # Errors
/// A sentence about an import that names no file of the console: it would fail in every browser.
pub fn modules_of(first: &str, read: impl Fn(&str) -> Option<String>) -> Result<Vec<String>, String> {
    let (mut found, mut known) = (vec![first.to_owned()], BTreeSet::from([first.to_owned()]));
    let mut next = 0;
    while let Some(module) = found.get(next).cloned() {
        let text = read(&module).ok_or_else(|| format!("{module} does not exist, but is imported"))?;
        for import in imports_of(&text) {
            let target = resolve(&module, import)
                .ok_or_else(|| format!("{module} imports `{import}`, which is not relative"))?;
            if known.insert(target.clone()) {
                found.push(target);
            }
        }
        next += 1;
    }
    found.remove(0);
    Ok(found)
}

/// Returns what a module imports or exports again: the texts in quotes of `import … from "…"`,
/// `import "…"` and `export … from "…"` that begin a line. Formatted code has no others. Imports
/// by a call, `import("…")`, are loaded later.
fn imports_of(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let statement = text[at..].trim_start();
        at += line.len();
        let begins = |word: &str, after: &[char]| {
            statement.strip_prefix(word).is_some_and(|rest| rest.trim_start_matches(' ').starts_with(after))
        };
        let is_import = line.trim_start().starts_with("import")
            && (begins("import", &['{', '"', '\'', '*']) || statement.starts_with("import "));
        let is_export = line.trim_start().starts_with("export") && begins("export", &['{', '*']);
        if !is_import && !is_export {
            continue;
        }
        let Some(quote) = statement.find(['"', '\'', ';']) else { continue };
        let before = statement[..quote].trim_end();
        if before != "import" && !before.ends_with("from") {
            continue;
        }
        let (mark, rest) = statement[quote..].split_at(1);
        found.extend(rest.split(mark).next().filter(|_| mark != ";"));
    }
    found
}

/// Returns the path of a relative import, below the root; `None` if it leads elsewhere.
fn resolve(from: &str, import: &str) -> Option<String> {
    if !import.starts_with("./") && !import.starts_with("../") {
        return None;
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in import.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_documents_and_settings_of_tools_are_not_served() {
        for path in ["index.html", "main.js", "lib/x.js", "lib/tests.js", "lib/tests", "img/package.svg", "data.json"] {
            assert!(is_served(path), "{path}");
        }
        for path in [
            "tests",
            "README.md",
            "lib/NOTES.md",
            "jsconfig.json",
            "package.json",
            "package-lock.json",
            ".eslintrc.json",
            "lib/.x.js.swp",
            "node_modules",
            "lib/types.d.ts",
        ] {
            assert!(!is_served(path), "{path}");
        }
    }

    #[test]
    fn static_imports_are_found_in_every_form_and_others_are_not() {
        let text = r#"
/** @import { Thing } from "./types.js" */
// import "./comment.js";
import "./alone.js";
import whole, { part } from './single.js';
import * as all from "./star.js";
import{tight}from"./tight.js";
import {
  one,
  two,
} from "./lines.js";
export { three } from "./again.js";
export * from "../above.js";
export { own };
export const text = "from ./text.js";
const later = await import("./later.js");
import.meta.url;
important("./call.js");
"#;
        let expected =
            ["./alone.js", "./single.js", "./star.js", "./tight.js", "./lines.js", "./again.js", "../above.js"];
        assert_eq!(imports_of(text), expected);
    }

    fn modules(files: &[(&str, &str)]) -> Result<Vec<String>, String> {
        let read = |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned());
        modules_of("main.js", read)
    }

    #[test]
    fn modules_are_followed_once_each_through_folders_and_circles() {
        let found = modules(&[
            ("main.js", "import \"./lib/a.js\";\nimport \"./view.js\";\n"),
            ("lib/a.js", "import { b } from \"./b.js\";\n"),
            ("lib/b.js", "import \"../view.js\";\nimport \"./a.js\";\nimport \"../main.js\";\n"),
            ("view.js", "export const x = 1;\n"),
        ]);
        assert_eq!(found.expect("all exist"), ["lib/a.js", "view.js", "lib/b.js"]);
    }

    #[test]
    fn an_import_of_nothing_or_from_elsewhere_stops_the_build() {
        let missing = modules(&[("main.js", "import \"./lib/a.js\";\n")]);
        assert_eq!(missing.unwrap_err(), "lib/a.js does not exist, but is imported");
        for other in ["lit", "/x.js", "https://example.org/x.js", "../x.js"] {
            let outside = modules(&[("main.js", &format!("import \"{other}\";\n"))]);
            assert_eq!(outside.unwrap_err(), format!("main.js imports `{other}`, which is not relative"));
        }
    }

    #[test]
    fn the_page_gets_relative_addresses() {
        let page = "<link href=\"{{assets}}/s.css\">\n{{modulepreload}}\n<script src=\"{{assets}}/main.js\">";
        let filled = fill_index(page, "assets-1", &["lib/a.js".to_owned(), "b.js".to_owned()]);
        assert_eq!(
            filled,
            "<link href=\"assets-1/s.css\">\n<link rel=\"modulepreload\" href=\"assets-1/lib/a.js\">\n\
             <link rel=\"modulepreload\" href=\"assets-1/b.js\">\n<script src=\"assets-1/main.js\">"
        );
    }

    #[test]
    fn media_types_follow_from_extensions() {
        assert_eq!(media_type("lib/x.js"), Some("text/javascript; charset=utf-8"));
        assert_eq!(media_type("stet.webmanifest"), Some("application/manifest+json"));
        assert_eq!((media_type("x.exe"), media_type("LICENSE")), (None, None));
    }
}
