//! Each language's definition: small sources with the figures that `docs/code-metrics.md` promises.

use mainstay_code::{FileMetrics, Language, analyze};

/// A function that is expected: its name, first and last line, cyclomatic and cognitive complexity.
type Expected<'a> = (&'a str, u32, u32, u32, u32);

fn measure(language: Language, source: &str) -> FileMetrics {
    analyze(language, source.as_bytes(), &|| true).unwrap_or_else(|error| panic!("{error}\n{source}"))
}

#[track_caller]
fn check(language: Language, source: &str, expected: &[Expected<'_>]) {
    let metrics = measure(language, source);
    let found: Vec<Expected<'_>> = metrics
        .functions
        .iter()
        .map(|function| {
            let span = function.span;
            (function.name.as_str(), span.start_line, span.end_line, function.cyclomatic, function.cognitive)
        })
        .collect();
    assert_eq!(found, expected, "\n{source}");
}

/// Checks one function that is written on the lines given, by its two figures alone.
#[track_caller]
fn check_one(language: Language, source: &str, cyclomatic: u32, cognitive: u32) {
    let metrics = measure(language, source);
    let function = &metrics.functions[0];
    assert_eq!((function.cyclomatic, function.cognitive), (cyclomatic, cognitive), "\n{source}");
}

mod rust {
    use super::*;

    #[test]
    fn functions_and_methods_have_qualified_names_and_exact_spans() {
        let source = "\
fn plain() {}

struct Stack<T>(T);
impl<T> Stack<T> {
    pub fn push(&mut self, value: T) {
        fn inner() {}
    }
}
trait Shape {
    fn area(&self) -> f64;
    fn twice(&self) -> f64 { self.area() * 2.0 }
}
";
        check(
            Language::Rust,
            source,
            &[
                ("plain", 1, 1, 1, 0),
                ("Stack::push", 5, 7, 1, 0),
                ("Stack::push::inner", 6, 6, 1, 0),
                ("Shape::twice", 11, 11, 1, 0),
            ],
        );
    }

    #[test]
    fn conditions_loops_and_operators_are_decisions() {
        check_one(Language::Rust, "fn f() { if a && b || c { x } else if d { y } else { z } }", 5, 5);
        check_one(Language::Rust, "fn f() { for a in b { while c { loop { break; } } } }", 3, 6);
        check_one(Language::Rust, "fn f() { if let Some(a) = b && c { } }", 3, 2);
        check_one(Language::Rust, "fn f() { let Some(a) = b else { return }; a? }", 3, 1);
    }

    #[test]
    fn the_first_arm_of_a_match_is_no_decision_and_its_guard_is() {
        check_one(Language::Rust, "fn f() { match a { 1 => x, 2 if b => y, _ => z } }", 4, 1);
        check_one(Language::Rust, "fn f() { match a {} }", 1, 1);
    }

    #[test]
    fn closures_belong_to_their_function_one_level_deeper() {
        check_one(Language::Rust, "fn f() { g(|a| if a { 1 } else { 2 }) }", 2, 3);
    }

    #[test]
    fn macro_arguments_are_counted_by_token() {
        check_one(Language::Rust, "fn f() { assert!(a && b || c); vec![if x { 1 } else { 2 }] }", 4, 0);
        check_one(Language::Rust, "fn f() { ready!(a.map(|| b)); print!(&&c); }", 1, 0);
    }

    #[test]
    fn labelled_jumps_and_recursion_cost_effort() {
        check_one(Language::Rust, "fn f() { 'a: loop { continue 'a; } }", 1, 2);
        check_one(Language::Rust, "fn f(n: u32) -> u32 { f(n - 1) + f(n - 2) }", 1, 1);
        check_one(Language::Rust, "impl A { fn f(&self) { self.f() } }", 1, 1);
        check_one(Language::Rust, "impl A { fn f(&self) { self.g.f() } }", 1, 0);
    }
}

mod python {
    use super::*;

    #[test]
    fn functions_and_methods_have_qualified_names_and_exact_spans() {
        let source = "\
class Stack:
    @property
    def top(self):
        return 1

    class Inner:
        async def push(self): pass

def outer():
    def inner():
        pass
";
        check(
            Language::Python,
            source,
            &[
                ("Stack.top", 3, 4, 1, 0),
                ("Stack.Inner.push", 7, 7, 1, 0),
                ("outer", 9, 11, 1, 0),
                ("outer.inner", 10, 11, 1, 0),
            ],
        );
    }

    #[test]
    fn statements_are_decisions() {
        check_one(Language::Python, "def f():\n if a:\n  pass\n elif b:\n  pass\n else:\n  pass\n", 3, 3);
        check_one(Language::Python, "def f():\n for a in b:\n  while c:\n   pass\n  else:\n   pass\n", 4, 3);
        check_one(
            Language::Python,
            "def f():\n try:\n  pass\n except A:\n  if a: pass\n except B:\n  pass\n else:\n  pass\n",
            5,
            4,
        );
        check_one(Language::Python, "def f():\n with a: assert b\n", 2, 0);
    }

    #[test]
    fn expressions_are_decisions() {
        check_one(Language::Python, "def f(): return a if b else c", 2, 1);
        check_one(Language::Python, "def f(): return [a for b in c for d in b if d]", 4, 3);
        check_one(Language::Python, "def f(): return a and b and c or d", 4, 2);
        check_one(Language::Python, "def f(): return a and not (b and c)", 3, 2);
        check_one(Language::Python, "def f(): return lambda: a if b else c", 2, 2);
        check_one(Language::Python, "def f(): return '%s' % (a if b else c)", 2, 0);
    }

    #[test]
    fn a_case_that_matches_everything_is_no_decision() {
        check_one(
            Language::Python,
            "def f():\n match a:\n  case 1: pass\n  case [x, y] if x: pass\n  case _: pass\n",
            3,
            1,
        );
        check_one(Language::Python, "def f():\n match a:\n  case None: pass\n  case other: pass\n", 2, 1);
    }

    #[test]
    fn a_nested_function_adds_its_effort_to_the_outer_one() {
        check(
            Language::Python,
            "def f():\n x = 1\n def g():\n  if a: pass\n return g\n",
            &[("f", 1, 5, 1, 2), ("f.g", 3, 4, 2, 1)],
        );
        // A decorator only defines and returns: its inner function has the level of its own.
        check(
            Language::Python,
            "def f():\n def g():\n  if a: pass\n return g\n",
            &[("f", 1, 4, 1, 1), ("f.g", 2, 3, 2, 1)],
        );
    }

    #[test]
    fn recursion_costs_one_point() {
        check_one(Language::Python, "def f(): return f() + f()", 1, 1);
    }
}

mod javascript {
    use super::*;

    #[test]
    fn every_function_is_measured_on_its_own() {
        let source = "\
function outer(a, b) {
  if (a) {
    items.forEach((item) => { if (item && b) return; });
  }
}
class Stack {
  constructor() { this.top = () => null; }
  static of(...items) { return new Stack(); }
}
const named = function () {};
export default { method() {}, key: async () => 1 };
";
        check(
            Language::JavaScript,
            source,
            &[
                ("outer", 1, 5, 2, 1),
                ("outer.<anonymous>", 3, 3, 3, 2),
                ("Stack.constructor", 7, 7, 1, 0),
                ("Stack.constructor.this.top", 7, 7, 1, 0),
                ("Stack.of", 8, 8, 1, 0),
                ("named", 10, 10, 1, 0),
                ("method", 11, 11, 1, 0),
                ("key", 11, 11, 1, 0),
            ],
        );
    }

    #[test]
    fn statements_and_expressions_are_decisions() {
        check_one(Language::JavaScript, "function f() { if (a) {} else if (b) {} else {} }", 3, 3);
        check_one(Language::JavaScript, "function f() { for (;;) { for (a of b) { do {} while (c) } } }", 4, 6);
        check_one(Language::JavaScript, "function f() { switch (a) { case 1: if (b) {} default: } }", 3, 3);
        check_one(Language::JavaScript, "function f() { try {} catch (e) { if (a) {} } finally {} }", 3, 3);
        check_one(Language::JavaScript, "function f() { return a ? b : c ? d : e }", 3, 3);
        check_one(Language::JavaScript, "function f() { x: for (;;) { continue x } }", 2, 2);
    }

    #[test]
    fn defaults_are_decisions_and_cost_no_effort() {
        check_one(Language::JavaScript, "function f() { return a || b }", 2, 0);
        check_one(Language::JavaScript, "function f() { return a ?? b }", 2, 0);
        check_one(Language::JavaScript, "function f() { return a && b || c && (d && e) }", 5, 2);
    }

    #[test]
    fn typescript_and_tsx_have_the_same_definition() {
        let source = "abstract class A<T> { get<K>(key?: K): T | null { return key ? this.a!.b : null } }";
        check(Language::TypeScript, source, &[("A.get", 1, 1, 2, 1)]);
        let source = "export const View = ({ a }: Props) => <p>{a ? <b>{a}</b> : null}</p>;";
        check(Language::Tsx, source, &[("View", 1, 1, 2, 1)]);
    }
}

