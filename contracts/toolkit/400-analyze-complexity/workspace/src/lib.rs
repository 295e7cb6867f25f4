/// One function with one decision.
pub fn sign(number: i32) -> i32 {
    if number < 0 { -1 } else { 1 }
}
