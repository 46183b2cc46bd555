//! Input that means harm.

use std::time::{Duration, Instant};

use serde_json::json as j;

use super::*;

fn nested(levels: usize) -> String {
    format!("{}{}", "<a>".repeat(levels), "</a>".repeat(levels))
}

fn nested_json(levels: usize) -> Value {
    (0..levels).fold(j!(""), |inner, _| j!({ "a": inner }))
}

#[test]
fn depth_is_bounded_in_both_forms_alike() {
    assert_eq!(json(&nested(64)), nested_json(64));
    assert_eq!(xml(&nested_json(64)), again(&nested(64)));
    let fault = xml_fault(&nested(65));
    assert_eq!(fault.kind(), XmlErrorKind::TooDeep);
    assert_eq!(fault.location(), &Location::Byte(64 * 3));
    let fault = json_fault(&nested_json(65));
    assert_eq!(fault.kind(), XmlErrorKind::TooDeep);
    assert_eq!(fault.location(), &Location::Path(format!("${}", ".a".repeat(65))));
}

#[test]
fn endless_depth_is_refused_at_the_limit() {
    let fault = xml_fault(&"<a>".repeat(1_000_000));
    assert_eq!(fault.kind(), XmlErrorKind::TooDeep);
}

#[test]
fn the_depth_ceiling_holds_whatever_the_limit_says() {
    let bold = Limits { max_depth: usize::MAX, ..limits() };
    let ceiling = Limits::DEPTH_CEILING;
    let value = to_json(&nested(ceiling), &bold).expect("the ceiling itself is allowed");
    assert_eq!(value, nested_json(ceiling));
    assert!(from_json(&value, &bold).is_ok());
    assert!(check(&nested(ceiling + 1), &bold).is_err());
    assert!(from_json(&nested_json(ceiling + 1), &bold).is_err());
}

#[test]
fn size_is_bounded_in_both_forms() {
    let tight = Limits { max_bytes: 10, ..limits() };
    assert!(check("<a>123</a>", &tight).is_ok());
    let fault = check("<a>1234</a>", &tight).expect_err("one byte too many");
    assert_eq!(fault.kind(), XmlErrorKind::TooLarge);
    assert!(from_json(&j!({"a": "123"}), &tight).is_ok());
    for value in [j!({"a": "1234"}), j!({"a": {"b": ["", ""]}}), j!({"a": {"#text": "\n\n"}})] {
        let fault = from_json(&value, &tight).expect_err("too many bytes");
        assert_eq!(fault.kind(), XmlErrorKind::TooLarge, "{value}");
    }
}

#[test]
fn attributes_and_namespaces_are_counted_where_a_limit_says_so() {
    let few = Limits { max_attributes: 2, max_namespaces: 2, ..limits() };
    for (text, well) in [
        ("<a b='1' c='2'/>", true),
        ("<a b='1' c='2' d='3'/>", false),
        ("<a><b c='1' d='2'/><b c='1' d='2'/></a>", true),
        ("<a xmlns='u' xmlns:b='u'/>", true),
        ("<a xmlns='u'><b xmlns:c='u'/><b xmlns:c='u'/></a>", false),
        ("<a xmlnsx='u'><b xmlnsx='u'/><b xmlnsx='u'/></a>", true),
    ] {
        assert_eq!(check(text, &few).is_ok(), well, "{text}");
        assert!(check(text, &limits()).is_ok());
    }
}

#[test]
fn declared_entities_are_never_expanded() {
    let declared = [
        "<!DOCTYPE a [<!ENTITY e 'x'>]>",
        "<!DOCTYPE a [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>",
        "<!DOCTYPE a [<!ENTITY % p SYSTEM 'http://x/'> %p;]>",
        "<!DOCTYPE a SYSTEM 'http://x/e.dtd'>",
        "",
    ];
    for doctype in declared {
        for reference in ["<a>&e;</a>", "<a b='&e;'/>"] {
            let fault = xml_fault(&format!("{doctype}{reference}"));
            assert_eq!(fault.kind(), XmlErrorKind::UnknownEntity, "{fault}");
            assert!(fault.to_string().contains("\"e\""), "{fault}");
        }
    }
}

