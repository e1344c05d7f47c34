//! Loading: whether the verifier takes a program, how many instructions it worked through, how long it took.

use std::time::Instant;

use anyhow::{Context as _, Result};
use aya::{
    Ebpf,
    programs::{Program, ProgramInfo, loaded_programs},
};
use sluice_dataplane::instance::{Compiled, Instance, Varied};

/// Sources that may have a bucket.
pub const SOURCES: u32 = 1000;

/// Loads the product's program as the agent does.
pub fn instance(compiled: &Compiled) -> Result<String> {
    let started = Instant::now();
    let instance = Instance::load_unpinned(&compiled.content(), SOURCES, None, &Varied::default())?;
    note(started, &[instance.id()?])
}

/// Loads every program of another object.
pub fn object(bytes: &[u8]) -> Result<String> {
    let started = Instant::now();
    let mut ebpf = Ebpf::load(bytes).context("open the object")?;
    let mut ids = Vec::new();
    for (name, program) in ebpf.programs_mut() {
        let xdp = match program {
            Program::Xdp(xdp) => xdp,
            other => anyhow::bail!("{name}: a program of kind {:?} has no check yet", other.prog_type()),
        };
        xdp.load().with_context(|| format!("load {name}"))?;
        ids.push(xdp.info()?.id());
    }
    note(started, &ids)
}

fn note(started: Instant, ids: &[u32]) -> Result<String> {
    let milliseconds = started.elapsed().as_millis();
    let loaded = loaded_programs().collect::<Result<Vec<ProgramInfo>, _>>()?;
    let ours = loaded.iter().filter(|program| ids.contains(&program.id()));
    let instructions: Option<u32> = ours.map(ProgramInfo::verified_instruction_count).sum();
    let instructions = instructions.context("the kernel does not tell the verified instructions")?;
    Ok(format!("{instructions} instructions, {milliseconds} ms"))
}
