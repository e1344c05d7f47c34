//! Answers of an agent, made by hand, that the snapshot tests of all renderings share.

use sluice_ipc::v1alpha1::{
    AddressSetState, AddressSetStatus, AddressTableStatus, AgentStatus, EventCounter, ForeignProgram,
    InterfaceStatus, MalformedCounter, OutcomeCounter, PolicyState, PolicyStatus, Problem, RejectedEntry,
    RuleCounter, SkippedInterface, StatusReply, Warning,
};

/// When the samples are looked at.
pub const NOW: u64 = 1_800_000_000;

pub fn agent() -> AgentStatus {
    AgentStatus {
        version: "0.1.0".into(),
        pid: 4711,
        node_name: "edge-1".into(),
        started_unix_seconds: 1_799_700_000,
        policy_directory: "/etc/sluice/policies".into(),
        pin_path: "/sys/fs/bpf/sluice".into(),
        problems: vec![],
    }
}

/// An agent without work.
pub fn idle() -> StatusReply {
    StatusReply { agent: Some(agent()), ..StatusReply::default() }
}

/// A native interface under a flood.
pub fn native() -> InterfaceStatus {
    InterfaceStatus {
        name: "eth0".into(),
        ifindex: 2,
        driver: "ixgbe".into(),
        mtu: 1500,
        rx_queues: 8,
        mode_asked: "Auto".into(),
        mode_in_force: "Native".into(),
        program_id: 142,
        link_id: 17,
        revision: "9f2c41aa00112233".into(),
        verified: "Verified".into(),
        policies: vec!["no-discard".into()],
        packets_per_second: Some(1_250_000.4),
        drops_per_second: Some(1_200_345.0),
        nanoseconds_per_packet: Some(24.06),
        outcomes: vec![
            outcome("PassNoMatch", "Pass", 1_234_567),
            outcome("PassRule", "Pass", 0),
            outcome("DropRule", "Drop", 98_765_432),
        ],
        malformed: vec![
            MalformedCounter { reason: "VlanDepth".into(), packets: 12, bytes: 768 },
            MalformedCounter { reason: "FrameTooShort".into(), packets: 0, bytes: 0 },
            MalformedCounter { reason: "Ipv4TotalLength".into(), packets: 3, bytes: 180 },
        ],
        rules: vec![rule("no-discard", "udp-9", "Drop", 98_765_432), rule("no-discard", "seen", "Count", 12)],
        ..InterfaceStatus::default()
    }
}

/// One that fell back to generic and has seen no packet yet.
pub fn generic() -> InterfaceStatus {
    InterfaceStatus {
        name: "eth1".into(),
        ifindex: 3,
        driver: "e1000e".into(),
        mode_asked: "Auto".into(),
        mode_in_force: "Generic".into(),
        reason: "DriverNoXdp".into(),
        message: "the driver e1000e has no native XDP".into(),
        remedy: "use an interface whose driver has it, or ask for mode Generic".into(),
        program_id: 143,
        link_id: 18,
        revision: "9f2c41aa00112233".into(),
        verified: "Unverified (no traffic yet)".into(),
        policies: vec!["no-discard".into()],
        packets_per_second: Some(0.0),
        drops_per_second: Some(0.0),
        nanoseconds_unavailable_because: "BPF run statistics are off (sysctl kernel.bpf_stats_enabled)"
            .into(),
        rules: vec![rule("no-discard", "udp-9", "Drop", 0)],
        ..InterfaceStatus::default()
    }
}

/// One that somebody else's program holds.
pub fn foreign() -> InterfaceStatus {
    InterfaceStatus {
        name: "eth2".into(),
        ifindex: 4,
        driver: "mlx5_core".into(),
        mode_asked: "Native".into(),
        reason: "ForeignProgram".into(),
        message: "the kernel answered EBUSY".into(),
        remedy: "take that program off (xdp-loader unload eth2 --all), then ours is attached at once".into(),
        foreign_program: Some(ForeignProgram {
            id: 77,
            name: "xdp_dispatcher".into(),
            mode: "Native".into(),
        }),
        policies: vec!["no-discard".into()],
        ..InterfaceStatus::default()
    }
}

