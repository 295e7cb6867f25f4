//! Tests of the table as a whole.
