//! Callers of every kind on objects that are theirs to change, theirs to read, and not theirs to
//! know of (docs/api/rights.md).

use serde_json::json;

use super::*;

/// Folders that a desk may work in, may read, and may not see.
pub const OWN: &str = "/Desks/Own";
pub const FOREIGN: &str = "/Desks/Foreign";
pub const HIDDEN: &str = "/Hidden";

fn denied(answer: &Answer) -> bool {
    matches!(answer.status, 401 | 403) && code(answer) == "PermissionDenied"
}

/// Returns the objects of a call, as a user with all rights sees them.
fn state(corner: &Corner, made: &Made) -> Vec<Value> {
    let objects = made.objects().into_iter();
    objects.map(|(loid, ..)| lasting(&corner.client.call("object-get", &[&loid]).send()).1).collect()
}

#[test]
fn endpoints_refuse_calls_without_a_token_or_with_a_wrong_one() {
    on_each(
        70,
        |endpoint| endpoint.token == "required",
        |faults, case, corner| {
            let made = Made { by: None, ..(case.make)(corner) };
            let before = state(corner, &made);
            let nobody = Server::shared().client();
            let mut stranger = nobody.clone();
            stranger.token = Some("wrong".to_owned());
            for client in [&nobody, &stranger] {
                let answer = made.call(client, case.id).send();
                let asks = answer.header("www-authenticate").is_some_and(|value| value.starts_with("Bearer"));
                let well = answer.status == 401 && code(&answer) == "InvalidToken" && asks;
                faults.expect(well, || format!("{}: {:?}", case.id, lasting(&answer)));
            }
            faults.expect(state(corner, &made) == before, || format!("{}: something changed", case.id));
        },
    );
}

/// The privileges that a user of the sample holds everywhere.
pub fn held_by(user: &str) -> Vec<String> {
    let body = json!({ "connectionId": "Editorial", "applicationId": "test", "username": user,
        "password": SAMPLE_PASSWORD, "options": { "showPrivileges": true } });
    let login = Server::shared().client().call("auth-login-post", &[]).json(&body).ok();
    let held = login["privileges"].as_array().expect("privileges were asked for").iter();
    held.map(|privilege| privilege.as_str().expect("a privilege has a name").to_owned()).collect()
}

#[test]
fn each_role_of_the_sample_gets_what_its_groups_allow_and_no_more() {
    let users = ["editor", "reporter", "contributor", "reader"].map(|user| (user, held_by(user)));
    on_each(
        70,
        |endpoint| endpoint.privilege.is_some(),
        |faults, case, corner| {
            let endpoint = case.endpoint();
            let privilege = endpoint.privilege.as_deref().unwrap_or_default();
            for (user, held) in &users {
                let holds = |wanted: &str| held.iter().any(|known| known == wanted);
                // Objects named in a body are checked one by one, and a creator may change what
                // they created. Only a move is refused as a whole. Posts of other users are changed
                // by moderators.
                let by_name = matches!(privilege, "write" | "delete")
                    && holds("create")
                    && endpoint.scope == "named"
                    && endpoint.id != "topic-move-put"
                    && !endpoint.takes("loid")
                    && !endpoint.takes("source");
                let of_others = privilege == "create" && endpoint.path.contains("/{post}") && !holds("moderate");
                let allowed = (holds(privilege) || by_name) && !of_others;
                let made = (case.make)(corner);
                let before = state(corner, &made);
                let answer = made.call(&Server::shared().user(user), case.id).send();
                let fault = || format!("{user} {}: {:?}", case.id, lasting(&answer));
                faults.expect(denied(&answer) != allowed, fault);
                if allowed {
                    continue;
                }
                let status = if endpoint.older() { 401 } else { 403 };
                let json = answer.json();
                let message = json["result"]["message"].as_str().or(json["message"].as_str()).unwrap_or_default();
                let about = made.objects().into_iter().any(|(loid, ..)| message.contains(&loid));
                let named = message.contains(*user) && (holds(privilege) || message.contains(privilege));
                let named = named && (about || endpoint.scope != "path");
                faults.expect(answer.status == status && named, fault);
                faults.expect(status != 401 || answer.header("www-authenticate").is_some(), fault);
                faults.expect(state(corner, &made) == before, || format!("{user} {}: something changed", case.id));
            }
        },
    );
}

#[test]
fn creators_of_an_object_may_change_and_discard_it() {
    let owned = |endpoint: &Endpoint| {
        let by_owner = matches!(endpoint.privilege.as_deref(), Some("write" | "delete")) && endpoint.scope == "path";
        by_owner && !endpoint.path.contains("/folder/")
    };
    // Cases for a user who may create and not write.
    let contributor = Server::shared().user("contributor");
    on_each(10, owned, |faults, case, corner| {
        let own = Corner { client: contributor.clone(), folder: corner.folder.clone() };
        // Filling a drawer changes it, so what needs items can only be made of one's own drawer:
        // which this shows, too.
        let made = (case.make)(&own);
        let answer = made.call(&contributor, case.id).send();
        faults.expect(answer.status == 200, || format!("{}: {:?}", case.id, lasting(&answer)));
    });
}

