//! A client for the nodes of a network.
