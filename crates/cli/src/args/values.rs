//! *Values* of options: times, sizes, ranges, macros, numbers of threads.

use std::time::Duration;

use palisade_program::Domain;
use palisade_verify::Threads;

/// A number of copies, or `any`.
pub(super) fn threads(text: &str) -> Result<Threads, String> {
    if text == "any" {
        return Ok(Threads::Any);
    }
    match text.parse::<u32>() {
        Ok(n) if n > 0 => Ok(Threads::Exactly(n)),
        Ok(_) | Err(_) => Err("a number from 1, or `any`".to_owned()),
    }
}

/// A time such as `10`, `1.5s`, `500ms`, `2m`, `1h`; a bare number is seconds.
pub(super) fn parse_time(text: &str) -> Result<Duration, String> {
    let (number, unit) = split_unit(text);
    let factor = match unit {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("unknown unit `{unit}`; use ms, s, m or h")),
    };
    let seconds = parse_amount(number)? * factor;
    Duration::try_from_secs_f64(seconds).map_err(|_| "too long".to_owned())
}

/// A size such as `500M` or `2G` (powers of 1024); a bare number is bytes.
pub(super) fn parse_size(text: &str) -> Result<u64, String> {
    let (number, unit) = split_unit(text);
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err(format!("unknown unit `{unit}`; use K, M, G or T")),
    };
    let bytes = parse_amount(number)? * (1_u64 << shift) as f64;
    if bytes < 1.0 {
        return Err("must be positive".to_owned());
    }
    // The conversion saturates: beyond 16 EiB there is no limit.
    Ok(bytes as u64)
}

/// Splits a number from the unit behind it.
fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim())
}

fn parse_amount(number: &str) -> Result<f64, String> {
    number
        .parse::<f64>()
        .map_err(|_| "expected a number, then a unit".to_owned())
}

/// A range of values such as `-8..8`, both ends included.
pub(super) fn parse_range(text: &str) -> Result<Domain, String> {
    let parts = text
        .split_once("..")
        .ok_or("expected LO..HI, such as -8..8");
    let (lo, hi) = parts.map_err(str::to_owned)?;
    let hi = hi.strip_prefix('=').unwrap_or(hi);
    let number = |part: &str| {
        part.trim()
            .parse::<i64>()
            .map_err(|_| format!("`{part}` is no 64-bit integer"))
    };
    let domain = Domain {
        lo: number(lo)?,
        hi: number(hi)?,
    };
    if domain.lo > domain.hi {
        return Err(format!(
            "empty: {} is greater than {}",
            domain.lo, domain.hi
        ));
    }
    Ok(domain)
}

/// A macro such as `NAME`, `NAME=VALUE` or, as TVLA writes it, `NAME(VALUE)`.
pub(super) fn parse_define(text: &str) -> Result<(String, String), String> {
    let in_parentheses = || text.strip_suffix(')').and_then(|text| text.split_once('('));
    let (name, value) = text
        .split_once('=')
        .or_else(in_parentheses)
        .unwrap_or((text, "1"));
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let starts_well = !name.starts_with(|c: char| c.is_ascii_digit());
    if name.is_empty() || !name.chars().all(is_word) || !starts_well {
        return Err(format!("`{name}` is no name; expected NAME or NAME=VALUE"));
    }
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(parse_time("10"), Ok(Duration::from_secs(10)));
        assert_eq!(parse_time("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_time("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_time("2m"), Ok(Duration::from_mins(2)));
        assert!(parse_time("-1").is_err());
        assert!(parse_time("1 year").is_err());
        assert!(parse_time("").is_err());
    }

    #[test]
    fn defines() {
        let pair = |name: &str, value: &str| Ok((name.to_owned(), value.to_owned()));
        assert_eq!(parse_define("SOFT"), pair("SOFT", "1"));
        assert_eq!(parse_define("N=a(b)"), pair("N", "a(b)"));
        assert_eq!(parse_define("GNUM(3)"), pair("GNUM", "3"));
        assert_eq!(parse_define("EMPTY="), pair("EMPTY", ""));
        assert!(parse_define("=1").is_err());
        assert!(parse_define("1x").is_err());
        assert!(parse_define("a b").is_err());
    }

    #[test]
    fn sizes() {
        assert_eq!(parse_size("2G"), Ok(2 << 30));
        assert_eq!(parse_size("500 MiB"), Ok(500 << 20));
        assert_eq!(parse_size("0.5k"), Ok(512));
        assert!(parse_size("0").is_err());
        assert!(parse_size("G").is_err());
    }

    #[test]
    fn ranges() {
        assert_eq!(parse_range("-8..8"), Ok(Domain { lo: -8, hi: 8 }));
        assert_eq!(parse_range("0..=3"), Ok(Domain { lo: 0, hi: 3 }));
        assert!(parse_range("3..0").is_err());
        assert!(parse_range("3").is_err());
    }
}
