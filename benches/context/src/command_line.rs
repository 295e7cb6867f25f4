//! A query from the command line: a program that starts, reads the cache, answers and ends.

use anyhow::Result;
use yardstick::{progress, turns};

use crate::Settings;
use crate::deed::{Deed, Deeds};
use crate::field::Field;
use crate::questions::{ensure_same_text, questions};
use crate::shelf::Shelf;

pub(crate) async fn run(field: &Field, shelf: &mut Shelf, settings: &Settings) -> Result<Vec<Deeds>> {
    let name = shelf.cache(field, settings.documents).await?;
    let cache = shelf.root.join(name);
    let questions = questions();
    let mut all: Vec<Deeds> = field.sides.iter().map(|side| Deeds::new(side.command_line())).collect();
    for round in 0..=settings.rounds {
        progress(&format!("resolve from the command line, round {round} of {}", settings.rounds));
        let question = &questions[round % questions.len()];
        let mut answer: Option<Vec<u8>> = None;
        for at in turns(round, all.len()) {
            let deed = Deed::of(field.resolve(field.sides[at], &cache, question)?).await?;
            all[at].push(round, &deed);
            if let Some(answer) = &answer {
                ensure_same_text(&question.query, answer, &deed.stdout)?;
            }
            answer = Some(deed.stdout);
        }
    }
    Ok(all)
}
