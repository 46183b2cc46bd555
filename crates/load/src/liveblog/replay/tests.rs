use super::super::model::PostAppearance;
use super::super::story::{Story, id, post};
use super::*;

const NEW: PostChange = PostChange::Post { step: 1, attached: false };

/// Returns a story with all kinds of changes, each acknowledged.
fn story() -> Story {
    let mut story = Story::new();
    for number in 0..60 {
        story.does(post(number), PostChange::Post { step: number, attached: number % 10 == 3 });
    }
    story
        .reads(10)
        .reads(40)
        .does(post(3), PostChange::Edit { step: 100 })
        .does(post(3), PostChange::Set(PostState::Rejected));
    story.finds(post(3), PostState::Rejected).reads(70).does(post(4), PostChange::Remove).reads(70).reads(71);
    story.does(post(5), PostChange::Set(PostState::Deleted)).finds(post(3), PostState::Rejected);
    story.does(post(3), PostChange::Set(PostState::Approved)).does(post(59), PostChange::Remove).reads(11);
    story
}

/// Returns the problems that the replay finds.
fn found(evidence: &LiveblogEvidence) -> Vec<String> {
    let order = ChangeOrder::of(evidence);
    let replayed = replay(evidence, &order);
    [order.problems, replayed.problems].concat()
}

#[test]
fn an_honest_server_is_believed_and_everything_was_looked_at() {
    let evidence = story().ends();
    let order = ChangeOrder::of(&evidence);
    assert_eq!((order.made.len(), order.found.len(), order.gaps.len()), (66, 2, 0));
    let replayed = replay(&evidence, &order);
    assert_eq!(replayed, ReplayResult { problems: Vec::new(), replies: 66, reads: 12 });
}

#[test]
fn whatever_is_not_as_acknowledged_is_found() {
    let lie = |tell: &dyn Fn(&mut LiveblogEvidence), says: &str| {
        let mut evidence = story().ends();
        tell(&mut evidence);
        let found = found(&evidence);
        assert!(found.iter().any(|problem| problem.contains(says)), "{says}: {found:?}");
    };
    lie(&|all| drop(all.end.held.remove(7)), "post 0/8 is missing");
    lie(
        &|all| all.end.held.push(HeldPost { id: id(post(4)), post: Some(post(4)), look: None }),
        "although its removal",
    );
    lie(
        &|all| all.end.held.push(HeldPost { id: "1$9".into(), post: Some(post(77)), look: None }),
        "no reply acknowledged its creation",
    );
    lie(
        &|all| all.end.held.push(HeldPost { id: "1$9".into(), post: None, look: None }),
        "that the load did not create",
    );
    lie(&|all| all.end.held.push(all.end.held[0].clone()), "twice");
    lie(&|all| all.end.held[0].id = "1$9".into(), "another loid");
    lie(&|all| all.end.counts[1] += 1, "said to be approved");
    lie(&|all| all.end.total += 1, "said to be there");
    let change = |at: usize, change: fn(&mut PostAppearance)| {
        move |all: &mut LiveblogEvidence| change(all.end.held[at].look.as_mut().unwrap())
    };
    lie(&change(0, |look| look.status = PostState::Pending), "post 0/0 is pending");
    lie(&change(0, |look| look.step = None), "a text that no client wrote");
    lie(&change(3, |look| look.step = Some(3)), "and should be approved with text 100");
    lie(&change(3, |look| look.attached = false), "without attachment");
    // Replies.
    lie(&|all| all.acked[9].revision += 1, "has revision");
    lie(&|all| all.acked.retain(|acked| acked.revision != 50), "made by no acknowledged call");
    lie(&|all| all.acked[30].look.as_mut().unwrap().step = None, "shows it");
    lie(&|all| all.acked.push(PostAck { post: post(9), ..all.acked[30] }), "was returned to");
    lie(&|all| all.acked[30].changed -= 1, "and a last change at");
    lie(&|all| all.end.revision += 1, "made by no acknowledged call");
    lie(&|all| all.end.revision -= 1, "which is not between");
    lie(&|all| all.denied.push((post(3), PostChange::Remove)), "no call removed it");
    // Reads.
    lie(&|all| all.polled[1].print ^= 1, "the changes reported after revision 40");
    lie(&|all| all.polled[3].since -= 1, "the changes reported after");
    lie(&|all| all.listed[2].print ^= 1, "the newest posts");
    lie(&|all| all.listed[2].counts[1] -= 1, "counts");
    lie(&|all| all.listed[2].whole = false, "counts");
}

