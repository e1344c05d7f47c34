//! The yardstick: the XDP program of the packaged `xdp-filter` with all its features, loaded as it is, with as many
//! entries as we have rules.

use std::path::Path;

use anyhow::{Context as _, Result};
use aya::{
    Ebpf, EbpfLoader,
    maps::{PerCpuArray, PerCpuHashMap, PerCpuValues},
    programs::{TestRun as _, TestRunOptions, Xdp},
    util::nr_cpus,
};
use sluice_testkit::BpffsDir;

/// Where Debian's xdp-tools puts it.
const OBJECT: &str = "/usr/lib/x86_64-linux-gnu/bpf/xdpfilt_dny_all.o";
const PROGRAM: &str = "xdpfilt_dny_all";
/// In a map's value: source, destination, TCP, UDP.
const EVERY_WAY: u64 = 0b1111;

/// The loaded program.
pub struct XdpFilter(Ebpf);

impl XdpFilter {
    /// Loads it with `entries` addresses and ports that no packet of the bench has, and one of each that `packet` has.
    pub fn load(entries: usize) -> Result<Self> {
        let file = Path::new(OBJECT);
        // It asks for pinned maps: those of one instance must neither be another's nor outlive the bench.
        let pins = BpffsDir::new("xdp-filter").context("make a folder for its pins")?;
        let mut ebpf = EbpfLoader::new()
            .default_map_pin_directory(pins.path())
            .load_file(file)
            .with_context(|| format!("load {}, which the Debian package xdp-tools has", file.display()))?;
        let program: &mut Xdp = ebpf.program_mut(PROGRAM).context("find xdp-filter's program")?.try_into()?;
        program.load().context("load xdp-filter")?;
        let mut filter = Self(ebpf);
        filter.fill(entries)?;
        Ok(filter)
    }

    fn fill(&mut self, entries: usize) -> Result<()> {
        let every_cpu = || -> Result<PerCpuValues<u64>> {
            let cpus = nr_cpus().map_err(|(what, error)| anyhow::anyhow!("{what}: {error}"))?;
            Ok(PerCpuValues::try_from(vec![EVERY_WAY; usize::try_from(cpus.get())?])?)
        };
        let mut ports: PerCpuArray<_, u64> =
            self.0.map_mut("filter_ports").context("find its ports")?.try_into()?;
        for port in (1000_u32..).take(entries) {
            ports.set(port.to_be() >> 16, every_cpu()?, 0)?;
        }
        let addresses = self.0.map_mut("filter_ipv4").context("find its addresses")?;
        let mut addresses: PerCpuHashMap<_, u32, u64> = addresses.try_into()?;
        for address in (0x0a00_0007_u32..).step_by(256).take(entries) {
            addresses.insert(&address.to_be(), every_cpu()?, 0)?;
        }
        Ok(())
    }

    /// Nanoseconds a run on `frame`.
    pub fn run(&mut self, frame: &[u8], repeat: u32) -> Result<f64> {
        let program: &mut Xdp =
            self.0.program_mut(PROGRAM).context("find xdp-filter's program")?.try_into()?;
        let options = TestRunOptions { data_in: Some(frame), repeat, ..TestRunOptions::new() };
        Ok(program.test_run(options).context("run xdp-filter")?.duration.as_secs_f64() * 1e9)
    }
}
