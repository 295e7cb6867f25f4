//! What travels over a transport, as data. Nothing here reads or writes a socket.

pub mod jsonrpc;