/// A server whose `reporter` is in a group that has nothing but rights below folders.
pub fn newsroom() -> (Server, Client) {
    let server = Server::start();
    let admin = server.user("admin");
    for path in [OWN, FOREIGN, HIDDEN] {
        admin.call("folder-post", &[]).json(&json!({ "path": path })).ok();
    }
    let mut privileges = vec![json!({ "privilege": "read", "folder": FOREIGN })];
    for privilege in ["read", "create", "write", "delete", "destroy", "moderate", "forceUnlock"] {
        privileges.push(json!({ "privilege": privilege, "folder": OWN }));
    }
    // No privilege for the server as a whole comes of a folder.
    for privilege in ["manageGroups", "configure"] {
        privileges.push(json!({ "privilege": privilege, "folder": OWN }));
    }
    let desk = json!({ "groupName": "desk", "members": ["reporter"], "privileges": privileges });
    admin.call("group-create-post", &[]).json(&desk).ok();
    admin.call("group-update-post", &[]).json(&json!({ "groupName": "reporters", "members": [] })).ok();
    let reporter = server.user("reporter");
    (server, reporter)
}

/// A reply, with the sources of the call out of it.
fn said(answer: &Answer, made: &Made) -> (u16, String) {
    let (status, json) = lasting(answer);
    let objects = made.objects().into_iter();
    (status, objects.fold(json.to_string(), |text, (loid, ..)| text.replace(&loid, "*").replace(NOWHERE, "*")))
}

#[test]
fn each_endpoint_is_denied_hidden_or_allowed_by_the_objects_folder() {
    let (server, reporter) = newsroom();
    let corner = |folder: &str| Corner::of(&server, folder.to_owned());
    let [own, foreign, hidden] = [OWN, FOREIGN, HIDDEN].map(corner);
    let about = |endpoint: &Endpoint| endpoint.privilege.is_some() && endpoint.scope == "path";
    on_each(44, about, |faults, case, _| {
        let privilege = case.endpoint().privilege.as_deref().unwrap_or_default();
        let made = (case.make)(&hidden);
        let before = state(&hidden, &made);
        let answer = made.call(&reporter, case.id).send();
        let mut objects = made.objects();
        let (.., replaced) = objects.swap_remove(0);
        let missing = replaced(NOWHERE);
        let nothing = missing.call(&reporter, case.id).send();
        let template = made.about().is_some_and(|about| about.starts_with("/SysConfig/"));
        let same = answer.status == 404 && said(&answer, &made) == said(&nothing, &made);
        faults
            .expect(template || same, || format!("{} hidden: {:?} {:?}", case.id, lasting(&answer), lasting(&nothing)));
        faults.expect(answer.header("etag").is_none(), || format!("{}: an ETag of what is hidden", case.id));
        faults.expect(state(&hidden, &made) == before, || format!("{} hidden: something changed", case.id));

        let made = (case.make)(&foreign);
        let before = state(&foreign, &made);
        let answer = made.call(&reporter, case.id).send();
        let well = if privilege == "read" { answer.status == 200 } else { denied(&answer) };
        faults.expect(well, || format!("{} foreign: {:?}", case.id, lasting(&answer)));
        let unchanged = state(&foreign, &made) == before;
        faults.expect(unchanged, || format!("{} foreign: something changed", case.id));

        let made = (case.make)(&own);
        let answer = made.call(&reporter, case.id).send();
        let locked = case.id == "stet-object-unlock-post" && answer.status == 403 && !denied(&answer);
        // Whoever has changed nothing has nothing to undo.
        let unchanged = case.id == "stet-undo-post" && code(&answer) == "ObjectNotFound";
        faults
            .expect(answer.status == 200 || locked || unchanged, || format!("{} own: {:?}", case.id, lasting(&answer)));
    });
}

#[test]
fn creations_need_the_create_privilege_in_their_folder() {
    let (server, reporter) = newsroom();
    let about = |endpoint: &Endpoint| {
        // Two go where the configuration says, and into the home; a message lies in no folder.
        endpoint.privilege.as_deref() == Some("create")
            && endpoint.scope == "named"
            && !["drawer-automatic-post", "stet-print-story-preview-post"].contains(&&*endpoint.id)
            && !SENDS_MESSAGES.contains(&endpoint.id.as_str())
    };
    on_each(4, about, |faults, case, _| {
        for (folder, allowed) in [(OWN, true), (FOREIGN, false), (HIDDEN, false)] {
            let corner = Corner::of(&server, folder.to_owned());
            let entries = || corner.client.call("folder-get", &[&folder]).ok()["total"].clone();
            let made = (case.make)(&corner);
            let before = entries();
            let answer = made.call(&reporter, case.id).send();
            // The template can be read only by users who may read everything.
            let template = case.endpoint().path.contains("/template") && code(&answer) == "TemplateNotFound";
            let refused = denied(&answer) || matches!(code(&answer).as_str(), "ObjectNotFound");
            let well = template || if allowed { answer.status == 200 } else { refused };
            faults.expect(well, || format!("{} in {folder}: {:?}", case.id, lasting(&answer)));
            let same = entries() == before;
            faults.expect(same != (allowed && !template), || format!("{} in {folder}: entries", case.id));
        }
    });
}

#[test]
fn server_wide_calls_are_denied_to_grants_below_a_folder() {
    let (server, reporter) = newsroom();
    let corner = Corner::of(&server, OWN.to_owned());
    on_each(
        11,
        |endpoint| endpoint.scope == "server",
        |faults, case, _| {
            let answer = (case.make)(&corner).call(&reporter, case.id).send();
            faults.expect(denied(&answer), || format!("{}: {:?}", case.id, lasting(&answer)));
        },
    );
}
