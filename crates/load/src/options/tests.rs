use clap::{CommandFactory, Parser};

use super::*;
use crate::flags::{DrawerArgs, LiveblogArgs, TopicArgs};

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: DrawerArgs,
}

#[derive(Parser)]
struct LiveblogLine {
    #[command(flatten)]
    args: LiveblogArgs,
}

#[derive(Parser)]
struct TopicLine {
    #[command(flatten)]
    args: TopicArgs,
}

fn of(line: &[&str]) -> Result<LoadSettings, String> {
    let words = ["x"].iter().chain(line);
    LoadSettings::of(&Line::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).args)
}

fn of_liveblog(line: &[&str]) -> Result<LoadSettings, String> {
    let words = ["x"].iter().chain(line);
    LoadSettings::of(&LiveblogLine::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).args)
}

fn file(text: &str) -> tempfile::NamedTempFile {
    use std::io::Write;
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

fn with_file(text: &str, line: &[&str]) -> Result<LoadSettings, String> {
    let file = file(text);
    of(&[&["--file", file.path().to_str().unwrap()], line].concat())
}

#[test]
fn flags_win_over_the_file_and_the_file_over_the_defaults() {
    let text =
        "clients = 8\nseed = 7\nduration = \"2m\"\nmix = { read = 3, add = 1 }\n[drawer]\ndrawers = 2\nskew = 0.5\n";
    let settings = with_file(text, &["--seed", "9", "--drawers", "3", "--mix", "add=5"]).unwrap();
    assert_eq!((settings.clients(), settings.seed), (8, 9));
    assert_eq!(settings.length(), Some(Duration::from_secs(120)));
    assert_eq!((settings.drawer.drawers, settings.drawer.skew, settings.drawer.capacity), (3, 0.5, 50));
    assert_eq!(settings.mix.unwrap().weights(&["read", "add"]).unwrap(), [0, 5], "a mix is taken whole");
    let password = with_file("password-file = \"a\"\n", &["--password-file", "b"]).unwrap().password_file;
    assert_eq!(password, Some("b".into()));
    let text = "fail-if = [\"p99>5s\", \"failed>1%\"]\ncompare = \"a\"\nnote = [\"n\"]\n";
    let kept = with_file(text, &[]).unwrap();
    assert_eq!(
        (kept.fail_if, kept.compare, kept.note),
        (vec!["p99>5s".into(), "failed>1%".into()], Some("a".into()), vec!["n".into()])
    );
    let conditions = with_file(text, &["--fail-if", "max>1s", "--fail-if", "rate<9"]).unwrap().fail_if;
    assert_eq!(conditions, ["max>1s", "rate<9"], "conditions are taken whole");
    let defaults = of(&[]).unwrap();
    assert_eq!((defaults.clients(), defaults.length()), (16, Some(Duration::from_secs(30))));
    assert_eq!(of(&["--count", "10"]).unwrap().length(), None);
    let hot = with_file("duration = \"2m\"\n[drawer]\ndrawers = 9\n", &["--hot", "--seconds", "20"]).unwrap();
    assert_eq!((hot.drawer.drawers, hot.length()), (1, Some(Duration::from_secs(20))));
    assert!(!of(&[]).unwrap().is_open() && of(&["--rate", "5"]).unwrap().is_open());
    let ramp = of(&["--ramp", "0s:1,10s:64"]).unwrap();
    assert_eq!((ramp.clients(), ramp.is_open()), (64, false));
    assert!(with_file("ramp = \"0s:1,10s:640\"\nopen = true\n", &[]).unwrap().is_open());
}

/// The example of the manual is a file that can be used.
#[test]
fn the_manual_has_every_key_and_its_example_can_be_used() {
    let manual = include_str!("../../../../docs/LOAD.md");
    let examples: Vec<_> = manual.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(examples.len(), 3);
    for example in examples {
        with_file(example, &[]).unwrap();
    }
    let commands = [Line::command(), LiveblogLine::command(), TopicLine::command()];
    for command in commands {
        let flags: Vec<_> = command.get_arguments().filter_map(clap::Arg::get_long).collect();
        assert!(flags.len() > 20, "{flags:?}");
        for flag in flags {
            assert!(manual.contains(&format!("`{flag}`")), "`{flag}` is not in the manual");
        }
    }
}

#[test]
fn a_file_has_sections_for_each_scenario_and_flags_win() {
    let text = "clients = 3\n[drawer]\ndrawers = 9\n[liveblog]\nfollowers = 7\ntext-bytes = 90\n";
    let file = file(text);
    let path = file.path().to_str().unwrap();
    let settings = of_liveblog(&["--file", path, "--followers", "8", "--attachment-bytes", "0"]).unwrap();
    assert_eq!((settings.clients(), settings.drawer.drawers), (3, 9));
    let own = &settings.liveblog;
    assert_eq!((own.followers, own.text_bytes, own.attachment_bytes), (8, 90, 0));
    let defaults = of_liveblog(&[]).unwrap().liveblog;
    assert_eq!((defaults.followers, defaults.text_bytes, defaults.attachment_bytes), (100, 400, 2000));
    let threads = |line: &[&str]| of_liveblog(line).unwrap().liveblog.follower_threads();
    assert_eq!(
        (threads(&["--follower-threads", "3"]), threads(&["--follower-threads", "3", "--followers", "2"])),
        (3, 2)
    );
    assert_eq!(threads(&["--followers", "0"]), 0);
    let words = ["x", "--topics", "7", "--own", "3"];
    let topics =
        LoadSettings::of(&TopicLine::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).args).unwrap();
    assert_eq!((topics.topic.topics, topics.topic.own, topics.topic.fill), (7, 3, 50));
    for (line, parts) in [
        (["--followers", "20001"], ["liveblog.followers", "20001"]),
        (["--follower-threads", "0"], ["liveblog.follower-threads", "0"]),
        (["--text-bytes", "0"], ["liveblog.text-bytes", "0"]),
        (["--text-bytes", "16385"], ["liveblog.text-bytes", "16385"]),
        (["--attachment-bytes", "1000001"], ["liveblog.attachment-bytes", "1000001"]),
    ] {
        let error = of_liveblog(&line).expect_err(&line.join(" "));
        assert!(parts.iter().all(|part| error.contains(part)), "{line:?}: {error}");
    }
}

