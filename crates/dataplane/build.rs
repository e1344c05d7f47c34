//! Builds the eBPF object of `ebpf/` and leaves it in `OUT_DIR`. The nested build is quiet: its
//! output appears only when it fails.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// `-Z build-std` needs an unstable cargo; this variable allows it for the nested build only.
const ALLOW_UNSTABLE: (&str, &str) = ("RUSTC_BOOTSTRAP", "1");
const TARGET: &str = if cfg!(target_endian = "big") { "bpfeb-unknown-none" } else { "bpfel-unknown-none" };
const RUSTFLAGS: [&str; 5] = [
    "-Cdebuginfo=2",
    "-Clink-arg=--btf",
    // LLVM would lay some loops out so that they fall through into their own head; the verifier of Linux 6.1 takes a
    // backward edge only from a jump.
    "-Clink-arg=--llvm-args=-disable-block-placement",
    // 32-bit arithmetic and jumps; every kernel that has bpf_link for XDP knows them.
    "-Ctarget-cpu=v3",
    // Packet fields are rarely aligned; without this every one is put together from bytes.
    "-Ctarget-feature=+allows-misaligned-mem-access",
];

fn main() -> Result<(), String> {
    let root = root()?;
    for watched in ["ebpf/src", "ebpf/Cargo.toml", "crates/ebpf-common/src", "rust-toolchain.toml"] {
        println!("cargo:rerun-if-changed={}", root.join(watched).display());
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let target = out.join("ebpf");
    let output = nested_cargo(&root, &target)?;
    if !output.status.success() {
        return Err(format!(
            "the eBPF programs do not build:\n{}\nIf bpf-linker is missing: run `make setup` once.",
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    for program in ["sluice", "sluice-tc", "parse-probe", "count-and-drop", "mark-probe"] {
        let built = target.join(TARGET).join("release").join(program);
        fs::copy(&built, out.join(program)).map_err(|error| format!("{}: {error}", built.display()))?;
    }
    Ok(())
}

fn root() -> Result<PathBuf, String> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("CARGO_MANIFEST_DIR is not set")?);
    here.ancestors().nth(2).map(Path::to_path_buf).ok_or_else(|| "no workspace above this crate".into())
}

fn nested_cargo(root: &Path, target: &Path) -> Result<Output, String> {
    let mut cargo = Command::new(env::var_os("CARGO").ok_or("CARGO is not set")?);
    cargo
        .current_dir(root)
        .args(["build", "--release", "--package", "sluice-ebpf", "--bins", "--locked"])
        .args(["-Z", "build-std=core", "--target", TARGET, "--target-dir"])
        .arg(target)
        .env(ALLOW_UNSTABLE.0, ALLOW_UNSTABLE.1)
        .env("CARGO_PROFILE_RELEASE_DEBUG", "2")
        .env("CARGO_ENCODED_RUSTFLAGS", RUSTFLAGS.join("\x1f"))
        .env("PATH", path_with_linker()?);
    // What the outer build sets for its own compiler must not reach the nested one.
    for name in ["RUSTC", "RUSTC_WORKSPACE_WRAPPER", "RUSTC_WRAPPER", "CARGO_BUILD_TARGET", "RUSTFLAGS"] {
        cargo.env_remove(name);
    }
    cargo.output().map_err(|error| format!("cannot run cargo: {error}"))
}

/// `make setup` puts bpf-linker into the cache folder, which need not be on the developer's path.
fn path_with_linker() -> Result<std::ffi::OsString, String> {
    let cache = env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")));
    let first = cache.map(|cache| cache.join("sluice/bin"));
    let path = env::var_os("PATH").unwrap_or_default();
    env::join_paths(first.into_iter().chain(env::split_paths(&path))).map_err(|error| error.to_string())
}
