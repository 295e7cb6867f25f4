//! The methods of the RPC interface, as one table.