mod go {
    use super::*;

    #[test]
    fn methods_are_named_after_their_receiver() {
        let source = "\
package p

func (s *Stack[T]) Push(a, b int) error {
	if a > 0 && b > 0 {
		return nil
	} else if a < 0 {
		go func() { if b > 0 {} }()
	} else {
		return nil
	}
	return nil
}
";
        check(Language::Go, source, &[("Stack.Push", 3, 12, 5, 7)]);
    }

    #[test]
    fn statements_are_decisions() {
        check_one(Language::Go, "package p\nfunc f() { for { switch a { case 1: default: } } }", 3, 3);
        check_one(Language::Go, "package p\nfunc f() { select { case <-a: case <-b: } }", 3, 1);
        check_one(Language::Go, "package p\nfunc f() { switch a := b.(type) { case int: if a > 0 {} } }", 3, 3);
        check_one(Language::Go, "package p\nfunc f() { x: for { break x }; goto x }", 2, 3);
    }
}

mod java {
    use super::*;

    #[test]
    fn methods_with_a_body_are_functions() {
        let source = "\
class Stack {
  Stack() {}
  abstract int size();
  class Inner { void run() { items.forEach(a -> { if (a) {} }); } }
}
interface Shape { double area(); default double twice() { return area() * 2; } }
";
        check(
            Language::Java,
            source,
            &[("Stack.Stack", 2, 2, 1, 0), ("Stack.Inner.run", 4, 4, 2, 2), ("Shape.twice", 6, 6, 1, 0)],
        );
    }

    #[test]
    fn statements_are_decisions() {
        check_one(Language::Java, "class A { void f() { if (a) b(); else if (c) d(); else e(); } }", 3, 3);
        check_one(Language::Java, "class A { void f() { for (int i : a) { while (b) { do {} while (c); } } } }", 4, 6);
        check_one(Language::Java, "class A { void f() { switch (a) { case 1: case 2: b(); default: } } }", 3, 1);
        check_one(Language::Java, "class A { int f() { return switch (a) { case 1, 2 -> 3; default -> 4; }; } }", 2, 1);
        check_one(Language::Java, "class A { void f() { try {} catch (E e) { x = a && b || c ? 1 : 2; } } }", 5, 5);
        check_one(Language::Java, "class A { int f(int n) { return this.f(n - 1); } }", 1, 1);
    }
}

