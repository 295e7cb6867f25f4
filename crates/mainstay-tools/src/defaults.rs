//! Default values of tool arguments, as functions: serde's `default` and the schema's `default` both take a path.

/// An option that is on unless the caller turns it off.
pub(crate) fn yes() -> bool {
    true
}

/// A number of whatever type the argument has.
pub(crate) fn number<T: TryFrom<u32> + Default, const N: u32>() -> T {
    T::try_from(N).unwrap_or_default()
}

/// The directory that path arguments are relative to.
pub(crate) fn workspace_root() -> String {
    ".".to_owned()
}