#[test]
fn a_billion_laughs_are_not_heard() {
    let mut doctype = "<!DOCTYPE a [<!ENTITY l0 'lol'>".to_owned();
    for i in 1..10 {
        let tens = format!("&l{};", i - 1).repeat(10);
        doctype.push_str(&format!("<!ENTITY l{i} '{tens}'>"));
    }
    doctype.push_str("]>");
    let fault = xml_fault(&format!("{doctype}<a>&l9;</a>"));
    assert_eq!(fault.kind(), XmlErrorKind::UnknownEntity);
    assert_eq!(json(&format!("{doctype}<a/>")), j!({"a": ""}));
}

#[test]
fn a_declared_entity_does_not_replace_a_predefined_one() {
    let text = "<!DOCTYPE a [<!ENTITY lt 'x'>]><a>&lt;</a>";
    assert_eq!(json(text), j!({"a": "<"}));
}

#[test]
fn characters_beyond_xml_are_refused_in_every_guise() {
    for c in ['\0', '\u{1}', '\u{B}', '\u{1F}', '\u{FFFE}', '\u{FFFF}'] {
        let code = u32::from(c);
        for text in [
            format!("<a>{c}</a>"),
            format!("<a b='{c}'/>"),
            format!("<a><!--{c}--></a>"),
            format!("<a>&#{code};</a>"),
            format!("<a b='&#x{code:X};'/>"),
        ] {
            let fault = xml_fault(&text);
            assert_eq!(fault.kind(), XmlErrorKind::BadCharacter, "{text:?}: {fault}");
        }
        let fault = json_fault(&j!({"a": c.to_string()}));
        assert_eq!(fault.kind(), XmlErrorKind::BadCharacter);
    }
    for reference in ["&#xD800;", "&#x110000;", "&#99999999999999999999;"] {
        let fault = xml_fault(&format!("<a>{reference}</a>"));
        assert_eq!(fault.kind(), XmlErrorKind::BadCharacter, "{fault}");
    }
    for reference in ["&#;", "&#x;", "&#+65;", "&#-1;", "&#X41;", "&#6 5;"] {
        let fault = xml_fault(&format!("<a>{reference}</a>"));
        assert_eq!(fault.kind(), XmlErrorKind::Syntax, "{fault}");
    }
}

#[test]
fn markup_cannot_be_smuggled_through_json() {
    let value = j!({"p": {"@a": "\"/><x y=\"", "#text": "</p><!--", "b": "]]>&e;"}});
    assert_eq!(json(&xml(&value)), value);
}

/// Eight times the input may take at most thrice eight times as long; quadratic work takes 64
/// times. A busy machine can spoil a measurement, so the best of a few counts.
#[track_caller]
fn grows_with_size(make: impl Fn(usize) -> String) {
    const SMALL: usize = 4_000;
    let (small, large) = (make(SMALL), make(8 * SMALL));
    let time = |text: &str| {
        let begun = Instant::now();
        match to_json(text, &limits()) {
            Ok(value) => {
                assert_eq!(json(&xml(&value)), value);
                again(text);
            }
            Err(fault) => assert_ne!(fault.kind(), XmlErrorKind::TooLarge),
        }
        begun.elapsed()
    };
    let linear = (0..5).any(|_| {
        let allowed = time(&small).max(Duration::from_millis(1)) * 24;
        time(&large) < allowed
    });
    assert!(linear, "{:?} takes more than linear time", &large[..20]);
}

#[test]
fn work_grows_with_the_size_alone() {
    grows_with_size(|n| {
        let attributes: String = (0..n).map(|i| format!(" a{i}=''")).collect();
        format!("<a{attributes}/>")
    });
    grows_with_size(|n| {
        let names: String = (0..n).map(|i| format!("<n{i}/>")).collect();
        format!("<a>{names}</a>")
    });
    for piece in ["<b/>", "&amp;", "x<b/>", "x<!---->", "<![CDATA[]]>", "\r", "<?p?>"] {
        grows_with_size(|n| format!("<a>{}</a>", piece.repeat(n)));
    }
    grows_with_size(|n| format!("<a b='{}'/>", "&amp;\r".repeat(n)));
    for piece in ["<!ENTITY e ''>", "<?p?>", "<!---->", "%p;"] {
        grows_with_size(|n| format!("<!DOCTYPE a [{}]><a/>", piece.repeat(n)));
    }
    for broken in ["<", "<a ", "<!--", "<![CDATA[", "<!DOCTYPE a [", "&", "<a b='", "<?", "]]>", "<a>&"] {
        grows_with_size(|n| broken.repeat(n));
        grows_with_size(|n| format!("<a>{}", broken.repeat(n)));
    }
}
