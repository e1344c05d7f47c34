//! Generates the Rust of the agent's gRPC interface from `proto/`. It needs no `protoc`.

use std::error::Error;

const PACKAGE: &str = ".sluice.agent.v1alpha1";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let descriptors = protox::compile(["sluice/agent/v1alpha1/agent.proto"], ["proto"])?;
    tonic_prost_build::configure()
        .emit_rerun_if_changed(false)
        // What `sluicectl status -o json` prints is these messages: one shape, not two.
        .message_attribute(PACKAGE, "#[derive(serde::Serialize)]\n#[serde(rename_all = \"camelCase\")]")
        .field_attribute(
            format!("{PACKAGE}.PolicyStatus.state"),
            "#[serde(serialize_with = \"crate::state::serialize\")]",
        )
        .field_attribute(
            format!("{PACKAGE}.AddressSetStatus.state"),
            "#[serde(serialize_with = \"crate::state::serialize_set\")]",
        )
        .compile_fds(descriptors)?;
    Ok(())
}
