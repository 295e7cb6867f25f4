//! A quick hash of a token's text.

/// Hashes the text of a token. It is for counting and for finding candidates: what must not be wrong compares the text.
pub(crate) fn token_hash(text: &[u8]) -> u64 {
    const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = text.len() as u64;
    let (words, rest) = text.as_chunks::<8>();
    for word in words {
        state = (state.rotate_left(23) ^ u64::from_le_bytes(*word)).wrapping_mul(MULTIPLIER);
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    state = (state.rotate_left(23) ^ u64::from_le_bytes(last)).wrapping_mul(MULTIPLIER);
    // The low bits choose the bucket and the high bits the tag of the hash table: both have to depend on all of the text.
    state ^ (state >> 32)
}
