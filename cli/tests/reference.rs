//! Holds `docs/sluicectl.md` to the help texts that `--help` shows.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{fmt::Write, fs, path::Path};

use clap::{Arg, Command, CommandFactory};
use sluicectl::arguments::Arguments;

/// Set this to write the page anew.
const UPDATE: &str = "UPDATE_DOCS";

#[test]
fn the_page_is_what_the_help_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/sluicectl.md");
    let page = markdown().unwrap();
    if std::env::var_os(UPDATE).is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &page).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == page,
        "{} is old: run `{UPDATE}=1 cargo test -p sluicectl --test reference`",
        path.display()
    );
}

#[test]
fn help_may_be_asked_for_in_words() {
    for (words, asked) in [(vec!["help"], vec!["--help"]), (vec!["help", "status"], vec!["status", "--help"])]
    {
        let [by_words, by_option] = [words, asked]
            .map(|words| assert_cmd::Command::cargo_bin("sluicectl").unwrap().args(words).output().unwrap());
        assert_eq!(by_words.status.code(), Some(0));
        assert!(!by_words.stdout.is_empty());
        assert_eq!(by_words.stdout, by_option.stdout);
    }
}

fn markdown() -> Result<String, std::fmt::Error> {
    let mut root = Arguments::command();
    root.build();
    let mut page = String::from(
        "# sluicectl\n\nGenerated from the command's own help: `UPDATE_DOCS=1 cargo test -p sluicectl --test reference`.\n",
    );
    section(&mut page, &root)?;
    // `help` says what is on this page.
    for command in root.get_subcommands().filter(|command| command.get_name() != "help") {
        write!(page, "\n## sluicectl {}\n", command.get_name())?;
        section(&mut page, command)?;
        for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
            write!(page, "\n### sluicectl {} {}\n", command.get_name(), below.get_name())?;
            section(&mut page, below)?;
        }
    }
    Ok(page)
}

fn section(page: &mut String, command: &Command) -> std::fmt::Result {
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    write!(page, "\n{about}\n\n```\n{}\n```\n", usage.trim_start_matches("Usage: "))?;
    let arguments: Vec<_> = command.get_arguments().filter(|argument| is_shown(argument, command)).collect();
    if !arguments.is_empty() {
        page.push('\n');
    }
    for argument in arguments {
        argument_line(page, argument)?;
    }
    match command.get_after_help() {
        Some(after) => write!(page, "\n```\n{after}\n```\n"),
        None => Ok(()),
    }
}

/// Words that hold for every command are said once, at the top.
fn is_shown(argument: &Arg, command: &Command) -> bool {
    let is_help = matches!(argument.get_id().as_str(), "help" | "version");
    !is_help && (!argument.is_global_set() || command.get_name() == "sluicectl")
}

fn argument_line(page: &mut String, argument: &Arg) -> std::fmt::Result {
    let help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
    write!(page, "- `{argument}`")?;
    if let Some(short) = argument.get_short() {
        write!(page, " (`-{short}`)")?;
    }
    write!(page, ": {}", help.replace('\n', " "))?;
    let is_flag = !argument.get_action().takes_values();
    let defaults: Vec<_> =
        argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if !is_flag && !defaults.is_empty() {
        write!(page, " (default `{}`)", defaults.join(" "))?;
    }
    let values: Vec<_> =
        argument.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    if !is_flag && !values.is_empty() {
        write!(page, "; one of `{}`", values.join("`, `"))?;
    }
    page.push('\n');
    Ok(())
}
