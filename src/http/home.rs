//! The page at `/`, for people who have come by the address alone. It says nothing that `/openapi.json` does not say to all.

/// The page.
pub const PAGE: &str = concat!(
    r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>stet</title>
<style>body { font: 1rem/1.5 sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem }</style>
</head>
<body>
<h1>stet</h1>
<p>A content repository for newsrooms, version "#,
    env!("CARGO_PKG_VERSION"),
    r#". It is spoken to over HTTP, with JSON; there are no pages for editors here.</p>
<ul>
<li><a href="openapi.json">openapi.json</a>: the interface, described for people and for generators of clients (OpenAPI 3.1)</li>
<li><a href="healthz">healthz</a>: whether the process works</li>
<li><a href="readyz">readyz</a>: whether it serves at present</li>
<li><a href="metrics">metrics</a>: what it counts, for Prometheus</li>
</ul>
<p>The documents come with the program: <code>README.md</code>, <code>docs/OPERATION.md</code> for who runs it, and
<code>docs/api</code> for who calls it.</p>
</body>
</html>
"#
);

/// What the page may do in a browser: show itself with its style.
pub const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
