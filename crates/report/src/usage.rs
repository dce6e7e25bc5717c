//! *Usage*: processor time and memory of this process, and the machine's
//! memory, as Linux tells them. Elsewhere they read 0 or nothing.

use std::fs;

/// Processor time of all threads so far, in seconds.
pub fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Resident memory now, in bytes.
pub fn resident_bytes() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|text| text.split_whitespace().nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}

/// Largest resident memory so far, in bytes.
pub fn peak_bytes() -> u64 {
    field("/proc/self/status", "VmHWM:").unwrap_or(0)
}

/// Lets [`peak_bytes`] start anew from what is held now; tells the peak so far.
pub fn forget_peak() -> u64 {
    let peak = peak_bytes();
    // Where the kernel does not allow it, peaks include what came before.
    let _ = fs::write("/proc/self/clear_refs", "5");
    peak
}

/// The memory that this process may hope for: the machine's, or what its
/// control group is allowed.
pub fn machine_bytes() -> Option<u64> {
    let total = field("/proc/meminfo", "MemTotal:");
    let group = fs::read_to_string("/sys/fs/cgroup/memory.max")
        .ok()
        .and_then(|text| text.trim().parse::<u64>().ok());
    total.into_iter().chain(group).min()
}

/// A line such as `VmHWM:  1234 kB`, in bytes.
fn field(path: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn linux_tells() {
        assert!(cpu_seconds() > 0.0);
        assert!(resident_bytes() > 0);
        assert!(peak_bytes() >= 4096);
        assert!(machine_bytes().is_some_and(|bytes| bytes > peak_bytes()));
    }
}
