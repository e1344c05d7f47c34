//! The agent's side: making the socket. Its mode is 0600 and its owner is the agent's user, root,
//! from the first moment at which it has a name that others know. The kernel checks that mode at
//! `connect`, so only root gets through and no further check of the peer is made.

use std::{
    fs::{self, DirBuilder, FileType, Permissions},
    io,
    os::unix::fs::{DirBuilderExt, FileTypeExt, PermissionsExt},
    path::{Path, PathBuf},
    process,
    time::Duration,
};

use tokio::net::{UnixListener, UnixStream};
use tokio_stream::{Stream, StreamExt as _, wrappers::UnixListenerStream};

use crate::Error;

/// Listens on `socket`, for `tonic`'s `serve_with_incoming`. A socket that a dead agent left is
/// replaced. A live one, and anything that is not a socket, is refused and left alone.
///
/// Two agents that start in the same instant could both find the same stale socket: whoever calls
/// this must hold the agent's lock.
pub async fn listen(socket: &Path) -> Result<impl Stream<Item = io::Result<UnixStream>> + use<>, Error> {
    let (Some(folder), Some(_)) = (socket.parent(), socket.file_name()) else {
        return Err(Error::BadPath { socket: socket.to_path_buf() });
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let failed = |action| move |source| Error::Listen { socket: socket.to_path_buf(), action, source };

    DirBuilder::new().recursive(true).mode(0o755).create(folder).map_err(failed("make its directory"))?;
    refuse_what_is_not_ours(socket).await?;

    let workshop = Workshop::make(folder).map_err(failed("make a private directory beside it"))?;
    let unnamed = workshop.0.join("s");
    let listener = UnixListener::bind(&unnamed).map_err(failed("bind a socket"))?;
    fs::set_permissions(&unnamed, Permissions::from_mode(0o600)).map_err(failed("set its mode"))?;
    fs::rename(&unnamed, socket).map_err(failed("put it in its place"))?;
    Ok(UnixListenerStream::new(listener).then(pause_after_error))
}

/// While no descriptor is free, the next attempt fails at once as well: without a pause, that is a loop.
async fn pause_after_error(accepted: io::Result<UnixStream>) -> io::Result<UnixStream> {
    if accepted.is_err() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    accepted
}

async fn refuse_what_is_not_ours(socket: &Path) -> Result<(), Error> {
    let found = match fs::symlink_metadata(socket) {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => {
            return Err(Error::Listen { socket: socket.to_path_buf(), action: "look at the path", source });
        }
    };
    if !found.is_socket() {
        return Err(Error::NotASocket { socket: socket.to_path_buf(), what: describe(found) });
    }
    match UnixStream::connect(socket).await {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
        // Gone between the two looks: its owner has just stopped.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        // A full backlog (EAGAIN) is an answer of a live one as well.
        _ => Err(Error::InUse { socket: socket.to_path_buf() }),
    }
}

fn describe(found: FileType) -> &'static str {
    if found.is_symlink() {
        "a symbolic link"
    } else if found.is_dir() {
        "a directory"
    } else if found.is_file() {
        "a regular file"
    } else {
        "a device or a pipe"
    }
}

/// A folder that nobody else can enter, where the socket waits until its mode is right. Its name
/// is short because the path of a socket may have 107 bytes only.
struct Workshop(PathBuf);

impl Workshop {
    fn make(folder: &Path) -> io::Result<Self> {
        let path = folder.join(format!(".{}", process::id()));
        match DirBuilder::new().mode(0o700).create(&path) {
            // A process of the same id was killed here once.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                fs::remove_dir_all(&path)?;
                DirBuilder::new().mode(0o700).create(&path)?;
            }
            other => other?,
        }
        Ok(Self(path))
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        // Left behind it would do no harm, and there is nobody to tell.
        drop(fs::remove_dir_all(&self.0));
    }
}
