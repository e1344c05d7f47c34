//! Random frames: whole ones of every kind that the parser knows, and damaged ones.

use crate::choices::Choices;
use crate::frames::{Tag, arp, ipv4, ipv6, tagged};
use crate::values::VLAN_IDS;

/// The kernel runs no program on less.
const LEAST: usize = 14;
/// Headers are here, mostly.
const HEADERS: usize = 100;

/// Destinations: unicast, broadcast, link control and its neighbours, a multicast group.
const DESTINATIONS: [[u8; 6]; 7] = [
    [2, 0, 0, 0, 0, 2],
    [0xff; 6],
    [1, 0x80, 0xc2, 0, 0, 0],
    [1, 0x80, 0xc2, 0, 0, 0x0e],
    [1, 0x80, 0xc2, 0, 0, 0x0f],
    [1, 0x80, 0xc2, 0, 0, 0x10],
    [0x33, 0x33, 0, 0, 0, 1],
];

/// The frame of these choices.
pub fn frame(bytes: &[u8]) -> Vec<u8> {
    let choices = &mut Choices::new(bytes);
    // First, so that what a frame holds does not change how it is damaged.
    let damage: [u8; 12] = std::array::from_fn(|_| choices.byte());
    let destination = choices.weighted(&[(200, 0), (10, 1), (10, 2), (10, 3), (10, 4), (8, 5), (8, 6)]);
    let tags = tags(choices);
    let (ether_type, packet) = network(choices);
    let mut frame = tagged(DESTINATIONS[destination], &tags, ether_type, &packet);
    if choices.chance(70) {
        frame.resize(frame.len().max(60), 0);
    }
    damaged(&mut frame, &mut Choices::new(&damage));
    frame.resize(frame.len().max(LEAST), 0);
    frame
}

fn tags(choices: &mut Choices<'_>) -> Vec<Tag> {
    let counts = [(170, 0), (40, 1), (20, 2), (6, 3), (5, 4), (5, 7), (5, 8), (5, 9)];
    let count = choices.weighted(&counts);
    let tag = |choices: &mut Choices<'_>| {
        let ether_type = choices.weighted(&[(150, 0x8100), (90, 0x88a8), (16, 0x9100)]);
        // Priority tags are what more than two tags mostly are.
        let id = if count > 2 && choices.chance(80) { 0 } else { choices.of(&VLAN_IDS) };
        Tag { ether_type, control: id | choices.of(&[0, 0xf000, 0x1000]) }
    };
    (0..count).map(|_| tag(choices)).collect()
}

/// The type behind the tags, and what is behind it.
fn network(choices: &mut Choices<'_>) -> (u16, Vec<u8>) {
    let kind = choices.weighted(&[
        (130, 0_u16),
        (90, 1),
        (12, 0x0806),
        (4, 0x88cc),
        (4, 0x8809),
        (4, 0x8847),
        (4, 0x888e),
        (4, 38),
        (4, 0x1234),
    ]);
    match kind {
        0 => (0x0800, ipv4(choices)),
        1 => (0x86dd, ipv6(choices)),
        0x0806 => (kind, arp()),
        // An 802.3 frame: spanning tree is one.
        38 => (kind, [&[0x42, 0x42, 3][..], &[0; 35]].concat()),
        other => (other, vec![0x45; 46]),
    }
}

/// About a third of all frames.
fn damaged(frame: &mut Vec<u8>, choices: &mut Choices<'_>) {
    match choices.weighted(&[(170, 0), (40, 1), (30, 2), (16, 3)]) {
        1 => truncate(frame, choices),
        2 => change(frame, choices),
        3 => {
            change(frame, choices);
            truncate(frame, choices);
        }
        _ => {}
    }
    if choices.chance(10) {
        frame.resize(frame.len() + choices.below(64), choices.byte());
    }
}

fn truncate(frame: &mut Vec<u8>, choices: &mut Choices<'_>) {
    let end = if choices.chance(80) { HEADERS.min(frame.len()) } else { frame.len() };
    let at = usize::from(choices.byte()) << 8 | usize::from(choices.byte());
    frame.truncate(LEAST + at % (end - LEAST + 1));
}

fn change(frame: &mut [u8], choices: &mut Choices<'_>) {
    let end = HEADERS.min(frame.len());
    for _ in 0..=choices.below(3) {
        let at = choices.below(end);
        frame[at] = choices.byte();
    }
}
