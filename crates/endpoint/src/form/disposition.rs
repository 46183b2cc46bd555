//! The header `Content-Disposition` of a form's part, with the names of the part and of its file.

use actix_web::http::header::{CONTENT_DISPOSITION, HeaderMap};
use stet_domain::error::{Code, Error, Result};
use stet_web::parameters::{HeaderParameter, HeaderParameters, shortened};

use super::file_name::{self, ExtendedValue};

/// The largest number of segments of a continued `filename*0*`, `filename*1*`, … (RFC 2231, 3).
const MAX_SEGMENTS: usize = 64;

/// The names in the header of a part.
#[derive(Debug, PartialEq, Eq)]
pub struct Disposition {
    /// The name of the part.
    pub name: String,
    /// The last segment of the file's name. Empty if the client states that there is no file;
    /// `None` without a file name.
    pub file_name: Option<String>,
}

/// Reads the header of a part.
///
/// # Errors
/// `InvalidBody`: the header is missing or malformed. The message names the part if its name can be
/// read.
pub fn disposition_of(headers: &HeaderMap) -> Result<Disposition> {
    let Some(value) = headers.get(CONTENT_DISPOSITION) else {
        return Err(refusal(None, "is missing"));
    };
    let text = std::str::from_utf8(value.as_bytes())
        .map_err(|_| refusal(None, "is not UTF-8: write other names as `filename*=iso-8859-1''…`, or in UTF-8"))?;
    let (kind, parameters) = HeaderParameters::of(text);
    if !kind.eq_ignore_ascii_case("form-data") {
        return Err(refusal(None, &format!("is `{}`, and must be `form-data`", shortened(kind))));
    }
    let parameters = parameters.collect::<std::result::Result<Vec<_>, _>>().map_err(|why| refusal(None, &why))?;
    let only = |name: &str| only(&parameters, name);
    let Some(name) = only("name")? else { return Err(refusal(None, "has no `name`")) };
    let file_name = match only("filename*")?.filter(|value| !value.is_empty()) {
        Some(extended) => Some(ExtendedValue::decode(extended).map_err(|why| refusal_of_name(name, extended, &why))?),
        None => match continued(&parameters, name)? {
            Some(joined) => Some(joined),
            None => only("filename")?.map(file_name::decode),
        },
    };
    let segment = file_name.as_deref().map(file_name::last_segment);
    if let (Some(""), Some(full)) = (segment, file_name.as_deref())
        && !full.is_empty()
    {
        return Err(refusal_of_name(name, full, "ends without a name"));
    }
    Ok(Disposition { name: name.to_owned(), file_name: segment.map(str::to_owned) })
}

