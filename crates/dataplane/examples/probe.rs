use sluice_dataplane::instance::*;
use sluice_ebpf_common::{Tables, tables::*};
fn main() {
    let mut tables = Box::new(Tables::EMPTY);
    for fields in [0u32, 8, 0b1010, 0xf, 0x3f, 0xff, 0xfff] {
        tables.fields = fields;
        for w in &mut tables.wild { w[0] = 1; }
        tables.wild_summary = [1; FIELDS];
        let prefixes = vec![0u8; 8 * 65536];
        let t = std::time::Instant::now();
        match Instance::load_unpinned(&Content { tables: &tables, prefixes: &prefixes }, 1000, None, &Varied::default()) {
            Ok(i) => {
                let load = t.elapsed();
                let mut f = vec![0u8; 60];
                f[12] = 8; f[14] = 0x45; f[17] = 46; f[22] = 64; f[23] = 17; f[36]=1; f[39] = 26;
                let mut best = u32::MAX;
                for _ in 0..15 { best = best.min(i.run(&f, 200_000).unwrap().nanoseconds); }
                let id = i.id().unwrap();
                let out = std::process::Command::new("bpftool").args(["prog","show","id",&id.to_string()]).output().unwrap();
                let s = String::from_utf8_lossy(&out.stdout).to_string();
                println!("fields {fields:#x}: load {load:?} run {best} ns {:?} | {}", i.run(&f,1).unwrap().action, s.lines().skip(1).collect::<Vec<_>>().join(" "));
            }
            Err(e) => { let s = format!("{e:?}"); let n = s.len(); println!("fields {fields:#x}: FAILED {} ... {}", &s[..300.min(n)], &s[n.saturating_sub(3000)..]); return; }
        }
    }
}
