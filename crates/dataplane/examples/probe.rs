use sluice_dataplane::instance::*;
use sluice_ebpf_common::{Tables, tables::*};
fn baseline() -> u32 {
    use aya::programs::{TestRun as _, TestRunOptions, Xdp};
    let mut e = aya::Ebpf::load(sluice_dataplane::test_programs::COUNT_AND_DROP).unwrap();
    let p: &mut Xdp = e.program_mut("count_and_drop").unwrap().try_into().unwrap();
    p.load().unwrap();
    let f = vec![0u8; 60];
    (0..15)
        .map(|_| {
            p.test_run(TestRunOptions { data_in: Some(&f), repeat: 200_000, ..TestRunOptions::new() })
                .unwrap()
                .duration
                .as_nanos() as u32
        })
        .min()
        .unwrap()
}
fn main() {
    println!("bare {}", baseline());
    let mut tables = Box::new(Tables::EMPTY);
    for fields in [0u32, 8, 0b1010, 0xf, 0x3f, 0xff, 0xfff] {
        tables.fields = fields;
        for w in &mut tables.wild {
            w[0] = 1;
        }
        tables.wild_summary = [1; FIELDS];
        let prefixes = vec![0u8; 8 * 65536];
        let t = std::time::Instant::now();
        match Instance::load_unpinned(
            &Content { tables: &tables, prefixes: &prefixes },
            1000,
            None,
            &Varied::default(),
        ) {
            Ok(i) => {
                let load = t.elapsed();
                let mut f = vec![0u8; 60];
                f[12] = 8;
                f[14] = 0x45;
                f[17] = 46;
                f[22] = 64;
                f[23] = 17;
                f[36] = 1;
                f[39] = 26;
                let mut best = u32::MAX;
                for _ in 0..15 {
                    best = best.min(i.run(&f, 200_000).unwrap().nanoseconds);
                }
                let mut g = f.clone();
                g[13] = 6;
                println!("arp {}", i.run(&g, 200_000).unwrap().nanoseconds);
                if fields == 0 {
                    std::thread::sleep(std::time::Duration::from_secs(1));
                    let o = std::process::Command::new("bpftool")
                        .args(["prog", "dump", "xlated", "id", &i.id().unwrap().to_string()])
                        .output()
                        .unwrap();
                    std::fs::write("/tmp/xl", o.stdout).unwrap();
                }
                let id = i.id().unwrap();
                let out = std::process::Command::new("bpftool")
                    .args(["prog", "show", "id", &id.to_string()])
                    .output()
                    .unwrap();
                let s = String::from_utf8_lossy(&out.stdout).to_string();
                println!(
                    "fields {fields:#x}: load {load:?} run {best} ns {:?} | {}",
                    i.run(&f, 1).unwrap().action,
                    s.lines().skip(1).collect::<Vec<_>>().join(" ")
                );
            }
            Err(e) => {
                let s = format!("{e:?}");
                let n = s.len();
                println!(
                    "fields {fields:#x}: FAILED {} ... {}",
                    &s[..300.min(n)],
                    &s[n.saturating_sub(3000)..]
                );
                return;
            }
        }
    }
}
