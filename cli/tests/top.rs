//! `top` on a real (pseudo) terminal: it draws, it survives its agent, and it gives the terminal back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod canned;

use std::{
    io::{Read, Write},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use canned::RunningAgent;
use sluice_ipc::v1alpha1::{InterfaceStatus, StatusReply};
use sluice_testkit::{
    feature::{Feature, require},
    wait_until,
};

const DEADLINE: Duration = Duration::from_secs(20);
const ENTER_ALTERNATE_SCREEN: &str = "\u{1b}[?1049h";
const LEAVE_ALTERNATE_SCREEN: &str = "\u{1b}[?1049l";

/// A terminal in which `top` runs between two looks at the terminal's settings.
struct Terminal {
    child: Child,
    keyboard: ChildStdin,
    screen: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    fn start(socket: &Path) -> Self {
        let top = assert_cmd::cargo::cargo_bin("sluicectl");
        let shell = format!(
            "stty rows 30 cols 100; echo before=$(stty -g); '{}' --socket '{}' top; echo code=$? after=$(stty -g)",
            top.display(),
            socket.display()
        );
        let mut child = Command::new("script")
            .args(["--quiet", "--return", "--command", &shell, "/dev/null"])
            .env("TERM", "xterm-256color")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (keyboard, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let screen = Arc::new(Mutex::new(Vec::new()));
        let writer = Arc::clone(&screen);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                writer.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
        });
        Self { child, keyboard, screen }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.screen.lock().unwrap()).into_owned()
    }

    fn wait_for(&self, words: &str) {
        wait_until(DEADLINE, &format!("{words:?} on the screen"), || self.text().contains(words));
    }

    fn press(&mut self, keys: &[u8]) {
        self.keyboard.write_all(keys).unwrap();
        self.keyboard.flush().unwrap();
    }

    /// Waits for the end, and holds it to: exit code 0, settings and screen as they were.
    fn assert_given_back(mut self) {
        self.wait_for("after=");
        self.child.wait().unwrap();
        let text = String::from_utf8_lossy(&self.screen.lock().unwrap()).into_owned();
        let word = |key: &str| text.split(key).nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
        assert_eq!(word("code="), "0", "{text}");
        assert_eq!(word("before="), word("after="), "{text}");
        let (enter, leave) = (text.rfind(ENTER_ALTERNATE_SCREEN), text.rfind(LEAVE_ALTERNATE_SCREEN));
        assert!(enter.is_some() && enter < leave, "{text}");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It has ended already, unless the test failed.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn agent() -> RunningAgent {
    let interface = InterfaceStatus {
        name: "eth0".into(),
        mode_in_force: "Native".into(),
        verified: "Verified".into(),
        packets_per_second: Some(1_234_567.0),
        ..InterfaceStatus::default()
    };
    RunningAgent::start(Ok(StatusReply { interfaces: vec![interface], ..StatusReply::default() }))
}

#[test]
fn q_quits_and_gives_the_terminal_back() {
    if !require(Feature::Program("script")) {
        return;
    }
    let agent = agent();
    let mut terminal = Terminal::start(&agent.socket());
    terminal.wait_for("1.23M");
    terminal.press(b"q");
    terminal.assert_given_back();
}

#[test]
fn it_says_that_the_agent_is_gone_and_ctrl_c_quits() {
    if !require(Feature::Program("script")) {
        return;
    }
    let agent = agent();
    let mut terminal = Terminal::start(&agent.socket());
    terminal.wait_for("1.23M");
    drop(agent);
    terminal.wait_for("agent stopped, the figures are old");
    terminal.press(b"\x03");
    terminal.assert_given_back();
}