mod c {
    use super::*;

    #[test]
    fn functions_are_found_through_their_declarators() {
        let source = "\
#include <stdio.h>
static int plain(void) { return 0; }
char **pointers(int a, char *b) { return 0; }
int (*returns_function(int a))(int) { return 0; }
";
        check(
            Language::C,
            source,
            &[("plain", 2, 2, 1, 0), ("pointers", 3, 3, 1, 0), ("returns_function", 4, 4, 1, 0)],
        );
        let functions = measure(Language::C, source).functions;
        assert_eq!(functions.iter().map(|function| function.parameters).collect::<Vec<_>>(), [0, 2, 1]);
    }

    #[test]
    fn statements_are_decisions() {
        check_one(Language::C, "void f() { if (a) b(); else if (c) d(); else e(); }", 3, 3);
        check_one(Language::C, "void f() { for (;;) while (a) do {} while (b); }", 4, 6);
        check_one(Language::C, "void f() { switch (a) { case 1: case 2: break; default: goto x; } x:; }", 3, 2);
        check_one(Language::C, "int f() { return a && b && c || d ? 1 : 2; }", 5, 3);
    }

    #[test]
    fn a_function_with_an_error_is_skipped_and_the_others_are_measured() {
        let source =
            "MACRO(a)\nint f(int a) { if (a) return 1; }\nint g(void) { int x = ; }\nint h(void) { return 1; }\n";
        let metrics = measure(Language::C, source);
        let names: Vec<_> = metrics.functions.iter().map(|function| function.name.as_str()).collect();
        assert_eq!(names, ["f", "h"]);
        let skipped: Vec<_> = metrics.skipped.iter().map(|function| (function.name.as_str(), function.line)).collect();
        assert_eq!(skipped, [("g", 3)]);
    }

