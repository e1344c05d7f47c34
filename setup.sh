#!/usr/bin/env bash
# Gets a machine ready to build, demonstrate or test Sluice, and does nothing where that is done already.
#   ./setup.sh build   toolchain and BPF linker
#   ./setup.sh demo    the same, and the Debian packages that the demo calls (root)
#   ./setup.sh test    the same, and the tools and Debian packages of the tests
#   ./setup.sh step LABEL NAME COMMAND...   one long command in one line; its output only if it fails
# Tools go to ${XDG_CACHE_HOME:-~/.cache}/sluice, never into the tree. The Makefile calls this script.
set -euo pipefail
cd "$(dirname "$0")"

# The one place of the tools' versions. Rust's own is in rust-toolchain.toml.
BPF_LINKER=0.13.0
CARGO_NEXTEST=0.9.151
CARGO_DENY=0.20.2
TYPOS=1.52.0
TAPLO=0.9.3
RUST=$(sed -n 's/^channel = "\(.*\)"$/\1/p' rust-toolchain.toml)

# Programs and the Debian packages that bring them.
BUILD_PROGRAMS=(cc:gcc c++:g++ ld:binutils)
DEMO_PROGRAMS=(ip:iproute2 ethtool:ethtool nsenter:util-linux)
TEST_PROGRAMS=(bpftool:bpftool xdp-loader:xdp-tools trafgen:netsniff-ng iperf3:iperf3 tcpdump:tcpdump
    sysctl:procps git:git)

CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/sluice
export PATH=$CACHE/bin:$PATH:$HOME/.cargo/bin:/usr/local/sbin:/usr/sbin:/sbin

PREFIX=set-up
say() { printf '%s: %s\n' "$PREFIX" "$*" >&2; }
die() { say "$*"; exit 1; }

# step LABEL NAME COMMAND...: runs a long command with its output in a log, and shows that it lives.
step() {
    local label=$1 log=$CACHE/log/$2.log start=$SECONDS status=0
    shift 2
    mkdir -p "$CACHE/log"
    [ -t 2 ] || say "$label ..."
    "$@" >"$log" 2>&1 </dev/null &
    local pid=$!
    trap 'kill "$pid" 2>/dev/null' INT TERM
    local next=$((start + 30))
    while kill -0 "$pid" 2>/dev/null; do
        if [ -t 2 ]; then
            printf '\r\033[K%s: %s, %d s: %s' "$PREFIX" "$label" $((SECONDS - start)) "$(last_words "$log")" >&2
        elif [ "$SECONDS" -ge "$next" ]; then
            say "$label: $((SECONDS - start)) s$(crates "$log") ..."
            next=$((SECONDS + 30))
        fi
        sleep 0.5
    done
    wait "$pid" || status=$?
    trap - INT TERM
    [ ! -t 2 ] || printf '\r\033[K' >&2
    if [ "$status" -ne 0 ]; then
        grep -vE '^ +(Adding|Checking|Compiling|Downloaded|Downloading) ' "$log" | tail -n 200 >&2
        die "$label failed after $((SECONDS - start)) s; the whole log: $log"
    fi
    say "$label: done in $((SECONDS - start)) s"
}

# How many crates cargo has begun to compile, in words; nothing for what is no build.
crates() { awk '/^ *Compiling / { n++ } END { if (n) printf ", %d crates", n }' "$1"; }

last_words() { tail -c 400 "$1" | tr '\r' '\n' | sed 's/\x1b\[[0-9;]*[A-Za-z]//g' | grep -v '^ *$' | tail -n 1 | cut -c 1-50; }

# version_is VERSION COMMAND...: whether the command runs and prints this version.
version_is() {
    local version=$1
    shift
    [[ " $("$@" 2>/dev/null | head -n 1) " == *" $version "* ]]
}

