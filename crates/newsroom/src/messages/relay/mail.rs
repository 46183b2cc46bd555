//! The form of a message as a mail (RFC 5322).

use std::time::{Duration, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lettre::Address;
use lettre::address::Envelope;
use lettre::message::header::{ContentType, HeaderName, HeaderValue, MIME_VERSION_1_0};
use lettre::message::{Mailbox, MessageBuilder};
use stet_auth::User;

use super::address_of;
use crate::messages::rows::{Message, Priority};

/// The largest number of addresses that a mail names. With more, it names none.
const NAMED: usize = 20;

/// The value of `To` for receivers that are not named: a group without members (RFC 5322, 3.4).
const UNDISCLOSED: &str = "undisclosed-recipients:;";

/// The longest word of a header that is written as plain text. A longer one could not be folded,
/// and no line may have more than 998 characters (RFC 5322, 2.1.1).
const UNFOLDED: usize = 200;

/// The number of bytes of text in one encoded word.
const ENCODED: usize = 45;

/// Builds the mail in ASCII, with lines that end in CR LF. A retry has the same `Message-ID`.
pub(super) fn build_mail(message: &Message, from: &Address, sender: Option<&User>, to: &[String]) -> Vec<u8> {
    let name =
        sender.map(|user| if user.full_name.is_empty() { user.name.to_string() } else { user.full_name.clone() });
    let name = name.unwrap_or_else(|| message.sender.to_string());
    let id = format!("<stet-{}-{}@{}>", message.number, message.sent_ms, from.domain());
    let mut mail = MessageBuilder::new()
        .from(Mailbox::new(Some(name.replace(char::is_control, " ")), from.clone()))
        .message_id(Some(id))
        .date(UNIX_EPOCH + Duration::from_millis(message.sent_ms))
        .header(MIME_VERSION_1_0)
        .header(ContentType::TEXT_PLAIN);
    if let Some(address) = sender.and_then(address_of) {
        mail = mail.reply_to(Mailbox::new(None, address));
    }
    let addresses: Vec<Address> = to.iter().filter_map(|address| address.parse().ok()).collect();
    let unnamed = addresses.is_empty() || addresses.len() > NAMED;
    if !unnamed {
        for address in &addresses {
            mail = mail.to(Mailbox::new(None, address.clone()));
        }
    }
    // The receivers are in the envelope, not necessarily in the header.
    if let Ok(envelope) = Envelope::new(Some(from.clone()), addresses) {
        mail = mail.envelope(envelope);
    }
    let urgency = match message.priority {
        Priority::Low => "5",
        Priority::Normal => "3",
        Priority::High => "1",
    };
    let made = mail.body(text(message));
    // Only a missing sender could fail, and there is one. Otherwise the relay would refuse an empty
    // mail.
    let Ok(mut made) = made else { return Vec::new() };
    let headers = made.headers_mut();
    headers.insert_raw(subject(&message.subject));
    headers.insert_raw(plain_header("X-Priority", urgency));
    // Programs must not send automatic replies, such as absence notes (RFC 3834, 5).
    headers.insert_raw(plain_header("Auto-Submitted", "auto-generated"));
    if unnamed {
        headers.insert_raw(plain_header("To", UNDISCLOSED));
    }
    made.formatted()
}

/// Builds a header from an ASCII value that fits into one line.
fn plain_header(name: &'static str, value: &str) -> HeaderValue {
    HeaderValue::dangerous_new_pre_encoded(HeaderName::new_from_ascii_str(name), value.to_owned(), value.to_owned())
}

/// Builds the header `Subject`: as encoded words (RFC 2047) if it is not ASCII or could not be
/// folded. Control characters, above all line ends, become blanks.
fn subject(text: &str) -> HeaderValue {
    let name = HeaderName::new_from_ascii_str("Subject");
    let text = text.replace(char::is_control, " ");
    let foldable = text.split(' ').all(|word| word.len() <= UNFOLDED);
    if foldable {
        return HeaderValue::new(name, text);
    }
    // An encoded word has at most 75 characters, which are 45 bytes in base64. Each line of the
    // header has one word.
    let (mut words, mut word) = (Vec::new(), String::new());
    for c in text.chars() {
        if word.len() + c.len_utf8() > ENCODED {
            words.push(std::mem::take(&mut word));
        }
        word.push(c);
    }
    words.push(word);
    let encoded: Vec<_> = words.iter().map(|word| format!("=?utf-8?b?{}?=", STANDARD.encode(word))).collect();
    HeaderValue::dangerous_new_pre_encoded(name, text, encoded.join("\r\n "))
}

/// Returns the content of the mail: the text and the list of attached objects. The objects are not
/// included, because their access rights hold only in the repository.
fn text(message: &Message) -> String {
    // All kinds of line ends become one: a carriage return alone might be taken for the end of the
    // mail on the way (RFC 5321, 2.3.8).
    let mut text = message.body.replace("\r\n", "\n").replace('\r', "\n");
    if !message.attachments.is_empty() {
        let list: Vec<&str> = message.attachments.iter().map(|loid| &**loid).collect();
        text = format!("{}\n\nAttached: {}\n", text.trim_end(), list.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> Message {
        Message {
            number: 7,
            subject: "Fähre um zehn".to_owned(),
            body: "It is ferry time.\n.\nGrüße".to_owned(),
            sender: "ada".into(),
            recipients: vec!["bob".into()],
            sent_ms: 1_700_000_000_000,
            priority: Priority::High,
            attachments: vec!["1$1.0.9".into()],
        }
    }

    fn lines(message: &Message, sender: &User, to: &[&str]) -> String {
        let to: Vec<String> = to.iter().map(|address| (*address).to_owned()).collect();
        let from = "newsroom@example.org".parse().unwrap();
        String::from_utf8(build_mail(message, &from, Some(sender), &to)).unwrap()
    }

    #[test]
    fn a_mail_is_plain_ascii_and_says_who_sent_what() {
        let mut sender = User::new("ada");
        sender.full_name = "Ada \"the\" Märsh\r\nBcc: eve@example.org".to_owned();
        sender.business_email = Some("ada@example.org".to_owned());
        let mail = lines(&message(), &sender, &["bob@example.net"]);
        assert!(mail.is_ascii(), "{mail}");
        for wanted in [
            "To: bob@example.net\r\n",
            "Reply-To: ada@example.org\r\n",
            "Message-ID: <stet-7-1700000000000@example.org>\r\n",
            "X-Priority: 1\r\n",
            "MIME-Version: 1.0\r\n",
            "Auto-Submitted: auto-generated\r\n",
            "Date: Tue, 14 Nov 2023 22:13:20 +0000\r\n",
            "Content-Type: text/plain; charset=utf-8\r\n",
            "Attached: 1$1.0.9",
        ] {
            assert!(mail.contains(wanted), "{wanted} in {mail}");
        }
        let head = mail.split("\r\n\r\n").next().unwrap();
        assert!(!head.contains("\nBcc"), "{head}");
        assert!(mail.lines().all(|line| line.len() < 998));
        assert_eq!(mail, lines(&message(), &sender, &["bob@example.net"]), "the same each time");
    }

    /// A relay that accepts a carriage return as a line end could have taken it for the end of the
    /// mail.
    #[test]
    fn no_carriage_return_goes_out_alone() {
        let mut smuggler = message();
        smuggler.body = "\r.\r\nMAIL FROM:<eve@example.org>\r\na\r.\rb\n\rc".to_owned();
        let mail = lines(&smuggler, &User::new("ada"), &["bob@example.net"]);
        assert!(!mail.replace("\r\n", "").contains(['\r', '\n']), "{mail:?}");
        assert!(mail.contains("\r\n.\r\nMAIL FROM"), "the relay is spoken to with its dots doubled: {mail:?}");
    }

    #[test]
    fn mails_to_many_recipients_name_none_of_them() {
        let many: Vec<String> = (0..=NAMED).map(|number| format!("user{number}@example.net")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let mail = lines(&message(), &User::new("ada"), &many);
        assert!(!mail.contains("user0@") && mail.contains("\r\nTo: undisclosed-recipients:;\r\n"), "{mail}");
        assert_eq!(mail.matches("\r\nTo:").count(), 1);
        let mail = lines(&message(), &User::new("ada"), &many[1..]);
        assert!(mail.contains("user1@example.net") && !mail.contains("undisclosed"), "{mail}");
    }

    /// Returns the text of a subject as a mail program shows it.
    fn shown_subject(mail: &str) -> String {
        let head = mail.split("\r\n\r\n").next().unwrap().replace("\r\n ", " ");
        let line = head.lines().find_map(|line| line.strip_prefix("Subject: ")).expect("there is a subject");
        let mut shown = String::new();
        let mut after_encoded = false;
        for word in line.split(' ') {
            let encoded = word.strip_prefix("=?utf-8?b?").and_then(|rest| rest.strip_suffix("?="));
            assert!(encoded.is_none() || word.len() <= 75, "{word}");
            // Blanks between encoded words are not shown.
            if !(shown.is_empty() || after_encoded && encoded.is_some()) {
                shown.push(' ');
            }
            after_encoded = encoded.is_some();
            match encoded {
                Some(encoded) => shown += &String::from_utf8(STANDARD.decode(encoded).unwrap()).unwrap(),
                None => shown += word,
            }
        }
        shown
    }

    #[test]
    fn any_subject_comes_through_in_lines_that_a_mail_may_have() {
        for subject in [
            "Ferry".to_owned(),
            "Fähre um zehn".to_owned(),
            "Die Fähre fährt öfter. ".repeat(30).trim().to_owned(),
            "word ".repeat(300).trim().to_owned(),
            "x".repeat(5000),
            "ß".repeat(5000),
            "\u{1f6a2}".repeat(100),
        ] {
            let mail =
                lines(&Message { subject: subject.clone(), ..message() }, &User::new("ada"), &["bob@example.net"]);
            assert!(mail.is_ascii() && mail.lines().all(|line| line.len() <= 300), "{mail}");
            assert_eq!(shown_subject(&mail), subject);
        }
    }

    #[test]
    fn no_subject_and_no_name_adds_a_header() {
        for line_end in ["\r\n", "\n", "\r", "\r\n ", "\u{0}\n"] {
            let smuggled = format!("Ferry{line_end}Bcc: eve@example.org{line_end}{line_end}body");
            for long in ["", &"x".repeat(300)] {
                let mut sender = User::new("ada");
                sender.full_name = format!("{smuggled}{long}");
                let subject = format!("{smuggled}{long}");
                let mail = lines(&Message { subject, ..message() }, &sender, &["bob@example.net"]);
                let head = mail.split("\r\n\r\n").next().unwrap();
                let names: Vec<_> = head
                    .split("\r\n")
                    .filter(|line| !line.starts_with(' '))
                    .map(|line| line.split(':').next().unwrap())
                    .collect();
                assert!(!names.contains(&"Bcc") && names.contains(&"Subject") && names.len() >= 8, "{head}");
                assert!(!head.replace("\r\n", "").contains(['\r', '\n', '\0']), "{head:?}");
            }
        }
    }
}
