use stet_xml::XmlErrorKind;

use super::answer::{CasAnswer, CasAnswerFault, CasPerson, TicketRefusal, read};

const MAX_BYTES: usize = 64 << 10;

/// The answer in the protocol's own layout.
fn cas(inside: &str) -> String {
    format!("<cas:serviceResponse xmlns:cas=\"http://www.yale.edu/tp/cas\">\n  {inside}\n</cas:serviceResponse>\n")
}

fn success(inside: &str) -> String {
    cas(&format!("<cas:authenticationSuccess>{inside}</cas:authenticationSuccess>"))
}

fn known(text: &str) -> CasPerson {
    match read(text, MAX_BYTES) {
        Ok(CasAnswer::Known(person)) => person,
        other => panic!("{other:?}: {text}"),
    }
}

fn shape(text: &str) -> &'static str {
    match read(text, MAX_BYTES) {
        Err(CasAnswerFault::Shape(what)) => what,
        other => panic!("{other:?}: {text}"),
    }
}

fn fault(text: &str) -> XmlErrorKind {
    match read(text, MAX_BYTES) {
        Err(CasAnswerFault::Xml(kind)) => kind,
        other => panic!("{other:?}: {text}"),
    }
}

#[test]
fn a_success_has_a_user_and_attributes() {
    let person = known(&success(
        "<cas:user>\n ada </cas:user>
         <cas:attributes>
           <cas:mail>ada@example.org</cas:mail>
           <cas:memberOf>cn=desk,dc=example</cas:memberOf>
           <cas:memberOf>cn=night &amp; day</cas:memberOf>
           <cas:empty/>
           <cas:nested><cas:inner>x</cas:inner></cas:nested>
         </cas:attributes>
         <cas:proxyGrantingTicket>PGTIOU-1</cas:proxyGrantingTicket>",
    ));
    assert_eq!(person.name, "ada");
    assert_eq!(person.values("mail").collect::<Vec<_>>(), ["ada@example.org"]);
    assert_eq!(person.values("memberOf").collect::<Vec<_>>(), ["cn=desk,dc=example", "cn=night & day"]);
    for without in ["empty", "nested", "inner", "proxyGrantingTicket", "user", ""] {
        assert_eq!(person.values(without).count(), 0, "{without}");
    }
}

#[test]
fn only_layout_is_taken_off_a_name_for_the_rest_is_another_users() {
    for (text, name) in [
        ("\r\n\tada ", "ada"),
        ("<![CDATA[ ada ]]>", "ada"),
        ("ada\u{a0}", "ada\u{a0}"),
        ("\u{3000}ada", "\u{3000}ada"),
        ("ada\u{2003}<!-- -->", "ada\u{2003}"),
        ("ada&#xa0;", "ada\u{a0}"),
        ("ada<!-- -->.evil", "ada.evil"),
        ("ada<?x?>.evil", "ada.evil"),
    ] {
        assert_eq!(known(&success(&format!("<cas:user>{text}</cas:user>"))).name, name);
    }
}

#[test]
fn the_namespace_counts_and_not_the_prefix() {
    let texts = [
        "<serviceResponse xmlns='http://www.yale.edu/tp/cas'><authenticationSuccess><user>ada</user>\
         <attributes><mail>a@b</mail></attributes></authenticationSuccess></serviceResponse>",
        "<x:serviceResponse xmlns:x='http://www.yale.edu/tp/cas'><x:authenticationSuccess><x:user>ada</x:user>\
         <x:attributes><mail>a@b</mail></x:attributes></x:authenticationSuccess></x:serviceResponse>",
        "<x:serviceResponse xmlns:x='http://www.yale.edu/tp/cas'><authenticationSuccess \
         xmlns='http://www.yale.edu/tp/cas'><y:user xmlns:y='http://www.yale.edu/tp/cas'>ada</y:user>\
         <x:attributes><z:mail xmlns:z='urn:other'>a@b</z:mail></x:attributes></authenticationSuccess></x:serviceResponse>",
    ];
    for text in texts {
        let person = known(text);
        assert_eq!((&*person.name, person.values("mail").next()), ("ada", Some("a@b")), "{text}");
    }
}

#[test]
fn cas_answers_in_another_namespace_are_refused() {
    let none = "<serviceResponse><authenticationSuccess><user>ada</user></authenticationSuccess></serviceResponse>";
    let other = success("<cas:user>ada</cas:user>").replace("http://www.yale.edu/tp/cas", "urn:other");
    let unbound = success("<cas:user>ada</cas:user>").replace("xmlns:cas", "xmlns:other");
    for text in [none, &other, &unbound] {
        assert!(shape(text).contains("serviceResponse"), "{text}");
    }
    // Inside an answer, elements of others are passed by.
    let person = known(&success("<o:user xmlns:o='urn:other'>eve</o:user><cas:user>ada</cas:user><user>eve</user>"));
    assert_eq!(person.name, "ada");
    let rebound = success("<cas:user xmlns:cas='urn:other'>ada</cas:user>");
    assert!(shape(&rebound).contains("user"));
}

