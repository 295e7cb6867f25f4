//! Instructions of the Compute Budget program, and the fee that follows from them.

use super::super::message::Message;
use super::super::programs::COMPUTE_BUDGET;
use super::super::wire::Reader;
use super::instruction::Explained;

/// What a transaction may use at most, and what each of its instructions gets without a limit.
const MAX_UNITS: u64 = 1_400_000;
const UNITS_PER_INSTRUCTION: u64 = 200_000;

/// Prices are in millionths of a lamport.
const MICRO: u128 = 1_000_000;

/// A request about the resources of the whole transaction.
enum Setting {
    HeapFrame(u32),
    UnitLimit(u32),
    UnitPrice(u64),
    LoadedDataLimit(u32),
}

/// Number 0 is retired; a node refuses the transaction.
fn read(data: &mut Reader<'_>) -> Option<Setting> {
    let setting = match data.byte("instruction").ok()? {
        1 => data.u32("bytes").map(Setting::HeapFrame),
        2 => data.u32("units").map(Setting::UnitLimit),
        3 => data.u64("price").map(Setting::UnitPrice),
        4 => data.u32("bytes").map(Setting::LoadedDataLimit),
        _ => return None,
    };
    setting.ok()
}

pub(super) fn explain(data: &mut Reader<'_>) -> Option<Explained> {
    Some(Explained::new(match read(data)? {
        Setting::HeapFrame(bytes) => format!("request a heap of {bytes} bytes"),
        Setting::UnitLimit(units) => format!("limit the transaction to {units} compute units"),
        Setting::UnitPrice(price) => format!("pay {price} micro-lamports per compute unit"),
        Setting::LoadedDataLimit(bytes) => format!("limit the loaded account data to {bytes} bytes"),
    }))
}

/// The priority fee in lamports, at most: the price of a compute unit times the limit, rounded up. It is charged for the limit,
/// not for what is used. Without a limit, a node grants 200,000 units or fewer per instruction.
pub fn max_priority_fee(message: &Message) -> u64 {
    let (mut limit, mut price, mut others) = (None, 0, 0_u64);
    for instruction in message.instructions() {
        if message.program(instruction) != Some(COMPUTE_BUDGET) {
            others += 1;
            continue;
        }
        match read(&mut Reader::new(&instruction.data)) {
            Some(Setting::UnitLimit(units)) => limit = Some(u64::from(units)),
            Some(Setting::UnitPrice(micro_lamports)) => price = micro_lamports,
            Some(Setting::HeapFrame(_) | Setting::LoadedDataLimit(_)) | None => {}
        }
    }
    let units = limit.unwrap_or(others * UNITS_PER_INSTRUCTION).min(MAX_UNITS);
    let fee = (u128::from(price) * u128::from(units)).div_ceil(MICRO);
    u64::try_from(fee).unwrap_or(u64::MAX)
}
