//! Tests of reading resolvers and of the waking by their file.
#![allow(clippy::unwrap_used)]
use std::{os::unix::fs::symlink, time::Duration};

use tempfile::TempDir;
use tokio::time::timeout;

use super::*;

const PATIENCE: Duration = Duration::from_secs(10);

struct Place {
    folder: TempDir,
    resolvers: Resolvers,
}

impl Place {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        for name in ["etc", "run"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let (path, behind) = (folder.path().join("etc/resolv.conf"), folder.path().join("run/behind"));
        let resolvers = Resolvers::with_local(&path, &behind).unwrap();
        Self { folder, resolvers }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&mut self) -> Vec<String> {
        self.resolvers.read().iter().map(ToString::to_string).collect()
    }

    async fn after_change(&mut self) -> Vec<String> {
        timeout(PATIENCE, self.resolvers.changed()).await.expect("no change was noticed").unwrap();
        self.read()
    }
}

#[test]
fn only_lines_that_begin_with_nameserver_count() {
    let text = "# nameserver 192.0.2.9\nnameserver 192.0.2.1\n  nameserver\tfe80::1%eth0 # ours\nnameservers 192.0.2.8\n\
                nameserver\nnameserver x\noptions nameserver 192.0.2.7\nnameserver 2001:db8::53";
    let found: Vec<String> = parse(text).iter().map(ToString::to_string).collect();
    assert_eq!(found, ["192.0.2.1", "fe80::1", "2001:db8::53"]);
}

#[tokio::test]
async fn writing_renaming_and_relinking_are_noticed() {
    let mut place = Place::new();
    assert!(place.read().is_empty());
    place.write("etc/resolv.conf", "nameserver 192.0.2.1\n");
    assert_eq!(place.after_change().await, ["192.0.2.1"]);
    place.write("etc/resolv.conf", "nameserver 192.0.2.2\n");
    assert_eq!(place.after_change().await, ["192.0.2.2"]);
    place.write("etc/aside", "nameserver 192.0.2.3\n");
    fs::rename(place.path("etc/aside"), place.path("etc/resolv.conf")).unwrap();
    assert_eq!(place.after_change().await, ["192.0.2.3"]);
    // Dangling at first.
    symlink("../run/stub", place.path("etc/aside")).unwrap();
    fs::rename(place.path("etc/aside"), place.path("etc/resolv.conf")).unwrap();
    assert_eq!(place.after_change().await, ["192.0.2.3"], "what cannot be read changes nothing");
    place.write("run/stub", "nameserver 192.0.2.4\n");
    assert_eq!(place.after_change().await, ["192.0.2.4"]);
    place.write("run/aside", "nameserver 192.0.2.5\n");
    fs::rename(place.path("run/aside"), place.path("run/stub")).unwrap();
    assert_eq!(place.after_change().await, ["192.0.2.5"]);
    fs::remove_file(place.path("run/stub")).unwrap();
    assert_eq!(place.after_change().await, ["192.0.2.5"]);
}

#[tokio::test]
async fn behind_a_local_server_stand_those_that_it_asks() {
    let mut place = Place::new();
    place.write("etc/resolv.conf", "nameserver 127.0.0.53\nnameserver 192.0.2.1\n");
    assert_eq!(place.read(), ["192.0.2.1"]);
    place.write("run/behind", "nameserver 2001:db8::1\nnameserver ::1\n");
    assert_eq!(place.after_change().await, ["192.0.2.1", "2001:db8::1"]);
    place.write("etc/resolv.conf", "nameserver 192.0.2.7\n");
    assert_eq!(place.after_change().await, ["192.0.2.7"]);
}

#[tokio::test]
async fn other_files_beside_it_wake_nobody() {
    let mut place = Place::new();
    place.write("etc/resolv.conf", "nameserver 192.0.2.1\n");
    place.read();
    place.write("etc/hosts", "");
    let quiet = timeout(Duration::from_millis(300), place.resolvers.changed()).await;
    assert!(quiet.is_err());
}
