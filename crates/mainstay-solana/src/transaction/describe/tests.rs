use proptest::prelude::*;
use solana_hash::Hash;

use super::super::message::{Header, MessageParts, Version};
use super::super::testing;
use super::*;

fn key(number: u8) -> Address {
    Address::new_from_array([number; 32])
}

/// A message with one instruction that names the accounts 1, 2, 3 and so on.
fn message_of(calls: &[(Address, Vec<u8>, u8)]) -> Message {
    let accounts = calls.iter().map(|(.., accounts)| *accounts).max().unwrap_or_default();
    let mut account_keys: Vec<Address> = (1..=accounts.max(1)).map(key).collect();
    for (program, ..) in calls {
        if !account_keys.contains(program) {
            account_keys.push(*program);
        }
    }
    let index = |program: &Address| u8::try_from(account_keys.iter().position(|key| key == program).unwrap()).unwrap();
    let instructions = calls
        .iter()
        .map(|(program, data, accounts)| Instruction {
            program_index: index(program),
            accounts: (0..*accounts).collect(),
            data: data.clone(),
        })
        .collect();
    let header = Header { required_signatures: 1, readonly_signed: 0, readonly_unsigned: 0 };
    let version = Version::Legacy;
    let recent_blockhash = Hash::default();
    Message::from_parts(MessageParts {
        version,
        header,
        account_keys,
        recent_blockhash,
        instructions,
        lookups: Vec::new(),
    })
    .unwrap()
}

/// The text and the warnings of one instruction, with the accounts `key(1)` to `key(6)` written as `<1>` to `<6>`, and others
/// alike.
fn told(program: Address, data: Vec<u8>, accounts: u8) -> (String, Vec<String>) {
    let description = describe(&message_of(&[(program, data, accounts)]));
    assert_eq!(description.instructions.len(), 1);
    let short =
        |text: &str| (1..=99).fold(text.to_owned(), |text, n| text.replace(&key(n).to_string(), &format!("<{n}>")));
    (short(&description.instructions[0]), description.warnings.iter().map(|text| short(text)).collect())
}

