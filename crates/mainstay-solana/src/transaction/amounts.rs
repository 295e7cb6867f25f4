//! Amounts as decimal text. Floating point numbers are exact up to 2^53 only, so they are not used.

/// One SOL is 10^9 lamports.
const SOL_DECIMALS: u8 = 9;

/// Lamports as SOL with nine decimal places: `5000000000` is `5.000000000`.
pub fn format_sol(lamports: i128) -> String {
    format_amount(lamports, SOL_DECIMALS)
}

/// The smallest units of a token as the token with all of its decimal places: `1500000` with 6 is `1.500000`.
pub fn format_amount(amount: i128, decimals: u8) -> String {
    let places = usize::from(decimals);
    let sign = if amount < 0 { "-" } else { "" };
    // At least one digit stands before the point.
    let digits = format!("{:0>width$}", amount.unsigned_abs(), width = places + 1);
    match digits.split_at_checked(digits.len() - places) {
        Some((whole, fraction)) if !fraction.is_empty() => format!("{sign}{whole}.{fraction}"),
        Some(_) | None => format!("{sign}{digits}"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lamports_are_shown_exactly() {
        for (lamports, sol) in [
            (0, "0.000000000"),
            (1, "0.000000001"),
            (-1, "-0.000000001"),
            (5_000, "0.000005000"),
            (5_000_000_000, "5.000000000"),
            (-1_000_000_001, "-1.000000001"),
            (i128::from(u64::MAX), "18446744073.709551615"),
            (-i128::from(u64::MAX), "-18446744073.709551615"),
            (i128::MIN, "-170141183460469231731687303715.884105728"),
        ] {
            assert_eq!(format_sol(lamports), sol);
        }
    }

    #[test]
    fn amounts_have_as_many_places_as_the_token() {
        assert_eq!(format_amount(1_500_000, 6), "1.500000");
        assert_eq!(format_amount(-42, 0), "-42");
        assert_eq!(format_amount(i128::from(u64::MAX), 0), "18446744073709551615");
        assert_eq!(format_amount(7, 255), format!("0.{}7", "0".repeat(254)));
    }

    proptest! {
        #[test]
        fn without_its_point_the_text_is_the_amount(amount: i128, decimals: u8) {
            let text = format_amount(amount, decimals);
            let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
            prop_assert_eq!(fraction.len(), usize::from(decimals));
            let sign = if amount < 0 { "-" } else { "" };
            let digits = format!("{}{fraction}", whole.trim_start_matches('-'));
            let significant = digits.trim_start_matches('0');
            let significant = if significant.is_empty() { "0" } else { significant };
            prop_assert_eq!(format!("{sign}{significant}"), amount.to_string());
        }
    }
}
