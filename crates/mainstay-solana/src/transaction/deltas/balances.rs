//! Balances before and after, and their difference.

use solana_address::Address;

/// What a transaction changes. Accounts whose balance stays the same are left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Deltas {
    /// In lamports; the change of the fee payer's balance includes it. None where the node did not say.
    pub fee: Option<u64>,
    /// Lamports by account, in the order of the message's accounts.
    pub sol: Vec<(Address, i128)>,
    pub tokens: Vec<TokenDelta>,
}

/// The change of one token account for one owner. If the owner of the account changes, there is one for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenDelta {
    /// The token account.
    pub account: Address,
    /// Who may spend from it; unknown in transactions of before 2021.
    pub owner: Option<Address>,
    pub mint: Address,
    /// In the smallest unit of the token.
    pub amount: i128,
    /// Unknown where the account was given as bytes, which do not have it.
    pub decimals: Option<u8>,
}

/// The holding of a token account at one time.
pub(super) struct Holding {
    pub(super) account: Address,
    pub(super) owner: Option<Address>,
    pub(super) mint: Address,
    pub(super) amount: u64,
    pub(super) decimals: Option<u8>,
}

/// The differences of holdings. What is in one list alone was created or closed.
pub(super) fn token_deltas(before: Vec<Holding>, after: Vec<Holding>) -> Vec<TokenDelta> {
    let mut deltas: Vec<TokenDelta> = Vec::new();
    let signed = before.into_iter().map(|holding| (-1, holding)).chain(after.into_iter().map(|holding| (1, holding)));
    for (sign, Holding { account, owner, mint, amount, decimals }) in signed {
        let change = sign * i128::from(amount);
        let same = |delta: &&mut TokenDelta| delta.account == account && delta.owner == owner && delta.mint == mint;
        match deltas.iter_mut().find(same) {
            Some(delta) => {
                delta.amount += change;
                delta.decimals = delta.decimals.or(decimals);
            }
            None => deltas.push(TokenDelta { account, owner, mint, amount: change, decimals }),
        }
    }
    deltas.retain(|delta| delta.amount != 0);
    deltas
}

/// The differences of lamports, one balance for each account.
pub(super) fn sol_deltas(accounts: &[Address], before: &[u64], after: &[u64]) -> Vec<(Address, i128)> {
    let balances = before.iter().zip(after).map(|(before, after)| i128::from(*after) - i128::from(*before));
    accounts.iter().copied().zip(balances).filter(|(_, change)| *change != 0).collect()
}
