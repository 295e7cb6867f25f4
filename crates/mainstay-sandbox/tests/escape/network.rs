//! Attacks through the network.

use std::net::{TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};

use crate::attacker::{Attack, Verdict, must_fail};

fn socket(family: i32, kind: i32, protocol: i32) -> Verdict {
    must_fail(unsafe { libc::socket(family, kind, protocol) }.into(), "a socket")
}

fn done<T>(result: std::io::Result<T>) -> Verdict {
    result.map(|_| "it got through".to_owned()).map_err(|error| error.to_string())
}

/// The name of an abstract socket.
pub(crate) fn abstract_name(port: u16) -> SocketAddr {
    SocketAddr::from_abstract_name(format!("mainstay-escape-{port}")).unwrap()
}

pub(crate) const LIST: &[(&str, Attack)] = &[
    ("tcp", |t| done(TcpStream::connect(("127.0.0.1", t.port)))),
    ("udp", |t| done(UdpSocket::bind("0.0.0.0:0").and_then(|socket| socket.send_to(b"out", ("127.0.0.1", t.port))))),
    ("tcp6", |_| socket(libc::AF_INET6, libc::SOCK_STREAM, 0)),
    ("raw", |_| socket(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP)),
    ("ping", |_| socket(libc::AF_INET, libc::SOCK_DGRAM, libc::IPPROTO_ICMP)),
    ("packet", |_| socket(libc::AF_PACKET, libc::SOCK_RAW, 0)),
    ("netlink", |_| socket(libc::AF_NETLINK, libc::SOCK_RAW, 0)),
    ("vsock", |_| socket(libc::AF_VSOCK, libc::SOCK_STREAM, 0)),
    ("alg", |_| socket(libc::AF_ALG, libc::SOCK_SEQPACKET, 0)),
    ("unix_path", |t| done(UnixStream::connect(&t.socket))),
    ("unix_datagram", |t| done(UnixDatagram::unbound().and_then(|socket| socket.send_to(b"out", &t.socket)))),
    ("unix_abstract", |t| done(UnixStream::connect_addr(&abstract_name(t.port)))),
    ("listen", |_| done(std::net::TcpListener::bind("0.0.0.0:0"))),
];
