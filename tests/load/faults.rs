//! Faults in the use of the command, and in the servers that it talks to.

use super::*;

#[test]
fn faults_of_use_are_told_by_name_with_the_codes_of_the_manual() {
    let shared = Server::shared();
    for (base, options, code, parts) in [
        ("http://127.0.0.1:1", &[][..], 1, &["127.0.0.1", "reached"][..]),
        ("ftp://somewhere", &[], 2, &["url", "ftp://somewhere"]),
        (&shared.base, &["--user", "nobody"], 1, &["nobody", "InvalidLogin"]),
        (&shared.base, &["--clients", "0"], 2, &["clients", "0"]),
        (&shared.base, &["--mix", "nap=1"], 2, &["mix", "nap"]),
        (&shared.base, &["--mix", "move=1", "--drawers", "1"], 2, &["move", "drawers"]),
        (&shared.base, &["--password-file", "/nowhere"], 2, &["password-file", "/nowhere"]),
        (&format!("{}/elsewhere", shared.base), &[], 1, &["NoSuchEndpoint"]),
    ] {
        let mut load = Load::of(base, options);
        let said = load.ends(code);
        assert!(parts.iter().all(|part| said.contains(part)), "{options:?}: {said}");
        assert!(!said.contains(ADMIN_PASSWORD), "{said}");
        assert!(!load.report().join("report.json").exists());
    }
    let mut load = Load::of(&shared.base, &[]);
    load.command.env_remove("STET_LOAD_PASSWORD");
    assert!(load.ends(2).contains("STET_LOAD_PASSWORD"));
}

#[test]
fn load_clients_use_tls_below_a_base_path_and_trust_only_the_given_ca() {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("one can be made");
    let files = TempDir::new().expect("a temporary directory can be made");
    let write = |name: &str, text: String| {
        let path = files.path().join(name);
        std::fs::write(&path, text).expect("it can be written");
        path.to_str().expect("the path is a text").to_owned()
    };
    let (certificate, key) = (write("a.pem", made.cert.pem()), write("b.pem", made.signing_key.serialize_pem()));
    let server = Server::with(&[
        ("SERVER__TLS__CERTIFICATE", &certificate),
        ("SERVER__TLS__KEY", &key),
        ("SERVER__BASE_PATH", "/swing/api/rest"),
    ]);
    let base = format!("{}/swing/api/rest", server.base.replace("127.0.0.1", "localhost"));
    let options = ["--count", "30", "--clients", "2", "--objects", "8", "--capacity", "4"];
    Load::of(&base, &[&options[..], &["--ca", &certificate]].concat()).verified();
    let liveblog = ["--count", "30", "--clients", "2", "--followers", "3", "--ca", &certificate];
    Load::scenario("liveblog", &base, &liveblog).verified();
    let said = Load::of(&base, &options).ends(1);
    assert!(said.contains("can't be reached") && said.contains("certificate"), "{said}");
    let said = Load::of(&base, &["--ca", "/nowhere.pem"]).ends(2);
    assert!(said.contains("`ca`") && said.contains("/nowhere.pem"), "{said}");
}

#[test]
fn a_user_without_rights_is_told_which_call_was_refused() {
    let server = Server::start();
    let admin = server.login("admin");
    let user = json!({ "name": "guest", "password": "guest-password-1", "groups": [] });
    assert_eq!(admin.post("/v3/user", &user).status, 200);
    let mut load = Load::of(&server.base, &["--user", "guest"]);
    load.command.env("STET_LOAD_PASSWORD", "guest-password-1");
    let said = load.ends(1);
    assert!(said.contains("PermissionDenied"), "{said}");
}
