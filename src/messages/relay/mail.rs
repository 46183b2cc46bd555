//! A message as a mail (RFC 5322).

use std::time::{Duration, UNIX_EPOCH};

use lettre::Address;
use lettre::address::Envelope;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Mailbox, MessageBuilder};

use super::address_of;
use crate::auth::User;
use crate::messages::rows::{Message, Priority};

/// Addresses that a mail names at most: with more, it names none.
const NAMED: usize = 20;

/// The mail, of lines that end in CR LF, in ASCII. Whoever sends it again writes the same `Message-ID`.
pub(super) fn written(message: &Message, from: &Address, sender: Option<&User>, to: &[String]) -> Vec<u8> {
    let name =
        sender.map(|user| if user.full_name.is_empty() { user.name.to_string() } else { user.full_name.clone() });
    let name = name.unwrap_or_else(|| message.sender.to_string());
    let id = format!("<stet-{}-{}@{}>", message.number, message.sent_ms, from.domain());
    let mut mail = MessageBuilder::new()
        .from(Mailbox::new(Some(name.replace(char::is_control, " ")), from.clone()))
        .message_id(Some(id))
        .date(UNIX_EPOCH + Duration::from_millis(message.sent_ms))
        .subject(message.subject.clone())
        .header(ContentType::TEXT_PLAIN);
    if let Some(address) = sender.and_then(address_of) {
        mail = mail.reply_to(Mailbox::new(None, address));
    }
    let addresses: Vec<Address> = to.iter().filter_map(|address| address.parse().ok()).collect();
    if addresses.len() <= NAMED {
        for address in &addresses {
            mail = mail.to(Mailbox::new(None, address.clone()));
        }
    }
    // It is not for the header to say whom the mail goes to.
    if let Ok(envelope) = Envelope::new(Some(from.clone()), addresses) {
        mail = mail.envelope(envelope);
    }
    let urgency = match message.priority {
        Priority::Low => "5",
        Priority::Normal => "3",
        Priority::High => "1",
    };
    let made = mail.body(text(message));
    // Nothing else is missing than who it is from, and that is there; if it were, the relay would refuse an empty mail.
    let Ok(mut made) = made else { return Vec::new() };
    let priority = HeaderName::new_from_ascii_str("X-Priority");
    made.headers_mut().insert_raw(HeaderValue::new(priority, urgency.to_owned()));
    made.formatted()
}

/// What it says: the text, and which objects go with it. They stay where they are, for rights hold there alone.
fn text(message: &Message) -> String {
    // A line end of any kind is one: on its way a carriage return alone might pass for what ends the mail (RFC 5321, 2.3.8).
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
        String::from_utf8(written(message, &from, Some(sender), &to)).unwrap()
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
            "Attached: 1$1.0.9",
        ] {
            assert!(mail.contains(wanted), "{wanted} in {mail}");
        }
        let head = mail.split("\r\n\r\n").next().unwrap();
        assert!(!head.contains("\nBcc"), "{head}");
        assert!(mail.lines().all(|line| line.len() < 998));
        assert_eq!(mail, lines(&message(), &sender, &["bob@example.net"]), "the same each time");
    }

    /// To a relay that takes a carriage return for a line end, it could have ended the mail.
    #[test]
    fn no_carriage_return_goes_out_alone() {
        let mut smuggler = message();
        smuggler.body = "\r.\r\nMAIL FROM:<eve@example.org>\r\na\r.\rb\n\rc".to_owned();
        let mail = lines(&smuggler, &User::new("ada"), &["bob@example.net"]);
        assert!(!mail.replace("\r\n", "").contains(['\r', '\n']), "{mail:?}");
        assert!(mail.contains("\r\n.\r\nMAIL FROM"), "the relay is spoken to with its dots doubled: {mail:?}");
    }

    #[test]
    fn of_many_receivers_none_is_named() {
        let many: Vec<String> = (0..=NAMED).map(|number| format!("user{number}@example.net")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let mail = lines(&message(), &User::new("ada"), &many);
        assert!(!mail.contains("user0@") && !mail.contains("\nTo:"), "{mail}");
    }
}
