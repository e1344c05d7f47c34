//! `top`: a live table, drawn anew with each answer of the agent. The terminal is given back as it
//! was, however the command ends.

mod keys;
mod model;
mod screen;
mod view;

use std::{
    io::{self, IsTerminal},
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use sluice_ipc::{AgentClient, v1alpha1::StatusReply};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
    time::{MissedTickBehavior, interval},
};

use self::{keys::Key, model::Model, screen::Screen};
use crate::{agent, error::Error};

/// The table is drawn anew this often.
const REFRESH: Duration = Duration::from_secs(1);

/// Rates are measured over nearly the whole time between two drawings.
const SAMPLE_MILLISECONDS: u32 = 900;

/// Runs `sluicectl top`.
pub async fn run(socket: &Path) -> Result<ExitCode, Error> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(Error::NoTerminal);
    }
    // Before the screen is taken, so that an agent that is away is reported in plain words.
    let client = agent::connect(socket).await?;
    let mut terminate = signal(SignalKind::terminate()).map_err(|source| Error::Terminal { source })?;
    let mut screen = Screen::enter()?;
    let mut keys = keys::read();
    let mut answers = ask_forever(client, socket.to_path_buf());
    let started = Instant::now();
    let mut model = Model::default();
    loop {
        screen.draw(|frame| view::draw(frame, &model))?;
        tokio::select! {
            key = keys.recv() => match key {
                Some(Key::Redraw) => {}
                // Without a terminal to read from there is nobody to show anything to.
                Some(Key::Quit) | None => return Ok(ExitCode::SUCCESS),
            },
            Some(answer) = answers.recv() => model.take(answer, started.elapsed()),
            _ = terminate.recv() => return Ok(ExitCode::SUCCESS),
        }
    }
}

/// Asks beside the drawing, so that keys work while an answer is awaited. An agent that is
/// restarted is found again.
fn ask_forever(mut client: AgentClient, socket: PathBuf) -> mpsc::Receiver<Result<StatusReply, Error>> {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        let mut ticks = interval(REFRESH);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let answer = agent::ask(&mut client, &socket, SAMPLE_MILLISECONDS).await;
            if sender.send(answer).await.is_err() {
                return;
            }
        }
    });
    receiver
}
