//! The inner loop of the approximate search: in how many bits sketches differ.
//!
//! Compiled for several instruction sets, as `dot` is: without `popcnt`, which the x86-64 baseline lacks, counting
//! the bits of a word takes about a dozen instructions.

use multiversion::multiversion;

/// In how many bits each of the sketches that follow each other in `sketches` differs from the query.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512vpopcntdq+popcnt",
    "x86_64+avx2+popcnt",
    "x86_64+popcnt"
))]
pub(super) fn differing_bits(query: &[u64], sketches: &[[u8; 8]], distances: &mut [u16]) {
    // With a length that is known to the compiler, as for 256 dimensions, the loop over the words disappears.
    if let Ok(query) = <&[u64; 4]>::try_from(query) {
        for (sketch, distance) in sketches.as_chunks::<4>().0.iter().zip(distances) {
            *distance = distance_of(query, sketch);
        }
    } else {
        for (sketch, distance) in sketches.chunks_exact(query.len()).zip(distances) {
            *distance = distance_of(query, sketch);
        }
    }
}

/// Inlined always, since it has to be compiled with the instructions of its caller. A sketch has at most 4,096 bits.
#[expect(clippy::inline_always, reason = "a call would leave the caller's instruction set")]
#[expect(clippy::cast_possible_truncation, reason = "a sketch has at most 4,096 bits")]
#[inline(always)]
fn distance_of(query: &[u64], sketch: &[[u8; 8]]) -> u16 {
    query.iter().zip(sketch).map(|(query, word)| (query ^ u64::from_le_bytes(*word)).count_ones()).sum::<u32>() as u16
}
