//! `server.base_path`: for clients whose base address is fixed.

use super::*;

const BASE: &str = "/swing/api/rest";

#[test]
fn everything_is_below_the_base_path_and_nothing_outside_but_the_probes() {
    let server = Server::with(&[("SERVER__BASE_PATH", BASE)]);
    let answer = server.client().post(&format!("{BASE}/v3/auth/login"), &credentials("editor", SAMPLE_PASSWORD));
    let cookie = answer.header("set-cookie").expect("a cookie is set").to_owned();
    assert!(cookie.contains(&format!("; Path={BASE};")), "{cookie}");
    let client = server.client_with(&answer.ok()["token"]["value"]);
    client.get(&format!("{BASE}/v3/folder/home")).ok();
    assert_eq!(error_of(&client.get(&format!("{BASE}/conf/nowhere")), true)["code"], "CMS.NoSuchEndpoint");
    let form = format!("connectionId=Editorial&applicationId=test&username=editor&pwd={SAMPLE_PASSWORD}");
    let form_type = [("content-type", "application/x-www-form-urlencoded")];
    let older = server.client().send("POST", &format!("{BASE}/auth/login"), &form_type, form.as_bytes());
    assert_eq!(older.status, 200);

    for path in [
        "/v3/folder/home",
        "/v3/auth/login",
        "/auth/login",
        BASE,
        "/swing/api/rest/",
        "/swing/api/restv3/folder/home",
        "/Swing/api/rest/v3/folder/home",
        "/swing/api/rest/swing/api/rest/v3/folder/home",
    ] {
        let answer = client.get(path);
        assert_eq!(answer.status, 404, "{path}");
        let body = String::from_utf8_lossy(&answer.body);
        assert!(body.contains("CMS.NoSuchEndpoint") && body.contains(path), "{path}: {body}");
    }
    for (path, status) in
        [("/", 307), ("/docs/", 200), ("/healthz", 200), ("/readyz", 200), ("/metrics", 200), ("/openapi.json", 200)]
    {
        assert_eq!(server.client().get(path).status, status, "{path}");
        assert_eq!(client.get(&format!("{BASE}{path}")).status, 404, "{path}");
        let refused = server.client().send("POST", path, &[], b"");
        assert_eq!((refused.status, refused.header("allow")), (405, Some("GET, HEAD")), "{path}");
    }
    let hinted = client.get(&format!("{BASE}/v3/folder/News/City")).fails(404, "NoSuchEndpoint");
    says(&hinted, &format!("`{BASE}/v3/folder/%2FNews%2FCity`"));
    assert_eq!(server.client().get("/openapi.json").json()["servers"][0]["url"], BASE);
}
