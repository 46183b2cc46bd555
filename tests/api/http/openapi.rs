//! The server's own OpenAPI document, compared with `tests/golden/openapi.json`.

use super::*;

#[test]
fn the_openapi_document_is_the_one_in_tests_golden() {
    let answer = Server::shared().client().get("/openapi.json");
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let served = format!("{}\n", serde_json::to_string_pretty(&answer.json()).expect("JSON can be written"));
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/openapi.json");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(file, served).expect("the file can be written");
        return;
    }
    let golden = std::fs::read_to_string(file).unwrap_or_default();
    let differs = served.lines().zip(golden.lines()).position(|(one, other)| one != other);
    let differs =
        differs.or_else(|| (served.len() != golden.len()).then(|| served.lines().count().min(golden.lines().count())));
    if let Some(line) = differs {
        let shown = |text: &str| text.lines().skip(line.saturating_sub(3)).take(7).collect::<Vec<_>>().join("\n");
        panic!(
            "the interface has changed, at line {} of {file}. If that is meant, run\n\n    \
             UPDATE_GOLDEN=1 cargo test --test main openapi_document\n\nand commit the file.\n\
             --- golden\n{}\n--- served\n{}",
            line + 1,
            shown(&golden),
            shown(&served),
        );
    }
}
