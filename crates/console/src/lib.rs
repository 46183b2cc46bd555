//! The console: the web application in the folder `console`, as the binary carries it.
//!
//! `build.rs` packs the folder. All assets lie below one folder, [`FOLDER`], whose name has a hash
//! of all of them. So an address of an asset always means the same bytes, and modules import each
//! other by their relative names, unchanged. [`find`] is the start for a reader.
//!
//! Invariants: only files that existed at the build are found; paths are compared, never resolved.

#[cfg(test)]
mod packing;

/// A file of the console.
#[derive(Debug)]
pub struct ConsoleFile {
    /// The path below the folder of the assets.
    pub path: &'static str,
    /// The media type.
    pub media_type: &'static str,
    /// The beginning of the hash of the plain form, in hexadecimal digits.
    pub tag: &'static str,
    /// The bytes themselves.
    pub plain: &'static [u8],
    /// The bytes compressed with brotli, if that makes them smaller.
    pub brotli: Option<&'static [u8]>,
    /// The bytes compressed with gzip, if that makes them smaller.
    pub gzip: Option<&'static [u8]>,
}

/// A file found at an address.
#[derive(Debug, Clone, Copy)]
pub enum ConsoleResource {
    /// The page. Its address stays, while its content changes with each version.
    Index(&'static ConsoleFile),
    /// An asset, which never changes at its address.
    Asset(&'static ConsoleFile),
}

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The content security policy of the console. It runs the modules of this server and no other
/// script, and only its policy for trusted types may create markup.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; \
                          media-src 'self' blob:; font-src 'self'; connect-src 'self'; worker-src 'self'; \
                          manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; \
                          require-trusted-types-for 'script'; trusted-types stet";

/// Returns the file at a path below the console's address; the empty path is the page.
pub fn find(path: &str) -> Option<ConsoleResource> {
    if path.is_empty() {
        return Some(ConsoleResource::Index(&INDEX));
    }
    let path = path.strip_prefix(FOLDER)?.strip_prefix('/')?;
    let place = ASSETS.binary_search_by_key(&path, |file| file.path).ok()?;
    Some(ConsoleResource::Asset(&ASSETS[place]))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn asset(path: &str) -> Option<&'static ConsoleFile> {
        match find(&format!("{FOLDER}/{path}"))? {
            ConsoleResource::Asset(file) => Some(file),
            ConsoleResource::Index(_) => None,
        }
    }

    #[test]
    fn every_asset_is_found_by_its_path_and_nothing_else_is() {
        assert!(matches!(find(""), Some(ConsoleResource::Index(_))));
        for file in ASSETS {
            assert_eq!(asset(file.path).map(|found| found.path), Some(file.path));
        }
        assert!(asset("main.js").is_some());
        for nothing in ["", "index.html", "none.js", "../index.html", "lib/../main.js", "main.js/", "/main.js"] {
            assert!(asset(nothing).is_none(), "{nothing}");
        }
        for nothing in ["main.js", FOLDER, "assets-0000000000000000/main.js", "/"] {
            assert!(find(nothing).is_none(), "{nothing}");
        }
    }

    #[test]
    fn compressed_forms_are_smaller_and_hold_the_same_bytes() {
        for file in ASSETS.iter().chain([&INDEX]) {
            if let Some(coded) = file.brotli {
                let mut plain = Vec::new();
                brotli::Decompressor::new(coded, 4096).read_to_end(&mut plain).expect("it is brotli");
                assert!(coded.len() < plain.len() && plain == file.plain, "{}", file.path);
            }
            if let Some(coded) = file.gzip {
                let mut plain = Vec::new();
                flate2::read::GzDecoder::new(coded).read_to_end(&mut plain).expect("it is gzip");
                assert!(coded.len() < plain.len() && plain == file.plain, "{}", file.path);
            }
        }
        assert!(INDEX.brotli.is_some() && INDEX.gzip.is_some());
    }

    #[test]
    fn the_page_names_the_folder_and_has_no_place_left_to_fill() {
        let page = std::str::from_utf8(INDEX.plain).expect("it is text");
        assert!(page.contains(&format!("{FOLDER}/main.js")) && !page.contains("{{"), "{page}");
        let hash = FOLDER.strip_prefix("assets-").expect("the folder has this name");
        assert!(hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{hash}");
    }
}
