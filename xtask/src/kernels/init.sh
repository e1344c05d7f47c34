#!/bin/busybox sh
# The first process of a guest: mounts, loads the modules, runs each of $checks, and switches the machine off.
# It judges nothing: `cargo xtask kernels` reads the console.
/bin/busybox --install -s /bin
export PATH=/usr/sbin:/bin RUST_BACKTRACE=0 TESTKIT_NO_SKIP=1
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /run
mount -t bpf bpf /sys/fs/bpf
echo "guest: Linux $(uname -r)"
while read -r module; do
    insmod "/modules/$module" || echo "guest: cannot load the module $module"
done </modules/order
# A failed load shows the verifier's log, often as one line: its beginning and its end are enough.
shorten='length($0) > 3000 { $0 = substr($0, 1, 400) " ... " substr($0, length($0) - 2400) } { print; fflush() }'
for check in $(echo "$checks" | tr , ' '); do
    echo "guest: begin $check"
    "/checks/$check" --test-threads=2 2>&1 | awk "$shorten"
    echo "guest: end $check, $(cut -d " " -f 1 /proc/uptime) s after the start"
done
echo "guest: done"
poweroff -f