/// One whose driver lost the program without saying so.
pub fn bypassed() -> InterfaceStatus {
    InterfaceStatus {
        name: "eth3".into(),
        ifindex: 5,
        driver: "vmxnet3".into(),
        mode_asked: "Native".into(),
        mode_in_force: "Native".into(),
        message: "2048 packets were received, the program saw 0 of them".into(),
        remedy: "ask for mode Generic on this interface".into(),
        program_id: 144,
        link_id: 19,
        revision: "00aa41aa00112233".into(),
        verified: "Bypassed".into(),
        packets_per_second: Some(0.0),
        drops_per_second: Some(0.0),
        nanoseconds_unavailable_because: "BPF run statistics are off (sysctl kernel.bpf_stats_enabled)"
            .into(),
        ..InterfaceStatus::default()
    }
}

/// A generic interface that was asked to be generic, with counters near their end.
pub fn huge() -> InterfaceStatus {
    InterfaceStatus {
        name: "fifteen-bytes-0".into(),
        driver: "virtio_net".into(),
        mode_asked: "Generic".into(),
        mode_in_force: "Generic".into(),
        program_id: u32::MAX,
        link_id: u32::MAX,
        revision: "ffffffffffffffff".into(),
        verified: "Verified".into(),
        packets_per_second: Some(148_809_523.0),
        drops_per_second: Some(1.844e19),
        nanoseconds_per_packet: Some(123_456.7),
        outcomes: vec![outcome("DropRule", "Drop", u64::MAX), outcome("DropDefault", "Drop", 5)],
        rules: vec![rule(&"p".repeat(253), &"r".repeat(63), "Drop", u64::MAX)],
        ..InterfaceStatus::default()
    }
}

/// A policy that runs as it should.
pub fn in_force() -> PolicyStatus {
    PolicyStatus {
        name: "no-discard".into(),
        file: "10-no-discard.yaml".into(),
        state: PolicyState::InForce.into(),
        interfaces: vec!["eth0".into(), "eth1".into()],
        ..PolicyStatus::default()
    }
}

/// Policies in every state but good.
pub fn bad_policies() -> Vec<PolicyStatus> {
    let policy = |name: &str, file: &str, state: PolicyState| PolicyStatus {
        name: name.into(),
        file: file.into(),
        state: state.into(),
        ..PolicyStatus::default()
    };
    let mut last_good = policy("web", "20-web.yaml", PolicyState::LastGood);
    last_good.interfaces = vec!["eth0".into()];
    last_good.problems = vec![
        problem(
            "20-web.yaml",
            "spec.rules[0].match.destinationPorts[1]",
            "InvalidPort",
            "70000 is not a port",
        ),
        problem("20-web.yaml", "spec.rules[2].action.type", "NotImplemented", "Steer is not implemented yet"),
    ];
    let mut refused = policy("", "30-broken.yaml", PolicyState::Refused);
    refused.problems = vec![Problem {
        fix: String::new(),
        ..problem("30-broken.yaml", "", "NotUtf8", "byte 17 is not UTF-8")
    }];
    let mut conflict = policy("late", "40-late.yaml", PolicyState::Conflict);
    conflict.warnings = vec![Warning {
        reason: "ModeConflict".into(),
        message: "no-discard asks for Native on eth0, this policy for Generic".into(),
    }];
    vec![last_good, refused, policy("lonely", "35-lonely.yaml", PolicyState::NoMatchingInterface), conflict]
}

pub fn skipped() -> Vec<SkippedInterface> {
    vec![
        SkippedInterface {
            interface: "lo".into(),
            policy: "no-discard".into(),
            reason: "Loopback".into(),
            message: "the loopback interface is taken only when it is named".into(),
        },
        SkippedInterface {
            interface: "veth0a1b2c3d4e5".into(),
            policy: "no-discard".into(),
            reason: "PodInterface".into(),
            message: "its peer is in another network namespace".into(),
        },
    ]
}

/// Everything at once.
pub fn busy() -> StatusReply {
    let mut policies = vec![in_force()];
    policies.extend(bad_policies());
    StatusReply {
        agent: Some(agent()),
        policies,
        interfaces: vec![native(), generic(), foreign(), bypassed()],
        skipped: skipped(),
        sets: sets(),
        address_table: Some(AddressTableStatus {
            prefixes: 50_004,
            bytes_used: 1_906_700,
            bytes_allocated: 6_684_672,
        }),
    }
}