    #[test]
    fn a_header_in_cpp_is_measured_as_cpp() {
        let metrics = measure(Language::C, "class A { public: int f() { return 1; } };\n");
        assert_eq!((metrics.language, metrics.functions.len()), (Language::Cpp, 1));
    }
}

mod cpp {
    use super::*;

    #[test]
    fn functions_are_named_inside_and_outside_their_class() {
        let source = "\
namespace n {
class Stack {
  int push(int a) { return a ? 1 : 2; }
  int size() const;
  ~Stack() {}
};
int Stack::size() const { return 0; }
template <typename T> T &get(T &a) { return a; }
}
";
        check(
            Language::Cpp,
            source,
            &[
                ("Stack::push", 3, 3, 2, 1),
                ("Stack::~Stack", 5, 5, 1, 0),
                ("Stack::size", 7, 7, 1, 0),
                ("get", 8, 8, 1, 0),
            ],
        );
    }

    #[test]
    fn statements_are_decisions() {
        check_one(Language::Cpp, "void f() { for (auto a : b) { try { } catch (...) { if (c and d) {} } } }", 5, 7);
        check_one(Language::Cpp, "void f() { auto g = [&](int a) { if (a) {} }; }", 2, 2);
    }
}

mod csharp {
    use super::*;

    #[test]
    fn members_with_a_body_are_functions() {
        let source = "\
namespace N {
  class Stack {
    public Stack() { }
    public int Size { get { return a ?? 0; } set; }
    public int Top() => items.Count > 0 ? 1 : 2;
    abstract void Nothing();
    void Outer() { void Local() { if (a) { } } Local(); }
  }
}
";
        check(
            Language::CSharp,
            source,
            &[
                ("Stack.Stack", 3, 3, 1, 0),
                ("Stack.Size.get", 4, 4, 2, 0),
                ("Stack.Top", 5, 5, 2, 1),
                ("Stack.Outer", 7, 7, 1, 0),
                ("Stack.Outer.Local", 7, 7, 2, 1),
            ],
        );
    }

    #[test]
    fn statements_are_decisions() {
        check_one(Language::CSharp, "class A { void F() { if (a) { } else if (b) { } else { } } }", 3, 3);
        check_one(Language::CSharp, "class A { void F() { foreach (var a in b) { while (c) { } } } }", 3, 3);
        check_one(
            Language::CSharp,
            "class A { void F() { switch (a) { case 1: case 2: break; default: break; } } }",
            3,
            1,
        );
        check_one(Language::CSharp, "class A { int F() { return a switch { 1 => 2, 3 => 4, _ => 5 }; } }", 3, 1);
        check_one(Language::CSharp, "class A { void F() { try { } catch (E e) when (a && b) { } } }", 4, 2);
    }
}

mod ruby {
    use super::*;

    #[test]
    fn methods_have_the_names_of_their_modules() {
        let source = "\
module Shop
  class Stack
    def push(a, b = 1)
      return if a && b
      items.each { |i| puts i unless i }
    end
    def self.of; end
  end
end
";
        check(Language::Ruby, source, &[("Shop::Stack#push", 3, 6, 4, 4), ("Shop::Stack#of", 7, 7, 1, 0)]);
    }

