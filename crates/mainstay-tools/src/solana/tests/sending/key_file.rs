//! Wallets that cannot be used: the error names the setting, and never the key.

use super::*;

const SECTION: &str = "solana.networks.localnet.sending";

/// The error for a wallet whose settings or key file were changed.
async fn refused(change: impl FnOnce(&mut SolanaSending, &Path)) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = key_path(directory.path());
    write_key(&path, 0o600);
    let mut sending = wallet_settings(directory.path());
    change(&mut sending, &path);
    let store = testing::setup().await.store;
    let ledger = Ledger::manual();
    let node = ledger.node().await;
    let error = paced_family(&settings(&[node], sending), &store, PACE).err().unwrap();
    let told = format!("{error:?} {}", error.public);
    assert!(!told.contains("1,1,1") && !told.contains("1, 1, 1"), "{told}");
    error.public.into_owned()
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[tokio::test]
async fn a_key_that_others_may_read_is_refused() {
    for mode in [0o644, 0o640, 0o660] {
        let told = refused(|_, path| set_mode(path, mode)).await;
        let expected = [format!("{SECTION}.key_file"), format!("mode {mode:04o}"), "chmod 600".to_owned()];
        assert!(expected.iter().all(|part| told.contains(part)), "{told}");
    }
}

#[tokio::test]
async fn the_path_must_be_absolute_and_lead_to_a_file() {
    let told = refused(|sending, _| sending.key_file = Some("wallet.json".into())).await;
    assert!(told.contains(&format!("{SECTION}.key_file")) && told.contains("absolute"), "{told}");
    let told = refused(|_, path| std::fs::remove_file(path).unwrap()).await;
    assert!(told.contains(&format!("{SECTION}.key_file")) && told.contains("No such file"), "{told}");
    let told = refused(|sending, _| sending.key_file = None).await;
    assert!(told.contains(&format!("{SECTION}.key_file")), "{told}");
    let told = refused(|sending, path| {
        let link = path.with_extension("link");
        std::os::unix::fs::symlink(path, &link).unwrap();
        sending.key_file = Some(link);
    })
    .await;
    assert!(told.contains(&format!("{SECTION}.key_file")), "{told}");
}

#[tokio::test]
async fn a_wallet_needs_both_limits() {
    let one = refused(|sending, _| sending.max_lamports = None).await;
    let day = refused(|sending, _| sending.max_lamports_per_day = None).await;
    for told in [one, day] {
        assert!(told.contains(&format!("{SECTION}.max_lamports and {SECTION}.max_lamports_per_day")), "{told}");
    }
}

#[tokio::test]
async fn a_damaged_key_is_refused_without_being_quoted() {
    for contents in ["", "[1,1,1]", &key_file(1, &other_wallet().address().to_string())] {
        let told = refused(|_, path| {
            std::fs::write(path, contents).unwrap();
            set_mode(path, 0o600);
        })
        .await;
        assert!(told.contains(&format!("{SECTION}.key_file")) && told.contains("key file"), "{told}");
    }
}

#[tokio::test]
async fn a_limit_of_a_token_must_name_a_mint() {
    let limit = super::super::super::SolanaTokenLimit { max_amount: 1, max_amount_per_day: 1 };
    let told = refused(|sending, _| _ = sending.tokens.insert("USDC".to_owned(), limit)).await;
    assert!(told.contains(&format!("{SECTION}.tokens")) && told.contains("USDC"), "{told}");
}

/// A relay needs no key, and does not read one.
#[tokio::test]
async fn the_key_of_a_relay_is_not_read() {
    let sending = |directory: &Path| {
        std::fs::write(key_path(directory), "damaged").unwrap();
        SolanaSending { level: SendLevel::Relay, ..wallet_settings(directory) }
    };
    World::with(Ledger::manual(), 1, PACE, sending).await;
}
