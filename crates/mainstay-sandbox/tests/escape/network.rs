//! Attacks through the network.

use std::net::{TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};
use std::path::Path;

use crate::attacker::{Attack, Verdict, must_fail};

fn socket(family: i32, kind: i32, protocol: i32) -> Verdict {
    must_fail(unsafe { libc::socket(family, kind, protocol) }.into(), "a socket")
}

fn done<T>(result: std::io::Result<T>) -> Verdict {
    result.map(|_| "it got through".to_owned()).map_err(|error| error.to_string())
}

/// Sends from one end of a pair to a socket of another process, or connects to it. The other end must get nothing: a
/// connected socket ignores the address.
fn sent_from_pair(kind: i32, path: &Path) -> Verdict {
    let mut ends = [0; 2];
    if unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) } == -1 {
        return Err(std::io::Error::last_os_error().to_string());
    }
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = u16::try_from(libc::AF_UNIX).unwrap();
    for (to, from) in address.sun_path.iter_mut().zip(path.as_os_str().as_bytes()) {
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    let (address, size) = ((&raw const address).cast(), u32::try_from(size_of_val(&address)).unwrap());
    let sent = unsafe { libc::sendto(ends[0], b"out".as_ptr().cast(), 3, libc::MSG_NOSIGNAL, address, size) };
    let stayed = unsafe { libc::recv(ends[1], [0u8; 8].as_mut_ptr().cast(), 8, libc::MSG_DONTWAIT) };
    if sent == 3 && stayed != 3 {
        return Ok("it was sent".into());
    }
    must_fail(unsafe { libc::connect(ends[0], address, size) }.into(), "it was connected")
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
    ("datagram_pair", |t| sent_from_pair(libc::SOCK_DGRAM, &t.socket)),
    ("raw_pair", |t| sent_from_pair(libc::SOCK_RAW, &t.socket)),
    ("stream_pair", |t| sent_from_pair(libc::SOCK_STREAM, &t.socket)),
    ("packet_pair", |t| sent_from_pair(libc::SOCK_SEQPACKET, &t.socket)),
    ("datagram_pair_in_workspace", |_| sent_from_pair(libc::SOCK_DGRAM, Path::new("datagrams"))),
    ("stream_pair_in_workspace", |_| sent_from_pair(libc::SOCK_STREAM, Path::new("datagrams"))),
    ("packet_pair_in_workspace", |_| sent_from_pair(libc::SOCK_SEQPACKET, Path::new("datagrams"))),
    ("unix_abstract", |t| done(UnixStream::connect_addr(&abstract_name(t.port)))),
    ("listen", |_| done(std::net::TcpListener::bind("0.0.0.0:0"))),
];