# debian PROGRAM:PACKAGE...: installs the packages of those programs that are not there.
debian() {
    local pair missing=()
    for pair in "$@"; do
        command -v "${pair%%:*}" >/dev/null || missing+=("${pair#*:}")
    done
    [ ${#missing[@]} -ne 0 ] || return 0
    if [ "$(id -u)" -ne 0 ]; then
        say "missing, and only root may install them: apt-get install ${missing[*]}"
        return 0
    fi
    command -v apt-get >/dev/null || die "this machine has no apt-get; install by hand what brings: ${missing[*]}"
    step "Debian packages ${missing[*]}" debian install_debian "${missing[@]}"
}

install_debian() {
    export DEBIAN_FRONTEND=noninteractive
    apt-get update && apt-get install -y --no-install-recommends "$@"
}

toolchain() {
    command -v rustup >/dev/null || die "rustup is missing; https://rustup.rs says how to get it"
    local sysroot
    sysroot=$(sysroot)
    if [ ! -e "$sysroot/lib/rustlib/src/rust/library/core" ] || [ ! -x "$sysroot/bin/rustfmt" ] ||
        [ ! -x "$sysroot/bin/cargo-clippy" ]; then
        step "Rust $RUST" rust rustup toolchain install "$RUST" --profile minimal --no-self-update \
            --component rust-src --component rustfmt --component clippy
    fi
}

# rustup run never installs by itself, whatever RUSTUP_AUTO_INSTALL says.
sysroot() { rustup run "$RUST" rustc --print sysroot 2>/dev/null || true; }

# install_crate NAME VERSION OPTIONS...: light optimisation, since these tools work for milliseconds.
install_crate() {
    CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
        CARGO_PROFILE_RELEASE_DEBUG=false CARGO_TARGET_DIR="$CACHE/build" \
        rustup run "$RUST" cargo install "$1" --version "$2" --locked --force --root "$CACHE" "${@:3}"
    rm -rf "$CACHE/build"
}

# The linker uses the toolchain's own LLVM: the same that compiles, and no other has to be installed.
bpf_linker() {
    local library
    library=$(find "$(sysroot)/lib" -maxdepth 1 -name 'libLLVM.so.*' | head -n 1)
    [ -n "$library" ] || die "Rust $RUST brings no libLLVM here; reinstall it: rustup toolchain uninstall $RUST"
    if [ "$(readlink "$CACHE/llvm/lib/libLLVM.so")" = "$library" ] &&
        version_is "$BPF_LINKER" bpf-linker --version; then
        return
    fi
    rm -rf "$CACHE/llvm"
    mkdir -p "$CACHE/llvm/lib"
    ln -s "$library" "$CACHE/llvm/lib/libLLVM.so"
    ln -s "$library" "$CACHE/llvm/lib/$(basename "$library")"
    LLVM_PREFIX=$CACHE/llvm step "bpf-linker $BPF_LINKER (a minute)" bpf-linker \
        install_crate bpf-linker "$BPF_LINKER" --no-default-features --features llvm-22
}

test_tools() {
    version_is "$CARGO_NEXTEST" cargo-nextest nextest --version ||
        step "cargo-nextest $CARGO_NEXTEST (minutes)" cargo-nextest \
            install_crate cargo-nextest "$CARGO_NEXTEST" --no-default-features --features default-no-update
    version_is "$CARGO_DENY" cargo-deny --version ||
        step "cargo-deny $CARGO_DENY (minutes)" cargo-deny install_crate cargo-deny "$CARGO_DENY"
    if ! version_is "$TYPOS" typos --version || ! version_is "$TAPLO" taplo --version; then
        local python
        python=$(python_with_venv)
        step "typos $TYPOS, taplo $TAPLO" wheels install_wheels "$python"
    fi
}

python_with_venv() {
    local python
    for python in python3 /usr/bin/python3; do
        if "$python" -c 'import ensurepip, venv' 2>/dev/null; then
            echo "$python"
            return
        fi
    done
    [ "$(id -u)" -eq 0 ] || die "typos and taplo need Python's venv module; as root: apt-get install python3-venv"
    step "Debian package python3-venv" debian install_debian python3-venv
    echo /usr/bin/python3
}

install_wheels() {
    rm -rf "$CACHE/python"
    "$1" -m venv "$CACHE/python"
    "$CACHE/python/bin/pip" install --only-binary :all: "typos==$TYPOS" "taplo==$TAPLO"
    mkdir -p "$CACHE/bin"
    ln -sf ../python/bin/typos ../python/bin/taplo "$CACHE/bin/"
}

main() {
    local goal=${1:-}
    if [ "$goal" = step ]; then
        PREFIX=build
        step "${@:2}"
        return
    fi
    [[ $goal =~ ^(build|demo|test)$ ]] || die "say what for: build, demo or test"
    if [ "$(id -u)" -ne 0 ]; then
        [ "$goal" != demo ] || die "the demo needs root: it makes network namespaces and loads programs into the kernel"
        [ "$goal" != test ] || say "without root every test of the kernel is skipped; run as root for all of them"
    fi
    mkdir -p "$CACHE"
    exec 9>"$CACHE/lock"
    flock -n 9 || { say "waiting for another set-up"; flock 9; }
    local programs=("${BUILD_PROGRAMS[@]}")
    [ "$goal" = build ] || programs+=("${DEMO_PROGRAMS[@]}")
    [ "$goal" != test ] || programs+=("${TEST_PROGRAMS[@]}")
    debian "${programs[@]}"
    command -v cc >/dev/null || die "a C compiler is needed to link"
    toolchain
    bpf_linker
    [ "$goal" != test ] || test_tools
}

main "$@"
