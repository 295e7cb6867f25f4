//! Measures the files whose names come on standard input and prints a line of JSON for each, for `cargo xtask oracle` and the
//! benchmarks.
//!
//! ```text
//! find src -name '*.rs' | cargo run --release -p mainstay-code --example measure [--quiet]
//! ```

use std::io::{self, BufRead, Write};

use mainstay_code::{Language, NotMeasured, analyze};

fn main() -> io::Result<()> {
    let quiet = std::env::args().any(|argument| argument == "--quiet");
    let mut output = io::BufWriter::new(io::stdout().lock());
    let (mut files, mut functions, mut failed) = (0_u32, 0_usize, 0_u32);
    for path in io::stdin().lock().lines() {
        let path = path?;
        let source = std::fs::read(&path)?;
        let Some(language) = Language::from_name(&path, &source) else { continue };
        files += 1;
        let (metrics, error) = match analyze(language, &source, &|| true) {
            Ok(metrics) => (Some(metrics), None),
            Err(error) => (None, Some(error)),
        };
        functions += metrics.as_ref().map_or(0, |metrics| metrics.functions.len());
        failed += u32::from(metrics.is_none());
        if !quiet {
            let error = error.map(|error: NotMeasured| error.to_string());
            serde_json::to_writer(
                &mut output,
                &serde_json::json!({ "file": path, "metrics": metrics, "error": error }),
            )?;
            output.write_all(b"\n")?;
        }
    }
    if quiet {
        writeln!(output, "{files} files, {functions} functions, {failed} files not measured")?;
    }
    Ok(())
}
