//! A reader for Python that needs no syntax tree.
//!
//! The grammar reads some 7 MB of Python in a second, almost all of the time of an analysis. This reader takes the tokens as they
//! come, in the order of Python's grammar, and adds up the same figures in one pass without building anything. It leaves to
//! the grammar whatever it does not know (`match`, template strings, deep nesting, large files) and whatever looks like an
//! error: then the whole file is read by the grammar. That both give the same figures is tested below.

mod expressions;
mod lexer;
mod statements;
mod words;

use crate::languages::Language;

use super::{FileMetrics, finish};

use statements::Parser;

/// Larger files are read by the grammar, which can be interrupted.
const MOST_BYTES: usize = 1024 * 1024;

/// The figures of a file, unless the grammar has to read it.
pub(super) fn measure(source: &[u8], wanted: &dyn Fn() -> bool) -> Option<FileMetrics> {
    if source.len() > MOST_BYTES || source.contains(&0) || std::str::from_utf8(source).is_err() {
        return None;
    }
    let mut parser = Parser::new(source, wanted).ok()?;
    parser.file().ok()?;
    Some(finish(Language::Python, parser.functions, &parser.tokens, &parser.lexer.lines))
}

#[cfg(test)]
mod tests {
    use super::super::analyze_with_grammar;
    use super::*;

    /// Both readers give the same figures, and this one reads the source.
    #[track_caller]
    fn check_same(source: &str) {
        let own = measure(source.as_bytes(), &|| true);
        let grammar = analyze_with_grammar(Language::Python, source.as_bytes(), &|| true).unwrap();
        assert_eq!(own.map(|metrics| metrics.functions), Some(grammar.functions), "\n{source}");
    }

    #[test]
    fn statements_have_the_figures_of_the_grammar() {
        for body in [
            "if a: pass\n elif b:\n  if c: pass\n else:\n  pass",
            "for a, *b in c, d:\n  while x: break\n  else: continue\n else:\n  pass",
            "try: pass\n except (A, B) as e:\n  if x: raise A from b\n except C: pass\n else: pass\n finally:\n  if a: pass",
            "with a as b, c() as d.e:\n  if x: return",
            "x = y = z",
            "x: int = 1 if a else 2",
            "x.y[1:2, ::3] += yield a, b",
            "global a, b; del a[0], b.c; assert a and b, c or d; import a.b as c, d; from .a import (b as c, d,)",
            "async def g():\n  async for a in b: await c\n  async with d: pass\n return g",
            "def g(a, /, b: int = 1, *args, c=2, **kw) -> x:\n  if a: pass\n x = g",
            "def g():\n  if a: pass\n return g",
            "@a.b(c and d)\n @e\n def g():\n  if a: pass\n return g",
            "if a:\n  def g():\n   if a: pass\n  return g",
            "class A(B, metaclass=C):\n  x = 1\n  def g(self):\n   if a: pass\n return A",
            "return f(1)\n\n",
            "'''text\n over lines''' # and a comment\n return",
            "if a: x = 1; y = 2\n return not a",
            "match = re.match(a)\n return match.group()",
        ] {
            check_same(&format!("def f(a, b=1, *, c):\n {body}\n\ndef last(): pass\n"));
        }
    }

    #[test]
    fn expressions_have_the_figures_of_the_grammar() {
        for expression in [
            "a and b and c or d or (e or f) and not (g and h)",
            "(a and b) and c or ((d or e))",
            "(a and b).c or d",
            "(a and b) == (c and d)",
            "a if b else c if d else (e if f else g)",
            "(a if b else c) if d else e",
            "[a if b else c for d in e if f if g and h for i in j]",
            "{a: b if c else d for e in f}, {a for b in c}, {**a, 'b': c or d}, {*a, b}",
            "f(a for b in c)(*d, **e, f=g or h)[i or j].k(l if m else n)",
            "'%s' % ', '.join(a if b else c for d in e) + (x or y)",
            "-a ** -b + ~c @ d // e << f if g is not h and i not in j else k != l <= m < n",
            "lambda *a, b=c or d, **e: a if b else lambda: c",
            "f'{a:>10}{{}} {b or c:{d}} {e!r}' 'x' rb'\\\\' if i else u\"\"",
            "f'''{\n a or b\n}''' or (yield)",
            "(a := b or c) and [d]",
            "f(f(1)) + f",
            "1_000.5e-3 + 0xFf + .5 + 1j + 0o7 or None",
            "(1,), [], {}, (), [1,], (a)",
            "await a or not await b",
            "[x async for x in y]",
            "a \\\n or b",
            "(a # comment\n  or b)",
        ] {
            check_same(&format!("def f():\n  return {expression}\n"));
            check_same(&format!("def f():\n  for x in y:\n    z({expression})\n"));
        }
    }

    #[test]
    fn what_it_does_not_know_is_left_to_the_grammar() {
        let deep = format!("x = {}1{}\n", "(".repeat(300), ")".repeat(300));
        for source in [
            "match a:\n case 1: pass\n",
            "é = 1\n",
            "with (a as b): pass\n",
            "type A = int\n",
            "def f[T](): pass\n",
            "print 'a'\n",
            "x = = 1\n",
            "f() = 1\n",
            "if a:\npass\n",
            "if a:\n  b\n c\n",
            "x = (1\n",
            "x = 1)\n",
            "'a\n",
            "f'{a'\n",
            "f'}'\n",
            "a not b\n",
            "try: pass\n",
            "x = 1a\n",
            "x = lambda ,: 0\n",
            "x = {a: b, c}\n",
            "x = {a, b: c}\n",
            "a if b\n",
            "def f(**): pass\n",
            &deep,
        ] {
            assert!(measure(source.as_bytes(), &|| true).is_none(), "{source}");
        }
    }
}
