//! Real directories, changed in every way in which people and programs change them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use std::time::{Duration, Instant};

use sluice_policy::Reason;

use super::test_fixture::{A_WHILE, Fixture, in_force};
use super::test_policies::{bad, good, together};
use super::*;

fn reason(snapshot: &Snapshot, file: &str) -> Option<Reason> {
    let report = snapshot.files.iter().find(|report| report.file == file).expect("no such file");
    report.problems.first().map(|problem| problem.reason)
}

#[tokio::test]
async fn policies_are_read_and_other_files_are_not() {
    let mut fixture = Fixture::new();
    fixture.write("b.yaml", good("b", 2));
    fixture.write("a.yml", good("a", 1));
    fixture.write("c.json", r#"{"kind": "XdpPolicy"}"#);
    for other in [".hidden.yaml", "..data.yaml", "notes.txt", "yaml", "a.yaml~", "a.yaml.bak"] {
        fixture.write(other, "not a policy");
    }
    let snapshot = fixture.directory.read();
    assert_eq!(in_force(&snapshot), [("a", 1), ("b", 2)]);
    let files: Vec<_> = snapshot.files.iter().map(|report| report.file.as_str()).collect();
    assert_eq!(files, ["a.yml", "b.yaml", "c.json"]);
}

#[tokio::test]
async fn files_come_change_and_go_in_every_way() {
    let mut fixture = Fixture::new();
    fixture.directory.read();
    fixture.put("a.yaml", good("a", 1));
    fixture.until(&[("a", 1)]).await;
    fixture.write("a.yaml", good("a", 2));
    fixture.until(&[("a", 2)]).await;
    fs::hard_link(fixture.path("a.yaml"), fixture.path("hidden")).unwrap();
    fs::rename(fixture.path("a.yaml"), fixture.path("b.yaml")).unwrap();
    let snapshot = fixture.until(&[("a", 2)]).await;
    assert!(snapshot.stale.is_empty());
    fs::remove_file(fixture.path("b.yaml")).unwrap();
    fixture.until(&[]).await;
    fs::rename(fixture.path("hidden"), fixture.path("c.yaml")).unwrap();
    fixture.until(&[("a", 2)]).await;
}

#[tokio::test]
async fn a_mounted_config_map_is_exchanged_at_once() {
    let mut fixture = Fixture::new();
    let generation = |name: &str, ports: (u16, u16)| {
        fs::create_dir(fixture.path(name)).unwrap();
        fixture.write(&format!("{name}/a.yaml"), good("a", ports.0));
        fixture.write(&format!("{name}/b.yaml"), good("b", ports.1));
    };
    generation("..2026_01", (1, 1));
    symlink("..2026_01", fixture.path("..data")).unwrap();
    symlink("..data/a.yaml", fixture.path("a.yaml")).unwrap();
    symlink("..data/b.yaml", fixture.path("b.yaml")).unwrap();
    generation("..2026_02", (2, 2));
    assert_eq!(in_force(&fixture.directory.read()), [("a", 1), ("b", 1)]);
    symlink("..2026_02", fixture.path("..data_tmp")).unwrap();
    fs::rename(fixture.path("..data_tmp"), fixture.path("..data")).unwrap();
    fs::remove_dir_all(fixture.path("..2026_01")).unwrap();
    let snapshot = fixture.until(&[("a", 2), ("b", 2)]).await;
    assert!(snapshot.stale.is_empty());
}

#[tokio::test]
async fn every_bad_content_is_reported_and_keeps_the_last_good() {
    let mut fixture = Fixture::new();
    fixture.write("a.yaml", good("a", 1));
    fixture.directory.read();
    for (what, content) in bad("a") {
        fixture.put("a.yaml", content);
        let snapshot = fixture.changed().await;
        assert_eq!(in_force(&snapshot), [("a", 1)], "{what}");
        assert_eq!(snapshot.stale.len(), 1, "{what}");
        let problems = &snapshot.files[0].problems;
        assert!(problems.iter().all(|problem| problem.file == "a.yaml" && !problem.fix.is_empty()), "{what}");
        assert!(!problems.is_empty(), "{what}");
    }
    fixture.put("a.yaml", good("a", 3));
    assert!(fixture.until(&[("a", 3)]).await.stale.is_empty());
}

#[tokio::test]
async fn what_is_no_regular_file_is_reported_without_waiting() {
    let mut fixture = Fixture::new();
    fixture.write("good.yaml", good("a", 1));
    fs::create_dir(fixture.path("folder.yaml")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, fixture.path("pipe.yaml"), 0o600.into()).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(fixture.path("socket.yaml")).unwrap();
    symlink("/dev/zero", fixture.path("device.yaml")).unwrap();
    symlink("nowhere", fixture.path("dangling.yaml")).unwrap();
    symlink("loop.yaml", fixture.path("loop.yaml")).unwrap();
    File::create(fixture.path("huge.yaml")).unwrap().set_len(10 << 30).unwrap();
    let start = Instant::now();
    let snapshot = fixture.directory.read();
    assert!(start.elapsed() < Duration::from_secs(1), "took {:?}", start.elapsed());
    assert_eq!(in_force(&snapshot), [("a", 1)]);
    assert_eq!(reason(&snapshot, "huge.yaml"), Some(Reason::FileTooLarge));
    for file in ["folder", "pipe", "socket", "device", "dangling", "loop"] {
        assert_eq!(reason(&snapshot, &format!("{file}.yaml")), Some(Reason::Unreadable), "{file}");
    }
}

#[tokio::test]
async fn a_directory_that_vanishes_changes_nothing_and_is_noticed_when_it_returns() {
    let mut fixture = Fixture::new();
    fixture.write("a.yaml", good("a", 1));
    fixture.directory.read();
    let away = fixture.root.path().join("away");
    for port in 2..5 {
        fs::rename(&fixture.policies, &away).unwrap();
        let snapshot = fixture.changed().await;
        assert_eq!((in_force(&snapshot).len(), snapshot.stale.len()), (1, 1));
        let problem = snapshot.directory_problem.unwrap();
        assert!(problem.contains("policies") && problem.contains("No such file"), "{problem}");
        fs::write(away.join("a.yaml"), good("a", port)).unwrap();
        fs::rename(&away, &fixture.policies).unwrap();
        let snapshot = fixture.until(&[("a", port)]).await;
        assert_eq!((snapshot.directory_problem, snapshot.stale.len()), (None, 0));
    }
    fs::remove_dir_all(&fixture.policies).unwrap();
    while fixture.changed().await.directory_problem.is_none() {}
    fs::write(&fixture.policies, "a file in its place").unwrap();
    assert!(fixture.changed().await.directory_problem.unwrap().contains("Not a directory"));
    fs::remove_file(&fixture.policies).unwrap();
    fs::create_dir(&fixture.policies).unwrap();
    fixture.put("a.yaml", good("a", 9));
    fixture.until(&[("a", 9)]).await;
}

#[tokio::test]
async fn an_empty_directory_in_the_place_of_another_changes_nothing_until_it_is_filled() {
    let mut fixture = Fixture::new();
    fixture.write("a.yaml", good("a", 1));
    fixture.directory.read();
    fs::rename(&fixture.policies, fixture.root.path().join("away")).unwrap();
    fs::create_dir(&fixture.policies).unwrap();
    let snapshot = fixture.changed().await;
    assert_eq!((in_force(&snapshot).len(), snapshot.stale.len()), (1, 1));
    assert!(snapshot.directory_problem.unwrap().contains("made anew"));
    fixture.put("b.yaml", good("b", 2));
    fixture.until(&[("b", 2)]).await;
    fs::remove_file(fixture.policies.join("b.yaml")).unwrap();
    fixture.until(&[]).await;
}

#[tokio::test]
async fn a_directory_that_is_not_there_yet_is_awaited_part_by_part() {
    let mut fixture = Fixture::absent("etc/sluice/policies");
    let snapshot = fixture.directory.read();
    assert!(snapshot.directory_problem.is_some() && snapshot.policies.is_empty());
    for part in ["etc", "etc/sluice", "etc/sluice/policies"] {
        fs::create_dir(fixture.root.path().join(part)).unwrap();
        fixture.changed().await;
    }
    fixture.put("a.yaml", good("a", 1));
    assert_eq!(fixture.until(&[("a", 1)]).await.directory_problem, None);
    fs::rename(fixture.root.path().join("etc"), fixture.root.path().join("old")).unwrap();
    fs::create_dir_all(&fixture.policies).unwrap();
}

#[tokio::test]
async fn a_link_on_the_way_to_the_directory_may_be_exchanged() {
    let mut fixture = Fixture::absent("current/policies");
    for (release, port) in [("one", 1), ("two", 2)] {
        let policies = fixture.root.path().join(release).join("policies");
        fs::create_dir_all(&policies).unwrap();
        fs::write(policies.join("a.yaml"), good("a", port)).unwrap();
    }
    let (current, next) = (fixture.root.path().join("current"), fixture.root.path().join("next"));
    symlink("one", &current).unwrap();
    assert_eq!(in_force(&fixture.directory.read()), [("a", 1)]);
    symlink("two", &next).unwrap();
    fs::rename(next, current).unwrap();
    fixture.until(&[("a", 2)]).await;
}

#[tokio::test]
async fn the_target_of_a_link_may_change_where_it_is() {
    let mut fixture = Fixture::new();
    let target = fixture.root.path().join("elsewhere.yaml");
    fs::write(&target, good("a", 1)).unwrap();
    symlink(&target, fixture.path("a.yaml")).unwrap();
    assert_eq!(in_force(&fixture.directory.read()), [("a", 1)]);
    fs::write(&target, good("a", 2)).unwrap();
    fixture.until(&[("a", 2)]).await;
    let other = fixture.root.path().join("other.yaml");
    fs::write(&other, good("a", 3)).unwrap();
    fs::rename(&other, &target).unwrap();
    fixture.until(&[("a", 3)]).await;
    fs::write(&target, good("a", 4)).unwrap();
    fixture.until(&[("a", 4)]).await;
}

#[tokio::test]
async fn a_file_in_the_middle_of_being_written_takes_nothing_away() {
    let mut fixture = Fixture::new();
    fixture.write("two.yaml", together(&[good("a", 1), good("b", 1)]));
    fixture.directory.read();
    let mut file = File::create(fixture.path("two.yaml")).unwrap();
    file.write_all(good("a", 2).as_bytes()).unwrap();
    fixture.put("c.yaml", good("c", 3));
    let snapshot = fixture.until(&[("a", 1), ("b", 1), ("c", 3)]).await;
    assert!(snapshot.stale.is_empty());
    drop(file);
    fixture.until(&[("a", 2), ("c", 3)]).await;
}

#[tokio::test]
async fn what_tells_nobody_that_it_can_be_read_again_is_tried_again() {
    let mut fixture = Fixture::new();
    fixture.directory.retry = A_WHILE;
    let target = fixture.root.path().join("elsewhere.yaml");
    symlink(&target, fixture.path("a.yaml")).unwrap();
    assert_eq!(reason(&fixture.directory.read(), "a.yaml"), Some(Reason::Unreadable));
    fs::write(&target, good("a", 1)).unwrap();
    fixture.until(&[("a", 1)]).await;
    assert_eq!(fixture.directory.read_again_at, None, "no timer without a problem");
    fs::remove_dir_all(&fixture.policies).unwrap();
    symlink(&fixture.policies, &fixture.policies).unwrap();
    assert!(fixture.directory.read().directory_problem.is_some());
    assert!(fixture.directory.read_again_at.is_some());
    fs::remove_file(&fixture.policies).unwrap();
    assert!(fixture.directory.read().directory_problem.is_some());
    assert_eq!(fixture.directory.read_again_at, None, "its return is an event");
}

#[tokio::test]
async fn a_file_that_is_never_closed_is_read_after_a_while() {
    let mut fixture = Fixture::new();
    fixture.write("a.yaml", good("a", 1));
    fixture.directory.read();
    let mut open = File::create(fixture.path("a.yaml")).unwrap();
    open.write_all(good("a", 2).as_bytes()).unwrap();
    assert_eq!(in_force(&fixture.directory.read()), [("a", 1)], "it is being written");
    fixture.until(&[("a", 2)]).await;
    drop(open);
}

#[tokio::test]
async fn writing_to_a_file_that_was_replaced_delays_nothing() {
    let mut fixture = Fixture::new();
    fixture.write("a.yaml", good("a", 1));
    fixture.directory.read();
    let mut replaced = File::options().append(true).open(fixture.path("a.yaml")).unwrap();
    fixture.put("a.yaml", good("a", 2));
    replaced.write_all(b"# more\n").unwrap();
    assert_eq!(in_force(&fixture.directory.read()), [("a", 2)]);
}

#[tokio::test]
async fn a_file_that_changes_its_name_all_the_time_is_never_taken_for_removed() {
    let mut fixture = Fixture::new();
    let (one, other) = (fixture.path("a.yaml"), fixture.path("b.yaml"));
    fixture.write("a.yaml", good("a", 1));
    fixture.directory.read();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let renames = std::thread::spawn(move || {
        while !stopped.load(Ordering::Relaxed) {
            fs::rename(&one, &other).unwrap();
            fs::rename(&other, &one).unwrap();
        }
    });
    let readings: Vec<Snapshot> = (0..200).map(|_| fixture.directory.read()).collect();
    stop.store(true, Ordering::Relaxed);
    renames.join().unwrap();
    for snapshot in &readings {
        assert_eq!(in_force(snapshot), [("a", 1)], "{:?}", snapshot.directory_problem);
    }
    while fixture.directory.read().directory_problem.is_some() {
        fixture.changed().await;
    }
}

#[tokio::test]
async fn thousands_of_files_are_read_once_and_then_only_where_they_change() {
    let mut fixture = Fixture::new();
    for number in 0..3000_u16 {
        fixture.write(&format!("{number:04}.yaml"), good(&format!("policy-{number:04}"), number + 1));
    }
    let snapshot = fixture.directory.read();
    assert_eq!((snapshot.policies.len(), snapshot.files.len()), (3000, 3000));
    fixture.settle().await;
    fixture.put("0007.yaml", good("policy-0007", 60_000));
    let snapshot = fixture.changed().await;
    assert_eq!(in_force(&snapshot)[7], ("policy-0007", 60_000));
    assert_eq!(snapshot.policies.len(), 3000);
}

#[tokio::test]
async fn a_storm_of_changes_ends_in_what_is_there() {
    let mut fixture = Fixture::new();
    fixture.directory.read();
    // More events than the kernel keeps while nobody reads.
    let most: u32 =
        fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap().trim().parse().unwrap();
    for number in 0..most / 2 + 100 {
        let (one, other) = (fixture.path(&format!("..{number}")), fixture.path(&format!("..{number}.x")));
        File::create(&one).unwrap();
        fs::rename(&one, &other).unwrap();
        fs::remove_file(&other).unwrap();
    }
    fixture.write("a.yaml", good("a", 1));
    fixture.until(&[("a", 1)]).await;
    fixture.put("a.yaml", good("a", 2));
    fixture.until(&[("a", 2)]).await;
}

#[tokio::test]
async fn a_change_is_in_hand_within_milliseconds_and_nothing_wakes_in_between() {
    let mut fixture = Fixture::new();
    fixture.directory.read();
    let mut times = Vec::new();
    for port in 1..=100 {
        fixture.put("a.yaml", good("a", port));
        let start = Instant::now();
        fixture.until(&[("a", port)]).await;
        times.push(start.elapsed());
    }
    times.sort();
    println!("median {:?}, 99th of 100 {:?}", times[50], times[98]);
    assert!(times[98] < Duration::from_millis(100), "{times:?}");
    fixture.settle().await;
    fixture.write(".hidden.yaml", "a hidden file is nobody's business");
    tokio::time::timeout(A_WHILE, fixture.directory.changed()).await.expect_err("woken for nothing");
}