/// Names as long as Kubernetes allows.
pub fn long_names() -> StatusReply {
    let long =
        PolicyStatus { name: "p".repeat(253), file: format!("{}.yaml", "f".repeat(250)), ..in_force() };
    StatusReply {
        agent: Some(AgentStatus { node_name: "n".repeat(253), ..agent() }),
        policies: vec![long, in_force()],
        interfaces: vec![huge(), native()],
        skipped: vec![],
        ..StatusReply::default()
    }
}

/// The whole policy language at once: the failsafe, rate limits, marks, a dry run.
pub fn limited() -> InterfaceStatus {
    let plain = |policy: &str, name: &str, action: &str| rule(policy, name, action, 1000);
    let event =
        |event: &str, packets: u64| EventCounter { event: event.into(), packets, bytes: packets * 60 };
    InterfaceStatus {
        name: "eth4".into(),
        outcomes: vec![
            outcome("PassFailsafe", "Pass", 120),
            outcome("DropDefault", "Drop", 70),
            outcome("DropRateLimit", "Drop", 4_000_000),
        ],
        rules: vec![
            plain("failsafe", "ssh", "Pass"),
            RuleCounter {
                exceeded_packets: Some(4_000_000),
                exceeded_bytes: Some(240_000_000),
                ..rule("edge", "dns", "RateLimit", 5_000_000)
            },
            plain("edge", "voice", "Mark"),
            plain("edge", "defaultAction", "Drop"),
            RuleCounter { dry_run: true, ..plain("trial", "telnet", "Drop") },
        ],
        events: vec![
            event("DryRunDrop", 1_200_000),
            event("MarkFailed", 12),
            event("SourceTableFailed", 3),
            event("TableFailed", 1),
        ],
        sources_evicted: Some(70_000),
        degraded: vec![Warning {
            reason: "MetadataUnsupported".into(),
            message: "12 packets went on without their mark".into(),
        }],
        policies: vec!["edge".into(), "trial".into()],
        ..native()
    }
}

/// A policy that changes no packet.
pub fn dry_run() -> PolicyStatus {
    PolicyStatus { name: "trial".into(), file: "50-trial.yaml".into(), dry_run: true, ..in_force() }
}

fn sets() -> Vec<AddressSetStatus> {
    let set = |name: &str, state: AddressSetState, entries| AddressSetStatus {
        name: name.into(),
        file: format!("{name}.cidrs"),
        state: state.into(),
        entries,
        ..AddressSetStatus::default()
    };
    let entry = RejectedEntry {
        place: "line 7".into(),
        text: "10.0.0.1/8".into(),
        reason: "HostBitsSet".into(),
        message: "bits behind the prefix length are set; write 10.0.0.0/8 or 10.0.0.1/32".into(),
    };
    let not_loaded = "CapacityExceeded: the address sets of this node would hold 2000001 prefixes, and the limit is 2000000";
    vec![
        AddressSetStatus {
            duplicates: 3,
            rejected: 12,
            first_rejected: vec![entry],
            ..set("big", AddressSetState::Loaded, 50_000)
        },
        set("drop-list", AddressSetState::Gone, 4),
        AddressSetStatus {
            problems: vec![problem("feed.cidrs", "", "EmptyFeed", "the feed has no entry")],
            ..set("feed", AddressSetState::LastGood, 2)
        },
        AddressSetStatus {
            not_loaded_because: not_loaded.into(),
            ..set("more", AddressSetState::NotLoaded, 2_000_000)
        },
    ]
}

fn problem(file: &str, field: &str, reason: &str, message: &str) -> Problem {
    Problem {
        file: file.into(),
        policy: "web".into(),
        field: field.into(),
        reason: reason.into(),
        message: message.into(),
        fix: "write a number from 1 to 65535".into(),
    }
}

fn outcome(outcome: &str, verdict: &str, packets: u64) -> OutcomeCounter {
    OutcomeCounter {
        outcome: outcome.into(),
        verdict: verdict.into(),
        packets,
        bytes: packets.saturating_mul(60),
    }
}

fn rule(policy: &str, rule: &str, action: &str, packets: u64) -> RuleCounter {
    RuleCounter {
        policy: policy.into(),
        rule: rule.into(),
        action: action.into(),
        packets,
        bytes: packets.saturating_mul(60),
        ..RuleCounter::default()
    }
}
