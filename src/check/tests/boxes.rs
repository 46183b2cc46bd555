//! Messages, boxes and counts.

use stet_newsroom::messages::{Message, MessageBox, MessageCopies, MessageEntry, Priority};

use super::*;
use crate::check::messages::check;

/// A message that ada has sent to bob.
fn message(number: u64) -> (Message, [MessageEntry; 2], MessageCopies) {
    let sent = Message {
        number,
        subject: "Ferry".into(),
        body: String::new(),
        sender: "ada".into(),
        recipients: vec!["bob".into()],
        sent_ms: 1,
        priority: Priority::Normal,
        attachments: Vec::new(),
    };
    let entry = |user: &str, side| MessageEntry {
        user: user.into(),
        side,
        number,
        sent_ms: 1,
        read: false,
        sender: "ada".into(),
    };
    (sent, [entry("ada", MessageBox::Outbox), entry("bob", MessageBox::Inbox)], MessageCopies { number, count: 2 })
}

/// Returns a ground with the messages 3 to 9 and all of their rows.
fn with_messages() -> Ground {
    let (ground, mut changes) = (Ground::new(), Vec::new());
    for number in 3..10 {
        let (sent, entries, copies) = message(number);
        add(&sent, &mut changes);
        entries.iter().for_each(|entry| add(entry, &mut changes));
        add(&copies, &mut changes);
    }
    ground.write(changes);
    ground
}

#[test]
fn unreferenced_messages_and_wrong_copy_counts_are_found_in_every_batch() {
    type Damage = fn(&Ground, u64);
    let damages: [(Damage, &[&str]); 7] = [
        (|_, _| (), &[]),
        (|ground, number| ground.set(message(number).1[0].place(), None), &["it is in 1 box, but copies/1 says 2"]),
        (|ground, number| ground.put(&MessageCopies { number, count: 1 }), &["it is in 2 boxes, but copies/1 says 1"]),
        (
            |ground, number| ground.set(MessageCopies::key(number), None),
            &["it is in 2 boxes, but copies/1 says nothing"],
        ),
        // As two removals left it that were counted for one box.
        (
            |ground, number| {
                [Message::key(number), MessageCopies::key(number)].into_iter().for_each(|key| ground.set(key, None));
                ground.set(message(number).1[1].place(), None);
            },
            &["ada Outbox: the message"],
        ),
        (
            |ground, number| message(number).1.iter().for_each(|entry| ground.set(entry.place(), None)),
            &["no inbox or outbox has it", "it is in 0 boxes, but copies/1 says 2"],
        ),
        (
            |ground, number| {
                ground.set(Message::key(number), None);
                ground.set(message(number).1[0].place(), Some(Bytes::from_static(b"\x01nonsense")));
                ground.set(message(number).1[1].place(), None);
            },
            &["boxes/1 ada", "copies/1 "],
        ),
    ];
    for (damage, sayings) in damages {
        for number in [3, 5, 9] {
            let ground = with_messages();
            damage(&ground, number);
            for most in [1, 2, 3, 7, 100] {
                let mut report = CheckReport::default();
                check(&ground.store, most, &mut report).unwrap();
                let found = sayings.iter().all(|saying| report.faults.iter().any(|fault| fault.contains(saying)));
                assert!(found && report.faults.len() == sayings.len(), "{number}, by {most}: {:?}", report.faults);
            }
            assert_eq!(ground.faults().len(), sayings.len(), "the check asks for it");
        }
    }
}

#[test]
fn an_entry_and_a_count_without_any_message_are_found() {
    let ground = Ground::new();
    let (_, entries, copies) = message(3);
    ground.put(&entries[1]);
    ground.put(&copies);
    ground.one_fault(&["boxes/1 bob Inbox", "does not exist"]);
    ground.one_fault(&["copies/1 ", "does not exist"]);
}
