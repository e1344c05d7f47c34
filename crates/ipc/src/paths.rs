//! Where the agent keeps things unless told otherwise, and what it names them: the agent makes these
//! files, and the command line removes them. This only names them.

/// Where the agent listens.
pub const DEFAULT_SOCKET: &str = "/run/sluice/agent.sock";

/// Where the agent looks for policies.
pub const DEFAULT_POLICY_DIR: &str = "/etc/sluice/policies";

/// The agent's directory on the BPF file system.
pub const DEFAULT_PIN_PATH: &str = "/sys/fs/bpf/sluice";

/// The agent's state directory.
pub const DEFAULT_STATE_DIR: &str = "/var/lib/sluice";

/// In the state directory: the policies that were last in force.
pub const LAST_GOOD_FILE: &str = "last-good.json";

/// In the state directory: what becomes [`LAST_GOOD_FILE`] once it is written.
pub const LAST_GOOD_NEW_FILE: &str = "last-good.json.new";

/// In the state directory: a [`LAST_GOOD_FILE`] that could not be understood.
pub const LAST_GOOD_SET_ASIDE_FILE: &str = "last-good.json.set-aside";

/// In the state directory: what interfaces answered when they were asked for a mode.
pub const ANSWERS_FILE: &str = "answers.json";

/// In the state directory: what becomes [`ANSWERS_FILE`] once it is written.
pub const ANSWERS_NEW_FILE: &str = "answers.json.new";

/// In the state directory: the address sets that were last good.
pub const SETS_FILE: &str = "last-good-sets.bin";

/// In the state directory: what becomes [`SETS_FILE`] once it is written.
pub const SETS_NEW_FILE: &str = "last-good-sets.bin.new";

/// In the state directory: a [`SETS_FILE`] that could not be understood.
pub const SETS_SET_ASIDE_FILE: &str = "last-good-sets.bin.set-aside";

/// Everything that the agent ever writes into its state directory.
pub const STATE_FILES: [&str; 8] = [
    LAST_GOOD_FILE,
    LAST_GOOD_NEW_FILE,
    LAST_GOOD_SET_ASIDE_FILE,
    SETS_FILE,
    SETS_NEW_FILE,
    SETS_SET_ASIDE_FILE,
    ANSWERS_FILE,
    ANSWERS_NEW_FILE,
];
