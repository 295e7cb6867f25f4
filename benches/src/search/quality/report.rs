//! The tables of quality.

use std::fmt::{self, Write};

use super::ndcg::mean;
use super::{FunctionScores, QualityResults, RepositoryScores};

impl QualityResults {
    pub(crate) fn table(&self, out: &mut impl Write) -> fmt::Result {
        self.functions.iter().try_for_each(|functions| functions.table(out))?;
        if self.repositories.is_empty() {
            return Ok(());
        }
        let has_semble = self.repositories.iter().any(|repository| repository.semble.is_some());
        head(out, "NDCG@10 by file", has_semble)?;
        self.repositories.iter().try_for_each(|repository| repository.row(out))?;
        let semble = self.repositories.iter().filter_map(|repository| repository.semble.as_ref()?.mean());
        row(out, "mean of the repositories", None, self.mean_of_repositories(), mean(semble))?;
        head(out, "NDCG@10 by kind of query, all repositories", has_semble)?;
        let (mainstay, semble) = (self.by_kind(), self.by_kind_of_semble());
        for (kind, scores) in &mainstay.0 {
            row(out, kind, Some(scores.len()), mainstay.mean_of(kind), semble.mean_of(kind))?;
        }
        Ok(())
    }
}

impl FunctionScores {
    /// All languages, then each.
    fn table(&self, out: &mut impl Write) -> fmt::Result {
        let Self { name, scores, index, queries } = self;
        let title = format!("NDCG@10, {name}, {} functions", index.documents);
        write!(out, "\n{title:<52}{:>10}", "all")?;
        scores.0.keys().try_for_each(|language| write!(out, "{language:>8}"))?;
        write!(out, "\n{:<52}{:>10.4}", format!("mainstay, {} queries", scores.count()), scores.mean().unwrap_or(0.0))?;
        scores.0.keys().try_for_each(|language| write!(out, "{:>8.3}", scores.mean_of(language).unwrap_or(0.0)))?;
        writeln!(out, "\n  a query in the library: p50 {:.2} ms, p99 {:.2} ms", queries.p50_ms, queries.p99_ms)
    }
}

impl RepositoryScores {
    fn row(&self, out: &mut impl Write) -> fmt::Result {
        let Self { name, mainstay, semble, index, .. } = self;
        let name = format!("{name}, {} files, {} chunks", index.documents, index.chunks);
        row(out, &name, Some(mainstay.count()), mainstay.mean(), semble.as_ref().and_then(super::Scores::mean))
    }
}

fn head(out: &mut impl Write, title: &str, has_semble: bool) -> fmt::Result {
    write!(out, "\n{title:<52}{:>10}{:>12}", "queries", "mainstay")?;
    writeln!(out, "{}", if has_semble { format!("{:>12}{:>12}", "semble", "difference") } else { String::new() })
}

fn row(
    out: &mut impl Write,
    name: &str,
    queries: Option<usize>,
    mainstay: Option<f64>,
    semble: Option<f64>,
) -> fmt::Result {
    let queries = queries.map_or(String::new(), |queries| queries.to_string());
    write!(out, "{name:<52}{queries:>10}{:>12.4}", mainstay.unwrap_or(0.0))?;
    match (mainstay, semble) {
        (Some(mainstay), Some(semble)) => writeln!(out, "{semble:>12.4}{:>+12.4}", mainstay - semble),
        _ => writeln!(out),
    }
}
