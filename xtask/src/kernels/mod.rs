//! `cargo xtask kernels`: shows that the verifier of other kernels takes the eBPF programs, in QEMU guests
//! that need neither root nor hardware help. Everything is fetched into the cache; nothing is installed,
//! and the host's kernel, network and packages stay as they are.

mod answers;
mod archive;
mod cache;
mod emulator;
mod guest;
mod initramfs;
mod kernel;
mod mirror;
mod programs;
mod summary;

use std::env;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use crate::demo::interrupt;
use crate::step::step;
use answers::Answers;
use archive::Archive;
use cache::Cache;
use emulator::Emulator;
use kernel::Kernel;
use programs::Program;
use summary::{Column, Summary};

/// A kernel series, and the suite of Debian's archive that carries it.
struct Series {
    name: &'static str,
    suites: &'static [&'static str],
}

/// With the emulator. Never in one configuration with [`NEXT`], whose C library apt would then prefer.
const OWN: &[&str] = &["bookworm", "bookworm-updates", "bookworm-backports"];
const NEXT: &[&str] = &["trixie-backports"];

/// Oldest first. From 7.0 on Debian splits a kernel into `linux-binary-*` and `linux-modules-*`.
const SERIES: [Series; 3] = [
    Series { name: "6.1", suites: OWN },
    Series { name: "6.12", suites: OWN },
    Series { name: "6.18", suites: NEXT },
];

/// Several times what a guest takes on a busy machine of two CPUs.
const DEADLINE: Duration = Duration::from_mins(3);
const DEADLINE_OF_TESTS: Duration = Duration::from_mins(20);

/// Asks the newest kernel of each series, or of those in `only`; with `tests`, runs tests there too.
pub fn run(only: &[String], tests: bool) -> Result<()> {
    let series = choose(only)?;
    ensure!(env::consts::ARCH == "x86_64", "the guests are x86_64, and so must be this machine");
    interrupt::listen()?;
    let cache = Cache::open()?;
    let programs = step("kernels: programs and tests", || programs::build(cache.partial(), tests))?;
    let own = step("kernels: package lists", || Archive::open(&cache.lists("own"), OWN))?;
    let emulator = step("kernels: emulator", || Emulator::get(&cache, &own))?;
    let mut kernels = Vec::new();
    for series in &series {
        let label = format!("kernels: Linux {}", series.name);
        kernels.push(step(&label, || fetch(&cache, &own, series, &emulator))?);
        interrupt::check()?;
    }
    let columns = ask_all(&cache, &emulator, &series, kernels, &programs)?;
    let result = print(&Summary::of(&programs, &columns));
    eprintln!("kernels: what the guests wrote: {}", cache.console("*").display());
    result
}

fn choose(only: &[String]) -> Result<Vec<&'static Series>> {
    let known = SERIES.map(|series| series.name);
    for name in only {
        ensure!(known.contains(&name.as_str()), "kernel {name}: only {} are asked", known.join(", "));
    }
    Ok(SERIES
        .iter()
        .filter(|series| only.is_empty() || only.iter().any(|name| name == series.name))
        .collect())
}

/// A kernel, or why the mirror does not have it. Any other trouble is an error.
type Found = Result<Kernel, String>;

fn fetch(cache: &Cache, own: &Archive, series: &Series, emulator: &Emulator) -> Result<Found> {
    let next;
    let archive = if series.suites == OWN {
        own
    } else {
        next = match Archive::open(&cache.lists("next"), series.suites) {
            Ok(archive) => archive,
            Err(error) => return Ok(Err(format!("{error:#}"))),
        };
        &next
    };
    let found = Kernel::get(cache, archive, series.name, &emulator.busybox())?;
    Ok(found.ok_or_else(|| format!("the package mirror has no linux-image-{}.*-amd64", series.name)))
}

/// One guest a kernel, all at once: most of a guest's time is not work.
fn ask_all(
    cache: &Cache,
    emulator: &Emulator,
    series: &[&'static Series],
    kernels: Vec<Found>,
    programs: &[Program],
) -> Result<Vec<Column>> {
    let ask = |(series, kernel): (&&'static Series, Found)| -> Result<Column> {
        let kernel = match kernel {
            Ok(kernel) => kernel,
            Err(missing) => return Ok(Column::skipped(series.name, missing)),
        };
        let started = Instant::now();
        let answers = ask(cache, emulator, series.name, &kernel, programs)
            .with_context(|| format!("the guest with Linux {}", kernel.version))?;
        let seconds = started.elapsed().as_secs_f64();
        eprintln!("kernels: guest with Linux {}: ended ({seconds:.1} s)", kernel.version);
        Ok(Column::answered(series.name, kernel.version, answers))
    };
    thread::scope(|scope| {
        let guests: Vec<_> =
            series.iter().zip(kernels).map(|guest| scope.spawn(move || ask(guest))).collect();
        guests
            .into_iter()
            .map(|guest| guest.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

fn ask(
    cache: &Cache,
    emulator: &Emulator,
    series: &str,
    kernel: &Kernel,
    programs: &[Program],
) -> Result<Answers> {
    let folder = cache.partial().join(series);
    let initramfs = initramfs::build(&folder, &emulator.busybox(), &kernel.modules(), programs)?;
    let names: Vec<&str> = programs.iter().map(|program| program.name.as_str()).collect();
    let command = emulator.guest(&kernel.image(), &initramfs, &names);
    let deadline = if programs.len() == 1 { DEADLINE } else { DEADLINE_OF_TESTS };
    let console = guest::run(command, &folder.join("console"), deadline)?;
    fs::write(cache.console(series), &console).context("keep what the guest wrote")?;
    Ok(Answers::read(&console))
}

fn print(summary: &Summary) -> Result<()> {
    print!("{summary}");
    let may_skip = env::var_os(sluice_testkit::feature::NO_SKIP).is_none_or(|value| value != "1");
    ensure!(summary.failed == 0 && summary.passed > 0, "a kernel does not take the programs");
    ensure!(summary.skipped == 0 || may_skip, "kernels were skipped, and none may be here");
    Ok(())
}
