//! The inner loop of vector search: products of a query with stored vectors.
//!
//! Plain loops, of which the compiler makes vector instructions: for every x86-64 processor, for AVX2 and for AVX-512, of
//! which the best is chosen at run time. All of it is integer arithmetic, so that the results are the same everywhere.

use multiversion::multiversion;

/// The products of the query with the rows that follow each other in `rows`.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
pub(super) fn dot_rows(query: &[i16], rows: &[u8], products: &mut [i32]) {
    for (row, product) in rows.chunks_exact(query.len()).zip(products) {
        *product = dot(query, row);
    }
}

/// The products of the query with the rows of these numbers. A number past the last row gives 0.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
pub(crate) fn dot_selected(query: &[i16], rows: &[u8], selected: &[u32], products: &mut [i32]) {
    for (id, product) in selected.iter().zip(products) {
        let start = *id as usize * query.len();
        *product = rows.get(start..start + query.len()).map_or(0, |row| dot(query, row));
    }
}

/// Inlined always, since it has to be compiled with the instructions of its caller.
#[expect(clippy::inline_always, reason = "a call would leave the caller's instruction set")]
#[inline(always)]
fn dot(query: &[i16], row: &[u8]) -> i32 {
    query.iter().zip(row).map(|(query, code)| i32::from(*query) * i32::from(code.cast_signed())).sum()
}
