use super::super::model::PostState;
use super::super::story::{Story, id, post};
use super::*;
use crate::followers::FollowerOutcome;

const NEW: PostChange = PostChange::Post { step: 1, attached: false };

/// Two posts, a state, and a call in doubt that was carried out, between revisions 10 and 14.
fn story() -> (LiveblogEvidence, Vec<Box<str>>) {
    let mut story = Story::new();
    story.does(post(0), NEW).does(post(1), NEW).loses(post(0), PostChange::Edit { step: 9 }, true);
    story.does(post(1), PostChange::Set(PostState::Rejected));
    let events = [(NEW, 0), (NEW, 1), (PostChange::Edit { step: 9 }, 0), (PostChange::Set(PostState::Rejected), 1)];
    let heard = events.map(|(change, number)| event_text(change.event(), &id(post(number))).into());
    (story.ends(), heard.into())
}

fn judged(evidence: &LiveblogEvidence, heard: &[Box<str>], change: impl FnOnce(&mut FollowerOutcome)) -> LoadVerdict {
    let mut followed = FollowerOutcome { followers: 3, whole: 3, ..FollowerOutcome::default() };
    change(&mut followed);
    verdict(evidence, Some(&ReceivedEvents { what: heard, odd: &(0, None), followed: &followed }), None)
}

#[track_caller]
fn is_violated(verdict: &LoadVerdict, says: &str) {
    assert_eq!(verdict.finding, VerificationFinding::Violated);
    assert!(verdict.problems.iter().any(|problem| problem.contains(says)), "{:?}", verdict.problems);
}

#[test]
fn followers_that_heard_what_was_acknowledged_are_believed() {
    let (evidence, heard) = story();
    let verdict = judged(&evidence, &heard, |_| ());
    assert_eq!((verdict.finding, verdict.problems.len()), (VerificationFinding::Verified, 0));
    let details = verdict.details.join(" ");
    assert!(
        details.contains("All 3 followers received all 4 revisions") && details.contains("1 revision is explained"),
        "{details}"
    );
}

#[test]
fn one_that_was_let_go_is_no_fault_and_is_told() {
    let (evidence, heard) = story();
    let verdict = judged(&evidence, &heard, |followed| {
        (followed.away, followed.whole) = (1, 2);
        followed.faults.dropped.insert("x".into(), 2);
        (followed.faults.resumed, followed.faults.resets) = (1, 1);
    });
    assert_eq!(verdict.finding, VerificationFinding::Verified);
    let details = verdict.details.join(" ");
    assert!(details.contains("2 of 3 followers") && details.contains("ended 2 times"), "{details}");
}

#[test]
fn whatever_followers_were_told_wrongly_or_not_at_all_is_found() {
    let (evidence, heard) = story();
    is_violated(&judged(&evidence, &heard, |followed| followed.faults.gaps = 1), "left out");
    is_violated(&judged(&evidence, &heard, |followed| followed.faults.repeats = 1), "again");
    is_violated(
        &judged(&evidence, &heard, |followed| followed.behind.push((2, 13))),
        "follower 2, for one, ended with 13",
    );
    for (place, event, says) in [
        (1, event_text(NEW.event(), &id(post(0))), "for revision 12, which was the creation of post 0/1"),
        (3, event_text(PostChange::Remove.event(), &id(post(1))), "for revision 14"),
        // The call in doubt was another.
        (
            2,
            event_text(PostChange::Edit { step: 9 }.event(), &id(post(1))),
            "for revision 13, which was caused by an unknown call",
        ),
    ] {
        let mut heard = heard.clone();
        heard[place] = event.into();
        is_violated(&judged(&evidence, &heard, |_| ()), says);
    }
    let odd = (2, Some("an event".to_owned()));
    let followed = FollowerOutcome::default();
    is_violated(
        &verdict(&evidence, Some(&ReceivedEvents { what: &heard, odd: &odd, followed: &followed }), None),
        "2 events are impossible",
    );
    let mut evidence = evidence;
    evidence.odd.push("a reply is odd".to_owned());
    is_violated(&verdict(&evidence, None, None), "a reply is odd");
}

#[test]
fn without_an_order_the_verdict_says_so() {
    let (mut evidence, _) = story();
    evidence.counted = false;
    evidence.acked.reverse();
    let verdict = verdict(&evidence, None, Some("its replies carry no revision"));
    assert_eq!(verdict.finding, VerificationFinding::Verified, "{:?}", verdict.problems);
    assert!(verdict.method.starts_with("By client") && verdict.method.contains("no revision"));
}