#[test]
fn invalid_load_settings_are_refused_by_name_and_value() {
    for (line, parts) in [
        (&["--clients", "0"][..], &["clients", "0"][..]),
        (&["--clients", "20001"], &["clients", "20001"]),
        (&["--threads", "0"], &["threads", "0"]),
        (&["--rate", "0"], &["rate", "0"]),
        (&["--count", "0"], &["count", "0"]),
        (&["--duration", "soon"], &["duration", "soon"]),
        (&["--duration", "0s"], &["duration", "0"]),
        (&["--timeout", "2h"], &["timeout"]),
        (&["--mix", "read"], &["mix", "read"]),
        (&["--mix", "read=-1"], &["mix", "read=-1"]),
        (&["--ramp", "5"], &["ramp", "5"]),
        (&["--ramp", "0s:30000"], &["ramp", "30000"]),
        (&["--ramp", "0s:3", "--clients", "3"], &["ramp", "clients"]),
        (&["--ramp", "0s:3", "--count", "3"], &["ramp", "count"]),
        (&["--ramp", "0s:3", "--rate", "3"], &["ramp", "rate"]),
        (&["--open"], &["open", "rate"]),
        (&["--folder", "here"], &["folder", "here"]),
        (&["--drawers", "0"], &["drawer.drawers", "0"]),
        (&["--skew", "11"], &["drawer.skew", "11"]),
        (&["--skew", "NaN"], &["drawer.skew"]),
        (&["--capacity", "10001"], &["drawer.capacity", "10001"]),
        (&["--objects", "0"], &["drawer.objects", "0"]),
        (&["--fill", "51"], &["drawer.fill", "51"]),
        (&["--file", "/nowhere/load.toml"], &["/nowhere/load.toml"]),
    ] {
        let error = of(line).expect_err(&line.join(" "));
        assert!(!error.contains(".rs"), "where it was found in the code is nobody's business: {error}");
        assert!(parts.iter().all(|part| error.contains(part)), "{line:?}: {error}");
    }
    for (text, part) in
        [("speed = 3\n", "speed"), ("[drawer]\nwidth = 3\n", "width"), ("clients = \"many\"\n", "clients")]
    {
        let error = with_file(text, &[]).expect_err(text);
        assert!(error.contains(part), "{text}: {error}");
    }
    let weights = |text: &str| of(&["--mix", text]).unwrap().mix.unwrap().weights(&["read", "add"]);
    assert!(weights("read=1,nap=2").unwrap_err().contains("`nap`"));
    assert!(weights("read=0").unwrap_err().contains("nothing"));
}
