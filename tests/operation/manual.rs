//! `stet completions`, `stet man`: that they know every command.

use super::*;

#[test]
fn shells_complete_every_command() {
    let names = |run: &Run| {
        let help = run.out.split_once("Commands:\n").map(|(_, rest)| rest).unwrap_or_default();
        let lines = help.lines().take_while(|line| !line.is_empty()).map(str::trim_start);
        let names = lines.filter_map(|line| line.split(' ').next()).filter(|name| *name != "help").map(str::to_owned);
        names.collect::<Vec<_>>()
    };
    let top = names(&run(stet(&["--help"])));
    assert!(top.len() > 14, "{top:?}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(stet(&["completions", shell]));
        assert_eq!((script.code, script.err.as_str()), (Some(0), ""), "{shell}");
        for name in &top {
            assert!(script.out.contains(name.as_str()), "{shell}: {name}");
            for below in names(&run(stet(&[name, "--help"]))) {
                assert!(script.out.contains(&below), "{shell}: {name} {below}");
            }
        }
        for option in ["--accept-loss", "--no-privileges", "--force"] {
            let option = if shell == "fish" { &option[2..] } else { option };
            assert!(script.out.contains(option), "{shell}: {option}");
        }
    }
    assert_eq!(run(stet(&["completions", "cmd"])).code, Some(2));
    // What the shell itself says of it.
    let bash = run(stet(&["completions", "bash"])).out;
    let mut shell = Command::new("bash");
    let words = "COMP_WORDS=(stet group le); COMP_CWORD=2; _stet stet le group; echo \"${COMPREPLY[@]}\"";
    // The system limits the length of an argument.
    let script = tempfile::NamedTempFile::new().expect("a temporary file can be made");
    std::fs::write(script.path(), format!("{bash}\n{words}")).expect("a file can be written");
    shell.arg(script.path());
    assert_eq!(run(shell).out, "leave\n");
}

#[test]
fn every_command_has_its_page_of_the_manual() {
    let home = TempDir::new().expect("a temporary directory can be made");
    let folder = home.path().join("man1");
    let written = run(stet(&["man", "--dir", path(&folder)]));
    assert_eq!((written.code, written.out.as_str(), written.err.as_str()), (Some(0), "", ""));
    let page = |name: &str| std::fs::read_to_string(folder.join(name)).expect("the page is there");
    for name in
        ["stet.1", "stet-serve.1", "stet-user-passwd.1", "stet-group-leave.1", "stet-doctor.1", "stet-config-check.1"]
    {
        assert!(page(name).contains(".TH "), "{name}");
    }
    // A configuration that can't be read is nothing to them.
    let mut printed = stet(&["man", "user", "passwd"]);
    printed.env("STET_MEMORY__LIMIT_BYTES", "much");
    assert_eq!(run(printed).out, page("stet-user-passwd.1"));
    assert_eq!(run(stet(&["man"])).out, page("stet.1"));
    let unknown = run(stet(&["man", "user", "fly"]));
    assert_eq!(unknown.code, Some(2), "{}", unknown.err);
    assert!(unknown.err.contains("user fly"), "{}", unknown.err);
    std::fs::write(home.path().join("file"), "x").expect("it can be written");
    let unwritten = run(stet(&["man", "--dir", path(&home.path().join("file"))]));
    assert_eq!(unwritten.code, Some(1), "{}", unwritten.err);
}