fn bytes(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// Data of the System program.
fn system(number: u32, fields: &[&[u8]]) -> Vec<u8> {
    bytes(&[&number.to_le_bytes(), &fields.concat()])
}

fn u64s(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

#[test]
fn instructions_of_the_system_program_are_described() {
    let seed = bytes(&[&u64s(4), b"seed"]);
    let (ten, owner, base) = (u64s(10_000_000_000), [99; 32], [98; 32]);
    let of_program = "gives the program <99> control over account <1> and its lamports.";
    for (data, text, warning) in [
        (
            system(0, &[&ten, &u64s(165), TOKEN.as_ref()]),
            "create account <2> of 165 bytes with 10.000000000 SOL from <1>, owned by Token \
             (TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA)",
            "",
        ),
        (system(1, &[&owner]), "assign account <1> to program <99>", of_program),
        (system(2, &[&ten]), "transfer 10.000000000 SOL from <1> to <2>", ""),
        (system(2, &[&u64s(u64::MAX)]), "transfer 18446744073.709551615 SOL from <1> to <2>", ""),
        (
            system(3, &[&base, &seed, &ten, &u64s(9), &owner]),
            "create account <2> of 9 bytes with 10.000000000 SOL from <1>, derived from <98> and seed \"seed\", owned by <99>",
            "",
        ),
        (system(5, &[&ten]), "withdraw 10.000000000 SOL from nonce account <1> to <2>, authority <5>", ""),
        (system(6, &[&owner]), "initialize nonce account <1>, authority <99>", ""),
        (
            system(7, &[&owner]),
            "change the authority of nonce account <1> to <99>, authority <2>",
            "changes the authority of nonce account <1> to <99>.",
        ),
        (system(8, &[&u64s(7)]), "allocate 7 bytes for account <1>", ""),
        (
            system(9, &[&base, &seed, &u64s(7), &owner]),
            "allocate 7 bytes for account <1>, derived from <98> and seed \"seed\", and assign it to <99>",
            of_program,
        ),
        (
            system(10, &[&base, &seed, &owner]),
            "assign account <1>, derived from <98> and seed \"seed\", to program <99>",
            of_program,
        ),
        (
            system(11, &[&ten, &seed, &owner]),
            "transfer 10.000000000 SOL from <1> to <3>, where the sender is derived from <2>, seed \"seed\" and program <99>",
            "",
        ),
        (system(12, &[]), "upgrade nonce account <1>", ""),
        (
            system(13, &[&ten, &u64s(9), &owner]),
            "create account <1> of 9 bytes, owned by <99>, adding 10.000000000 SOL from <2>",
            "",
        ),
    ] {
        check(SYSTEM, data, &format!("System: {text}"), warning);
    }
}

/// Compares the one description, and the one warning or none.
fn check(program: Address, data: Vec<u8>, text: &str, warning: &str) {
    let expected: Vec<String> =
        Some(warning).filter(|text| !text.is_empty()).map(|text| format!("Instruction 0 {text}")).into_iter().collect();
    assert_eq!(told(program, data, 6), (text.to_owned(), expected));
}

#[test]
fn instructions_of_both_token_programs_are_described() {
    let owner = [99; 32];
    let amount = u64s(1_500_000);
    let some_owner = bytes(&[&[1], &owner]);
    for (data, text, warning) in [
        (
            bytes(&[&[0, 6], &owner, &[0]]),
            "initialize mint <1> with 6 decimal places, mint authority <99>, freeze authority none",
            "",
        ),
        (
            bytes(&[&[20, 6], &owner, &some_owner]),
            "initialize mint <1> with 6 decimal places, mint authority <99>, freeze authority <99>",
            "",
        ),
        (vec![1], "initialize account <1> of mint <2>, owner <3>", ""),
        (vec![2, 2], "initialize multisig <1> of 2 signers", ""),
        (bytes(&[&[3], &amount]), "transfer 1500000 units from <1> to <2>, authority <3>", ""),
        (
            bytes(&[&[4], &amount]),
            "approve delegate <2> for 1500000 units from <1>, owner <3>",
            "lets <2> spend up to 1500000 units from <1>.",
        ),
        (vec![5], "revoke the delegate of <1>, owner <2>", ""),
        (
            bytes(&[&[6, 2], &some_owner]),
            "set the owner of <1> to <99>, authority <2>",
            "changes the owner of <1> to <99>.",
        ),
        (
            vec![6, 0, 0],
            "set the mint authority of <1> to none, authority <2>",
            "changes the mint authority of <1> to none.",
        ),
        (
            vec![6, 77, 0],
            "set authority number 77 of <1> to none, authority <2>",
            "changes authority number 77 of <1> to none.",
        ),
        (bytes(&[&[7], &amount]), "mint 1500000 units of mint <1> to <2>, authority <3>", ""),
        (
            bytes(&[&[8], &amount]),
            "burn 1500000 units of mint <2> from <1>, authority <3>",
            "destroys 1500000 units of mint <2>.",
        ),
        (vec![9], "close account <1>, its SOL to <2>, owner <3>", "closes account <1>; its SOL goes to <2>."),
        (
            vec![10],
            "freeze account <1> of mint <2>, authority <3>",
            "freezes account <1>: nothing can be moved from it.",
        ),
        (vec![11], "thaw account <1> of mint <2>, authority <3>", ""),
        (bytes(&[&[12], &amount, &[6]]), "transfer 1.500000 of mint <2> from <1> to <3>, authority <4>", ""),
        (
            bytes(&[&[13], &amount, &[6]]),
            "approve delegate <3> for 1.500000 of mint <2> from <1>, owner <4>",
            "lets <3> spend up to 1.500000 of mint <2> from <1>.",
        ),
        (bytes(&[&[14], &amount, &[6]]), "mint 1.500000 of mint <1> to <2>, authority <3>", ""),
        (
            bytes(&[&[15], &amount, &[6]]),
            "burn 1.500000 of mint <2> from <1>, authority <3>",
            "destroys 1.500000 of mint <2>.",
        ),
        (bytes(&[&[16], &owner]), "initialize account <1> of mint <2>, owner <99>", ""),
        (vec![17], "set the token amount of <1> to the SOL it holds", ""),
        (vec![22], "make the owner of account <1> permanent", ""),
        (
            bytes(&[&[26, 1], &amount, &[6], &u64s(15)]),
            "transfer 1.500000 with a fee of 0.000015 of mint <2> from <1> to <3>, authority <4>",
            "",
        ),
        (vec![38], "withdraw the SOL above the rent from <1> to <2>, authority <3>", ""),
        (vec![45, 0], "withdraw all wrapped SOL from <1> to <2>, authority <3>", ""),
        (bytes(&[&[45, 1], &amount]), "withdraw 0.001500000 wrapped SOL from <1> to <2>, authority <3>", ""),
    ] {
        check(TOKEN, data.clone(), &format!("Token: {text}"), warning);
        check(TOKEN_2022, data, &format!("Token-2022: {text}"), warning);
    }
}

#[test]
fn the_parts_of_a_batch_are_described_with_their_own_accounts() {
    let transfer = bytes(&[&[3], &u64s(7)]);
    let data = bytes(&[&[255, 3, 9], &transfer, &[3, 1, 9]]);
    let text = "Token: batch of 2: transfer 7 units from <1> to <2>, authority <3>; close account <4>, its SOL to <5>, owner <6>";
    check(TOKEN, data, text, "closes account <4>; its SOL goes to <5>.");
    for broken in [vec![255, 3], vec![255, 3, 9, 3], vec![255, 7, 1, 9], vec![255, 0, 1, 255], vec![255, 1, 1, 200]] {
        let (text, warnings) = told(TOKEN, broken, 6);
        assert!(text.starts_with("Token: instruction with "), "{text}");
        assert_eq!(warnings, ["Instruction 0 of the program Token could not be decoded; what it does is not known."]);
    }
}

#[test]
fn associated_accounts_memos_and_the_compute_budget_are_described() {
    // The seed of this wallet is known, so its address is on the curve; 32 bytes 3 are on it as well.
    assert!(key(3).is_on_curve());
    for (data, when) in [(vec![], ""), (vec![0], ""), (vec![1], ", unless it exists")] {
        let text = format!("Associated Token: create token account <2> of mint <4> for <3>, paid by <1>{when}");
        check(ASSOCIATED_TOKEN, data, &text, "");
    }
    check(
        ASSOCIATED_TOKEN,
        vec![2],
        "Associated Token: move the tokens of nested account <1> to <3> and close it, owner <6>",
        "closes account <1>.",
    );
    check(MEMO_V1, b"hi".to_vec(), "Memo v1: \"hi\"", "");
    check(MEMO_V2, "a\u{202e}\nb".into(), "Memo v2: \"a\\u{202e}\\nb\"", "");
    for (data, text) in [
        (bytes(&[&[1], &65_536_u32.to_le_bytes()]), "request a heap of 65536 bytes"),
        (bytes(&[&[2], &300_000_u32.to_le_bytes()]), "limit the transaction to 300000 compute units"),
        (bytes(&[&[3], &u64s(1)]), "pay 1 micro-lamports per compute unit"),
        (bytes(&[&[4], &9_u32.to_le_bytes()]), "limit the loaded account data to 9 bytes"),
    ] {
        check(COMPUTE_BUDGET, data, &format!("Compute Budget: {text}"), "");
    }
}

#[test]
fn a_token_account_for_an_address_that_is_no_wallet_is_a_warning() {
    let mut parts = message_of(&[(ASSOCIATED_TOKEN, vec![1], 6)]).parts;
    let derived = testing::address("A5i5gEh5tPM1oEF8zoGeXtbwtABTLWkbEbqq4v6axWHN");
    parts.account_keys[2] = derived;
    let warnings = describe(&Message::from_parts(parts).unwrap()).warnings;
    assert_eq!(
        warnings,
        [format!(
            "Instruction 0 creates a token account for {derived}, which is no wallet but an address of a program."
        )]
    );
}

#[test]
fn unknown_programs_and_instructions_are_named_with_their_size() {
    check(
        key(77),
        vec![1, 2, 3],
        "<77>: instruction with 3 bytes of data and 6 accounts",
        "calls the program <77>, which is not a well-known one; what it does is not known.",
    );
    let stake = testing::address("Stake11111111111111111111111111111111111111");
    for (program, name, data) in [
        (stake, "Stake", vec![4, 0, 0, 0]),
        (SYSTEM, "System", vec![200, 0, 0, 0]),
        (SYSTEM, "System", vec![2, 0, 0, 0]),
        (TOKEN, "Token", vec![]),
        (TOKEN, "Token", vec![3, 1]),
        (TOKEN_2022, "Token-2022", vec![26, 0]),
        (ASSOCIATED_TOKEN, "Associated Token", vec![3]),
        (COMPUTE_BUDGET, "Compute Budget", vec![0]),
        (MEMO_V2, "Memo v2", vec![0xff]),
    ] {
        let size = data.len();
        check(
            program,
            data,
            &format!("{name}: instruction with {size} bytes of data and 6 accounts"),
            &format!("of the program {name} could not be decoded; what it does is not known."),
        );
    }
}

#[test]
fn bytes_after_the_fields_of_an_instruction_are_a_warning() {
    // The System program runs such a transfer, so it must not go unseen.
    let data = system(2, &[&u64s(1), b"xyz"]);
    check(
        SYSTEM,
        data,
        "System: transfer 0.000000001 SOL from <1> to <2>",
        "has 3 bytes of data after what is described.",
    );
}

#[test]
fn an_instruction_with_too_few_accounts_says_so() {
    let (text, _) = told(SYSTEM, system(13, &[&u64s(0), &u64s(9), &[99; 32]]), 1);
    assert_eq!(
        text, "System: create account <1> of 9 bytes, owned by <99>, adding 0.000000000 SOL",
        "the payer is optional"
    );
    let (text, _) = told(SYSTEM, system(2, &[&u64s(1)]), 1);
    assert_eq!(text, "System: transfer 0.000000001 SOL from <1> to (no account given)");
}

#[test]
fn a_durable_nonce_is_a_warning_if_it_comes_first() {
    let advance = (SYSTEM, system(4, &[]), 3);
    let transfer = (SYSTEM, system(2, &[&u64s(1)]), 3);
    let first = describe(&message_of(&[advance.clone(), transfer.clone()]));
    assert_eq!(
        first.warnings,
        [
            "The transaction uses a durable nonce: once signed, it can be sent at any later time until the nonce is advanced."
        ]
    );
    assert_eq!(first.instructions[0], format!("System: advance nonce account {}, authority {}", key(1), key(3)));
    assert_eq!(describe(&message_of(&[transfer, advance])).warnings, [""; 0]);
}

#[test]
fn accounts_of_lookup_tables_are_named_by_their_place_or_by_their_loaded_address() {
    let transaction = testing::transaction(testing::WITH_LOOKUP);
    let description = describe(transaction.message());
    let (first, second) = (testing::address(testing::FIRST), testing::address(testing::SECOND));
    assert_eq!(description.fee_payer, first);
    assert_eq!(description.signers, [first, second]);
    assert_eq!(description.programs, [SYSTEM, MEMO_V2]);
    let transfer = format!("System: transfer 0.000000042 SOL from {first} to entry 4 of lookup table {}", key(9));
    assert_eq!(description.instructions, [transfer.as_str(), "Memo v2: \"hello\""]);
    let warning = format!("The transaction takes 2 accounts from the lookup table {}; the chain says which.", key(9));
    assert_eq!(description.warnings, [warning]);
    let loaded = describe_loaded(transaction.message(), &[key(24), key(21)]);
    assert_eq!(loaded.instructions[0], format!("System: transfer 0.000000042 SOL from {first} to {}", key(24)));
}

#[test]
fn the_priority_fee_is_the_price_times_the_limit_rounded_up() {
    let limit = |units: u32| (COMPUTE_BUDGET, bytes(&[&[2], &units.to_le_bytes()]), 0);
    let price = |micro_lamports: u64| (COMPUTE_BUDGET, bytes(&[&[3], &u64s(micro_lamports)]), 0);
    let other = (SYSTEM, system(2, &[&u64s(1)]), 2);
    for (calls, fee) in [
        (vec![other.clone()], 0),
        (vec![limit(1_000), other.clone()], 0),
        (vec![limit(1_000), price(1_000), other.clone()], 1),
        (vec![limit(1_000), price(1_001), other.clone()], 2),
        (vec![price(1_000_000), other.clone(), other.clone()], 400_000),
        (vec![limit(u32::MAX), price(1_000_000)], 1_400_000),
        (vec![limit(u32::MAX), price(u64::MAX)], u64::MAX),
    ] {
        assert_eq!(max_priority_fee(&message_of(&calls)), fee);
    }
    let dear = describe(&message_of(&[limit(1_000_000), price(10_000_000), other.clone()]));
    assert_eq!(dear.max_priority_fee, 10_000_000);
    assert_eq!(dear.warnings, ["The priority fee is up to 0.010000000 SOL."]);
    assert_eq!(describe(&message_of(&[limit(1_000_000), price(9_999_999), other])).warnings, [""; 0]);
}

#[test]
fn a_description_as_json_names_its_programs() {
    let transaction = testing::transaction(testing::TOKEN_TRANSFER);
    let value = describe(transaction.message()).to_json();
    assert_eq!(value["feePayer"], testing::FIRST);
    assert_eq!(value["signers"], json!([testing::FIRST]));
    assert_eq!(value["programs"][1], json!({"address": TOKEN.to_string(), "name": "Token"}));
    assert_eq!(value["warnings"], json!([]));
    assert_eq!(value["maxPriorityFeeLamports"], "0");
    let mint = key(5);
    let (source, destination) =
        ("A5i5gEh5tPM1oEF8zoGeXtbwtABTLWkbEbqq4v6axWHN", "4HnG3ZwVSKuPrL18Dqfu7oWRh7C6KiL52K75KyboP2P3");
    let (first, second) = (testing::FIRST, testing::SECOND);
    assert_eq!(
        value["instructions"],
        json!([
            format!(
                "Associated Token: create token account {destination} of mint {mint} for {second}, paid by {first}, unless \
                 it exists"
            ),
            format!("Token: transfer 1.500000 of mint {mint} from {source} to {destination}, authority {first}"),
        ])
    );
}

proptest! {
    #[test]
    fn any_data_of_any_program_is_described(
        program in prop::sample::select(vec![SYSTEM, TOKEN, TOKEN_2022, ASSOCIATED_TOKEN, COMPUTE_BUDGET, MEMO_V2]),
        number in 0_u8..48,
        rest in prop::collection::vec(any::<u8>(), 0..120),
        accounts in 0_u8..7,
    ) {
        // Small numbers reach every decoder; the System program has four bytes for them.
        let zeros: &[u8] = if program == SYSTEM { &[0; 3] } else { &[] };
        let message = message_of(&[(program, bytes(&[&[number], zeros, &rest]), accounts)]);
        let description = describe(&message);
        prop_assert_eq!(description.instructions.len(), 1);
        let decoded = !description.instructions[0].contains(": instruction with ");
        prop_assert!(decoded || !description.warnings.is_empty(), "what is not decoded is a warning");
    }
}