    #[test]
    fn statements_are_decisions() {
        check_one(Language::Ruby, "def f\n if a\n elsif b\n else\n end\nend\n", 3, 3);
        check_one(Language::Ruby, "def f\n while a\n  until b\n  end\n end\nend\n", 3, 3);
        check_one(Language::Ruby, "def f\n case a\n when 1 then b\n when 2 then c\n else d\n end\nend\n", 3, 1);
        check_one(Language::Ruby, "def f\n begin\n rescue A\n  x if b\n end\nend\n", 3, 3);
        check_one(Language::Ruby, "def f\n a ? b : (c and d or e)\nend\n", 4, 3);
    }
}

mod bash {
    use super::*;

    #[test]
    fn functions_and_statements_are_measured() {
        let source = "\
greet() {
  if [ -n \"$1\" ] && [[ $2 == a || $3 ]]; then
    for x in a b; do echo \"$x\"; done
  elif false; then
    echo
  else
    case $1 in a) echo;; b) echo;; *) echo;; esac
  fi
}
function other { while true; do break; done; }
";
        check(Language::Bash, source, &[("greet", 1, 9, 8, 9), ("other", 10, 10, 2, 1)]);
    }
}

#[test]
fn the_example_in_the_documentation_has_the_figures_it_says() {
    let source = "\
fn find(rows: &[Row], wanted: &str) -> Option<usize> {
    for (index, row) in rows.iter().enumerate() {
        if row.is_visible() && row.name == wanted {
            return Some(index);
        } else if row.is_last() {
            for _ in 0..3 {}
        }
    }
    None
}
";
    check(Language::Rust, source, &[("find", 1, 10, 6, 8)]);
}

#[test]
fn lines_are_code_comment_or_blank() {
    let source = "// one\n\nfn f() { // two\n    /* three\n    four */\n    g(\n        1,\n    )\n}\n";
    let metrics = measure(Language::Rust, source);
    let lines = |lines: mainstay_code::Lines| (lines.total, lines.code, lines.comment, lines.blank);
    assert_eq!(lines(metrics.lines), (9, 5, 3, 1));
    assert_eq!(lines(metrics.functions[0].lines), (7, 5, 2, 0));
}

#[test]
fn halstead_counts_distinct_and_all_tokens_of_each_function() {
    // Operators: fn ( { * = + ; in `f`; operands: f a b 2 "x".
    let metrics = measure(Language::Rust, "fn f() { a = a * 2 + b; }\nfn g() { f(); }\n");
    let halstead = metrics.functions[0].halstead;
    assert_eq!((halstead.n1, halstead.total_n1), (7, 7), "fn ( {{ = * + ;");
    assert_eq!((halstead.n2, halstead.total_n2), (4, 5), "f a a 2 b");
    // What occurred before a function is new inside it.
    let second = metrics.functions[1].halstead;
    assert_eq!((second.n1, second.total_n1, second.n2, second.total_n2), (4, 5, 2, 2));
    assert!((halstead.volume - 12.0 * 11_f64.log2()).abs() < 0.01);
    assert!((halstead.difficulty - 7.0 / 2.0 * 5.0 / 4.0).abs() < 0.01);
}

#[test]
fn a_literal_is_one_operand_whatever_is_in_it() {
    let operands = |source: &str| measure(Language::Python, source).halstead.total_n2;
    assert_eq!(operands("x = 'a b c'"), operands("x = 'a\\n'"));
    assert_eq!(operands("x = ''"), operands("x = 'a'"));
    assert_eq!(operands("x = f'{y}'"), operands("x = 'a'") + 1);
}

#[test]
fn maintainability_falls_with_size_and_decisions() {
    let index = |body: &str| measure(Language::Rust, &format!("fn f() {{\n{body}}}\n")).functions[0].maintainability;
    let (empty, short, long) = (index(""), index("a();\n"), index(&"if a { b(); }\n".repeat(50)));
    assert!(empty > short && short > long && long >= 0.0 && empty <= 100.0, "{empty} {short} {long}");
}