/// Returns the value of the only parameter of that name.
fn only<'p>(parameters: &'p [HeaderParameter<'_>], name: &str) -> Result<Option<&'p str>> {
    let mut found = parameters.iter().filter(|parameter| parameter.name.eq_ignore_ascii_case(name));
    let first = found.next();
    if found.next().is_some() {
        return Err(refusal(None, &format!("has the parameter `{name}` twice")));
    }
    Ok(first.map(|parameter| parameter.value.as_str()))
}

/// Returns the file name that is spread over `filename*0`, `filename*1`, …, as mail programs write
/// it; `None` without such parameters.
fn continued(parameters: &[HeaderParameter<'_>], part: &str) -> Result<Option<String>> {
    let mut segments = Vec::new();
    for parameter in parameters {
        let Some(number) = strip_prefix_ignoring_case(parameter.name, "filename*") else { continue };
        if number.is_empty() {
            continue;
        }
        let (digits, extended) = number.strip_suffix('*').map_or((number, false), |digits| (digits, true));
        let known = digits.parse::<usize>().ok().filter(|at| *at < MAX_SEGMENTS);
        let at = known.ok_or_else(|| refusal_of_name(part, parameter.name, "is no parameter of a file name"))?;
        segments.push((at, extended, parameter.value.as_str()));
    }
    segments.sort_unstable();
    if segments.iter().enumerate().any(|(expected, (at, ..))| expected != *at) {
        return Err(refusal_of_name(part, "filename*0", "and its continuations have a gap, or one of them twice"));
    }
    let Some((_, first_extended, _)) = segments.first() else { return Ok(None) };
    if !first_extended {
        return Ok(Some(segments.iter().map(|(_, _, value)| *value).collect()));
    }
    let joined = segments.iter().map(|(_, extended, value)| (*extended, *value));
    ExtendedValue::decode_segments(joined).map(Some).map_err(|why| refusal_of_name(part, "filename*0*", &why))
}

fn strip_prefix_ignoring_case<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let (head, rest) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

fn refusal(part: Option<&str>, why: &str) -> Error {
    let of = part.map_or_else(|| "a part".to_owned(), |part| format!("the part `{}`", shortened(part)));
    let error = Error::new(Code::InvalidBody, format!("The header `Content-Disposition` of {of} {why}."));
    match part {
        Some(part) => error.with_detail("part", shortened(part)),
        None => error,
    }
}

fn refusal_of_name(part: &str, value: &str, why: &str) -> Error {
    refusal(Some(part), &format!("has a file name that can't be read: `{}` {why}", shortened(value)))
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;

    fn read(value: &[u8]) -> Result<Disposition> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_DISPOSITION, HeaderValue::from_bytes(value).unwrap());
        disposition_of(&headers)
    }

    fn file_name(parameters: &str) -> Option<String> {
        let value = format!("form-data; name=\"content\"; {parameters}");
        let read = read(value.as_bytes()).unwrap_or_else(|error| panic!("{value}: {error}"));
        assert_eq!(read.name, "content");
        read.file_name
    }

    #[test]
    fn file_names_are_read_in_all_forms_that_clients_use() {
        for (parameters, expected) in [
            ("filename=\"ferry.xml\"", "ferry.xml"),
            ("filename=ferry.xml", "ferry.xml"),
            ("FileName = a ferry.xml ; x=y", "a ferry.xml"),
            ("filename=\"Fähre.xml\"", "Fähre.xml"),
            ("filename*=utf-8''F%C3%A4hre.xml", "Fähre.xml"),
            ("filename*=UTF-8'de'F%c3%a4hre%20nord.xml", "Fähre nord.xml"),
            ("filename*=\"utf-8''F%C3%A4hre.xml\"", "Fähre.xml"),
            ("filename*=iso-8859-1''F%E4hre.xml", "Fähre.xml"),
            ("filename=\"=?utf-8?B?RsOkaHJlLnhtbA==?=\"; filename*=utf-8''Boot%2Exml", "Boot.xml"),
            ("filename*=utf-8''Boot.xml; filename=\"a.xml\"", "Boot.xml"),
            ("filename*=; filename=\"a.xml\"", "a.xml"),
            ("filename=\"=?utf-8?B?RsOkaHJlLnhtbA==?=\"", "Fähre.xml"),
            ("filename*0=\"long\"; filename*1=\"er.xml\"", "longer.xml"),
            ("filename*1*=%A4hre.xml; filename*0*=utf-8''F%C3", "Fähre.xml"),
            ("filename*0*=utf-8''F%C3%A4hre; filename*1=\"%20.xml\"", "Fähre%20.xml"),
            (r#"filename="C:\Desk\new\ferry.xml""#, "ferry.xml"),
            (r#"filename="C:\\Desk\\new\\ferry.xml""#, "ferry.xml"),
            (r"filename=C:\Desk\ferry.xml", "ferry.xml"),
            ("filename=\"desk/new/ferry.xml\"", "ferry.xml"),
            ("filename*=utf-8''desk%2Fferry.xml", "ferry.xml"),
            ("filename*=utf-8''C%3A%5CDesk%5Cferry.xml", "ferry.xml"),
            (r#"filename="a\"b.xml""#, "a\"b.xml"),
            ("filename=\"a%22b.xml\"", "a\"b.xml"),
            ("filename=\"50%20off.xml\"", "50%20off.xml"),
            ("filename=\"F%C3%A4hre%20nord.xml\"", "Fähre nord.xml"),
            ("filename=\"\"", ""),
            ("filename=\"..\"", ".."),
        ] {
            assert_eq!(file_name(parameters).as_deref(), Some(expected), "{parameters}");
        }
        assert_eq!(file_name("x=y"), None);
    }

    #[test]
    fn broken_headers_are_refused_with_the_reason() {
        for (value, part) in [
            ("attachment; name=\"content\"", "must be `form-data`"),
            ("form-data", "has no `name`"),
            ("form-data; name=\"a\"; name=\"b\"", "`name` twice"),
            ("form-data; name=\"a", "closing"),
            ("form-data; name=a; filename=x; filename=y", "`filename` twice"),
            ("form-data; name=a; filename=\"desk/\"", "ends without a name"),
            ("form-data; name=a; filename=\"C:\\\\\"", "ends without a name"),
            ("form-data; name=a; filename*=x", "charset"),
            ("form-data; name=a; filename*=koi8-r''x", "`koi8-r`"),
            ("form-data; name=a; filename*=utf-8''a%2", "`%`"),
            ("form-data; name=a; filename*=utf-8''a%zz", "`%`"),
            ("form-data; name=a; filename*=utf-8''a%FF", "UTF-8"),
            ("form-data; name=a; filename*0=x; filename*2=y", "gap"),
            ("form-data; name=a; filename*0=x; filename*0=y", "twice"),
            ("form-data; name=a; filename*x=y", "no parameter"),
            ("form-data; name=a; filename*99=y", "no parameter"),
        ] {
            let error = read(value.as_bytes()).expect_err(value);
            assert_eq!(error.code, Code::InvalidBody, "{value}");
            assert!(error.message.contains(part), "{value}: {error}");
        }
        let error = read(b"form-data; name=a; filename=\"F\xe4hre.xml\"").expect_err("no UTF-8");
        assert!(error.message.contains("UTF-8"), "{error}");
        assert!(disposition_of(&HeaderMap::new()).expect_err("none").message.contains("is missing"));
    }
}