#[test]
fn a_refusal_of_what_was_taken_out_is_right() {
    let mut evidence = story().ends();
    evidence.denied.push((post(4), PostChange::Set(PostState::Approved)));
    assert_eq!(found(&evidence), Vec::<String>::new());
}

#[test]
fn equal_changes_at_one_revision_count_as_one_and_different_ones_do_not() {
    let mut story = Story::new();
    story.does(post(0), NEW).does(post(0), PostChange::Set(PostState::Rejected)).finds(post(0), PostState::Rejected);
    assert_eq!(found(&story.ends()), Vec::<String>::new());
    let mut evidence = story.ends();
    evidence.acked[0].change = PostChange::Set(PostState::Deleted);
    evidence.acked[0].look.as_mut().unwrap().status = PostState::Deleted;
    assert!(!found(&evidence).is_empty());
}

#[test]
fn either_outcome_of_a_call_in_doubt_is_right_and_no_third() {
    for done in [true, false] {
        for change in [PostChange::Edit { step: 7 }, PostChange::Set(PostState::Deleted), PostChange::Remove] {
            let mut story = story();
            story.loses(post(8), change, done).does(post(9), PostChange::Edit { step: 200 });
            assert_eq!(found(&story.ends()), Vec::<String>::new(), "{change:?} {done}");
            let mut evidence = story.ends();
            let at = evidence.end.held.iter().position(|held| held.post == Some(post(8)));
            if let Some(at) = at {
                evidence.end.held[at].look.as_mut().unwrap().step = Some(1000);
                assert!(!found(&evidence).is_empty(), "{change:?} {done}");
            }
            if change != PostChange::Remove {
                let mut evidence = story.ends();
                evidence.end.held.retain(|held| held.post != Some(post(8)));
                assert!(found(&evidence).iter().any(|problem| problem.contains("0/8 is missing")));
            }
        }
        let mut story = story();
        story.loses(post(90), NEW, done);
        assert_eq!(found(&story.ends()), Vec::<String>::new(), "{done}");
        let mut evidence = story.ends();
        evidence.end.revision += 1 + u64::from(!done);
        assert!(found(&evidence).iter().any(|problem| problem.contains("made by no acknowledged call")), "{done}");
        if done {
            let mut evidence = story.ends();
            evidence.end.held.last_mut().unwrap().look.as_mut().unwrap().status = PostState::Deleted;
            assert!(found(&evidence).iter().any(|problem| problem.contains("not as it was sent")));
        }
    }
}

/// Checks that reads after an unknown revision prove nothing, and those before it do.
#[test]
fn reads_are_looked_at_as_long_as_all_is_known() {
    let mut story = story();
    story.loses(post(8), PostChange::Edit { step: 7 }, true).reads(11);
    let mut evidence = story.ends();
    assert_eq!(replay(&evidence, &ChangeOrder::of(&evidence)).reads, 12);
    evidence.polled.last_mut().unwrap().print ^= 1;
    assert_eq!(found(&evidence), Vec::<String>::new());
    evidence.polled[0].print ^= 1;
    assert!(!found(&evidence).is_empty());
}

/// Covers a server without revisions, where only the order of each client's replies is known.
#[test]
fn without_revisions_the_end_is_held_against_what_each_client_did() {
    let uncounted = || {
        let mut story = story();
        story.evidence.acked.retain(|acked| acked.changed == acked.revision);
        let mut evidence = story.ends();
        evidence.acked.reverse();
        evidence.counted = false;
        for acked in &mut evidence.acked {
            (acked.revision, acked.changed) = (0, 0);
        }
        evidence
    };
    assert_eq!(found(&uncounted()), Vec::<String>::new());
    let mut evidence = uncounted();
    evidence.end.held.remove(7);
    assert!(found(&evidence).iter().any(|problem| problem.contains("0/8 is missing")));
    let mut evidence = uncounted();
    evidence.end.held[0].look.as_mut().unwrap().status = PostState::Deleted;
    assert!(found(&evidence).iter().any(|problem| problem.contains("0/0 is deleted")));
}
