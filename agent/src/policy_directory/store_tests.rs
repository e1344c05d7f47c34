//! What is kept over a restart: the last good policies, and what becomes of a store that cannot be used.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;

use super::snapshot::Stale;
use super::test_fixture::{A_WHILE, Fixture, in_force};
use super::test_policies::good;

#[tokio::test]
async fn the_last_good_policies_outlive_the_agent() {
    let mut fixture = Fixture::new();
    fixture.write("a.yaml", good("a", 1));
    fixture.write("b.yaml", good("b", 2));
    fixture.directory.read();
    fixture.settle().await;
    fixture.put("a.yaml", "spec: [");
    fixture.restart();
    let snapshot = fixture.directory.read();
    assert_eq!(in_force(&snapshot), [("a", 1), ("b", 2)]);
    assert_eq!(snapshot.stale, [Stale { policy: "a".into(), file: "a.yaml".into() }]);
    fs::remove_dir_all(&fixture.policies).unwrap();
    fixture.restart();
    let snapshot = fixture.directory.read();
    assert_eq!((in_force(&snapshot).len(), snapshot.stale.len(), snapshot.store_problem), (2, 2, None));
    fs::create_dir(&fixture.policies).unwrap();
    fixture.until(&[]).await;
    fixture.settle().await;
    fs::remove_dir_all(&fixture.policies).unwrap();
    fixture.restart();
    assert_eq!(in_force(&fixture.directory.read()), [], "removal outlives the agent, too");
}

#[tokio::test]
async fn a_store_that_cannot_be_understood_is_set_aside() {
    let mut fixture = Fixture::new();
    fixture.write("a.yaml", good("a", 1));
    let store = fixture.root.path().join("state/last-good.json");
    let aside = fixture.root.path().join("state/last-good.json.set-aside");
    let foreign = r#"{"format": "something/else", "policies": []}"#;
    for content in ["", "{", "[]", "\u{0}", foreign, r#"{"format": 7}"#] {
        fs::write(&store, content).unwrap();
        fixture.restart();
        let snapshot = fixture.directory.read();
        assert_eq!(in_force(&snapshot), [("a", 1)], "{content:?}");
        let problem = snapshot.store_problem.unwrap();
        assert!(problem.contains("last-good.json") && problem.contains("set-aside"), "{problem}");
        assert_eq!(fs::read_to_string(&aside).unwrap(), content);
        fixture.settle().await;
        assert!(fs::read_to_string(&store).unwrap().contains("XdpPolicy"), "a new one takes its place");
        assert_eq!(fixture.directory.read().store_problem, None, "it is told until there is a good one");
    }
    fs::remove_file(&aside).unwrap();
    fs::remove_file(&store).unwrap();
    fs::create_dir(&store).unwrap();
    fixture.restart();
    assert!(fixture.directory.read().store_problem.unwrap().contains("not a regular file"));
}

#[tokio::test]
async fn a_stored_policy_that_is_no_longer_valid_is_named() {
    let mut fixture = Fixture::new();
    fixture.write("a.yaml", good("a", 1));
    fixture.write("b.yaml", good("b", 2));
    fixture.directory.read();
    fixture.settle().await;
    let store = fixture.root.path().join("state/last-good.json");
    let changed = fs::read_to_string(&store).unwrap().replacen("\"UDP\"", "\"UPD\"", 1);
    fs::write(&store, changed).unwrap();
    fs::remove_dir_all(&fixture.policies).unwrap();
    fixture.restart();
    let snapshot = fixture.directory.read();
    assert_eq!(in_force(&snapshot), [("b", 2)]);
    let problem = snapshot.store_problem.unwrap();
    assert!(problem.contains("a.yaml") && problem.contains("protocol"), "{problem}");
}

#[tokio::test]
async fn a_store_that_cannot_be_written_is_reported_and_tried_again() {
    let mut fixture = Fixture::new();
    let (state, away) = (fixture.root.path().join("state"), fixture.root.path().join("away"));
    let take_away = || {
        fs::rename(&state, &away).unwrap();
        fs::write(&state, "in the way").unwrap();
    };
    let bring_back = || {
        fs::remove_file(&state).unwrap();
        fs::rename(&away, &state).unwrap();
    };
    take_away();
    fixture.write("a.yaml", good("a", 1));
    assert_eq!(fixture.directory.read().store_problem, None);
    let snapshot = fixture.changed().await;
    assert!(snapshot.store_problem.unwrap().contains("cannot keep"), "told without a change");
    bring_back();
    fixture.put("a.yaml", good("a", 2));
    fixture.until(&[("a", 2)]).await;
    fixture.settle().await;
    assert_eq!(fixture.directory.read().store_problem, None);
    assert!(state.join("last-good.json").exists());
    take_away();
    fixture.directory.retry = A_WHILE;
    fixture.put("a.yaml", good("a", 3));
    while fixture.changed().await.store_problem.is_none() {}
    bring_back();
    while fixture.changed().await.store_problem.is_some() {}
    assert!(fs::read_to_string(state.join("last-good.json")).unwrap().contains("\"3\""), "saved by itself");
}
