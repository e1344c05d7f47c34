//! The parse of each case, one test an id.

use std::collections::BTreeSet;

use aya::programs::ProgramError;
use rstest::rstest;

use crate::{
    can_load,
    cases::{self, case},
    probe::Probe,
};

#[rstest]
#[case::pkt_01("PKT-01")]
#[case::pkt_02("PKT-02")]
#[case::pkt_03("PKT-03")]
#[case::pkt_06("PKT-06")]
#[case::pkt_07("PKT-07")]
#[case::pkt_08("PKT-08")]
#[case::pkt_09("PKT-09")]
#[case::pkt_10("PKT-10")]
#[case::pkt_11("PKT-11")]
#[case::pkt_12("PKT-12")]
#[case::pkt_13("PKT-13")]
#[case::pkt_14("PKT-14")]
#[case::pkt_15("PKT-15")]
#[case::pkt_16("PKT-16")]
#[case::pkt_17("PKT-17")]
#[case::pkt_18("PKT-18")]
#[case::pkt_19("PKT-19")]
#[case::pkt_20("PKT-20")]
#[case::pkt_21("PKT-21")]
#[case::pkt_22("PKT-22")]
#[case::pkt_23("PKT-23")]
#[case::pkt_24("PKT-24")]
#[case::pkt_25("PKT-25")]
#[case::pkt_26("PKT-26")]
#[case::pkt_27("PKT-27")]
#[case::pkt_28("PKT-28")]
#[case::pkt_29("PKT-29")]
#[case::pkt_30("PKT-30")]
#[case::pkt_31("PKT-31")]
#[case::pkt_32("PKT-32")]
#[case::pkt_33("PKT-33")]
#[case::pkt_34("PKT-34")]
#[case::pkt_35("PKT-35")]
#[case::pkt_36("PKT-36")]
#[case::pkt_37("PKT-37")]
#[case::pkt_38("PKT-38")]
#[case::pkt_39("PKT-39")]
#[case::pkt_40("PKT-40")]
#[case::pkt_41("PKT-41")]
#[case::pkt_42("PKT-42")]
#[case::pkt_43("PKT-43")]
#[case::pkt_44("PKT-44")]
#[case::pkt_45("PKT-45")]
#[case::pkt_46("PKT-46")]
#[case::pkt_47("PKT-47")]
#[case::pkt_48("PKT-48")]
#[case::pkt_49("PKT-49")]
#[case::pkt_50("PKT-50")]
fn parses(#[case] id: &str) {
    if !can_load() {
        return;
    }
    let case = case(id);
    let parsed = Probe::load().parse(&case.frame()).unwrap();
    assert_eq!(parsed, case.expect.parsed());
}

/// Less than an Ethernet header never reaches a program: the kernel refuses to run one on it.
#[rstest]
#[case::pkt_04("PKT-04")]
#[case::pkt_05("PKT-05")]
fn the_kernel_refuses(#[case] id: &str) {
    if !can_load() {
        return;
    }
    let frame = case(id).frame();
    assert!(frame.len() < 14);
    match Probe::load().parse(&frame) {
        Err(ProgramError::SyscallError(error)) => {
            assert_eq!(error.io_error.raw_os_error(), Some(libc::EINVAL));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_case_of_the_file_is_tested() {
    let source = include_str!("parse.rs");
    let tested: BTreeSet<String> = source
        .lines()
        .filter_map(|line| line.strip_prefix("#[case::pkt_")?.split('"').nth(1))
        .map(str::to_owned)
        .collect();
    assert_eq!(tested, cases::all().into_keys().collect());
}
