//! The part of an address that limits count by.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses that one client can use at will have the same prefix: every loopback address counts as `127.0.0.1`, an
/// IPv4-mapped address as the IPv4 address, and an IPv6 address as its /64 network.
pub fn ip_prefix(ip: IpAddr) -> IpAddr {
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
    fn addresses_of_one_machine_or_one_ipv6_network_have_one_prefix() {
        for (ip, prefix) in [
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
            assert_eq!(ip_prefix(ip.parse().unwrap()).to_string(), prefix, "{ip}");
        }
    }
}
