//! Which addresses are one and the same to a limit.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What stands for an address in a limit: this machine has many names for itself, and whoever has one IPv6 address has
/// the 2⁶⁴ beside it as well.
pub(crate) fn of(ip: IpAddr) -> IpAddr {
    let ip = ip.to_canonical();
    if ip.is_loopback() {
        return IpAddr::V4(Ipv4Addr::LOCALHOST);
    }
    match ip {
        IpAddr::V4(_) => ip,
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_one_address_has_those_around_it() {
        for (ip, stands_for) in [
            ("127.0.0.1", "127.0.0.1"),
            ("127.9.8.7", "127.0.0.1"),
            ("::1", "127.0.0.1"),
            ("::ffff:127.0.0.2", "127.0.0.1"),
            ("10.0.0.9", "10.0.0.9"),
            ("::ffff:10.0.0.9", "10.0.0.9"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
            ("2001:db8:1:2::", "2001:db8:1:2::"),
            ("2001:db8:1:3::1", "2001:db8:1:3::"),
        ] {
            assert_eq!(of(ip.parse().unwrap()).to_string(), stands_for, "{ip}");
        }
    }
}