#[test]
fn there_is_one_outcome_and_one_user() {
    let good = "<cas:authenticationSuccess><cas:user>ada</cas:user></cas:authenticationSuccess>";
    let bad = "<cas:authenticationFailure code='INVALID_TICKET'>no</cas:authenticationFailure>";
    for inside in [String::new(), format!("{good}{good}"), format!("{good}{bad}"), format!("{bad}{bad}")] {
        assert!(shape(&cas(&inside)).contains("one success or one failure"), "{inside}");
    }
    let users = [
        "",
        "<cas:user/>",
        "<cas:user> \n </cas:user>",
        "<cas:user>ada</cas:user><cas:user>eve</cas:user>",
        "<cas:user>ada<cas:x/></cas:user>",
    ];
    for inside in users {
        assert!(shape(&success(inside)).contains("one `user`"), "{inside}");
    }
    // Whatever stands between the letters, it is the whole text that counts.
    assert_eq!(known(&success("<cas:user>ada<!-- x -->.eve</cas:user>")).name, "ada.eve");
    assert_eq!(known(&success("<cas:user><![CDATA[ad]]>a</cas:user>")).name, "ada");
    assert_eq!(known(&success("<cas:user id='7'>ada</cas:user>")).name, "ada");
}

#[test]
fn a_failure_has_a_code() {
    let codes = [
        ("INVALID_TICKET", TicketRefusal::Ticket),
        ("INVALID_TICKET_SPEC", TicketRefusal::Ticket),
        ("INVALID_SERVICE", TicketRefusal::Service),
        ("INVALID_REQUEST", TicketRefusal::Configuration),
        ("UNAUTHORIZED_SERVICE", TicketRefusal::Configuration),
        ("UNAUTHORIZED_SERVICE_PROXY", TicketRefusal::Configuration),
        ("INVALID_PROXY_CALLBACK", TicketRefusal::Configuration),
        ("INTERNAL_ERROR", TicketRefusal::Internal),
        ("SOMETHING_ELSE", TicketRefusal::Other),
        ("", TicketRefusal::Other),
    ];
    for (code, refusal) in codes {
        let text = cas(&format!("<cas:authenticationFailure code=\"{code}\">\n why \n</cas:authenticationFailure>"));
        assert_eq!(read(&text, MAX_BYTES), Ok(CasAnswer::Refused(refusal)), "{code}");
    }
    let bare = cas("<cas:authenticationFailure/>");
    assert_eq!(read(&bare, MAX_BYTES), Ok(CasAnswer::Refused(TicketRefusal::Other)));
}

#[test]
fn entities_are_neither_expanded_nor_fetched() {
    let bomb = format!(
        "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;'><!ENTITY c '&b;&b;&b;&b;'>]>{}",
        success("<cas:user>&c;</cas:user>")
    );
    let file = format!(
        "<!DOCTYPE x [<!ENTITY f SYSTEM 'file:///etc/passwd'>]>{}",
        success("<cas:user>ada</cas:user><cas:attributes><cas:mail>&f;</cas:mail></cas:attributes>")
    );
    assert_eq!(fault(&bomb), XmlErrorKind::UnknownEntity);
    assert_eq!(fault(&file), XmlErrorKind::UnknownEntity);
    let parameter = format!("<!DOCTYPE x SYSTEM 'http://127.0.0.1:9/x.dtd'>{}", success("<cas:user>ada</cas:user>"));
    assert_eq!(known(&parameter).name, "ada", "a DOCTYPE takes no effect");
}

#[test]
fn size_and_depth_are_bounded() {
    let deep =
        |levels: usize| success(&format!("<cas:user>ada</cas:user>{}{}", "<a>".repeat(levels), "</a>".repeat(levels)));
    assert_eq!(known(&deep(14)).name, "ada");
    assert_eq!(fault(&deep(15)), XmlErrorKind::TooDeep);
    assert_eq!(fault(&deep(8000)), XmlErrorKind::TooDeep);
    let long = success(&format!("<cas:user>ada</cas:user>{}", " ".repeat(MAX_BYTES)));
    assert_eq!(fault(&long), XmlErrorKind::TooLarge);
}

#[test]
fn what_is_no_xml_is_no_answer() {
    for text in ["", "yes\nada\n", "<html><br></html>", "<cas:serviceResponse", "{}", "<a/><b/>"] {
        assert!(matches!(read(text, MAX_BYTES), Err(CasAnswerFault::Xml(_))), "{text}");
    }
    assert!(shape("<html/>").contains("serviceResponse"));
    let latin = format!("<?xml version='1.0' encoding='ISO-8859-1'?>{}", success("<cas:user>ada</cas:user>"));
    assert_eq!(fault(&latin), XmlErrorKind::UnsupportedEncoding);
    let utf8 = format!("<?xml version='1.0' encoding='UTF-8'?>{}", success("<cas:user>Zoë</cas:user>"));
    assert_eq!(known(&utf8).name, "Zoë");
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(<|>|/|&|;|=|'|cas:|user|xmlns|[a-z ]|\\PC){0,60}") {
        let _ = read(&text, MAX_BYTES);
        let _ = read(&success(&text), MAX_BYTES);
    }
}
