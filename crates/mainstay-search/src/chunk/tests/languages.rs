//! A small source in every language: exact lines, names, documentation and signatures.

use mainstay_code::SymbolKind;

use super::super::chunks;
use super::assert_chunks;

#[test]
fn rust() {
    assert_chunks(
        "a.rs",
        "//! About the file.\n\nuse std::fmt;\nuse std::io;\n\n/// A stack.\n#[derive(Debug)]\n/// Of values.\npub struct \
         Stack<T> {\n    items: Vec<T>,\n}\n\nimpl<T> fmt::Display for Stack<T>\nwhere\n    T: fmt::Debug,\n{\n    /// \
         Writes it.\n    fn fmt(&self) -> [u8; 3] {\n        [1, 2, 3]\n    }\n}\n\nconst A: u8 = 1;\nconst B: u8 = \
         2;\n\n/** Does\n * it. */\n#[inline]\npub(crate) async unsafe fn run<const N: usize>(\n    a: u8,\n) -> u8 {\n    \
         '{' as u8\n}\n",
        &[
            "1-4 Block  |  | ",
            "6-11 Type Stack | A stack. Of values. | pub struct Stack<T>",
            "13-21 Type Stack |  | impl<T> fmt::Display for Stack<T> where T: fmt::Debug,",
            "23-24 Block  |  | ",
            "26-33 Function run | Does it. | pub(crate) async unsafe fn run<const N: usize>( a: u8, ) -> u8",
        ],
    );
}

#[test]
fn items_in_macros_of_rust() {
    let source = "cfg_rt! {\n    /// Starts it.\n    pub fn spawn() {\n        fn inner() {}\n        inner();\n    }\n\n    \
                  pub mod task;\n}\n\nthread_local! {\n    static X: u8 = const { 1 };\n}\n\nvec_of![1, 2];\n";
    let cut = chunks("a.rs", source.as_bytes(), &|| true).unwrap();
    let names: Vec<_> = cut.definitions.iter().map(|definition| (&*definition.name, definition.first_line)).collect();
    assert_eq!(names, [("spawn", 3), ("spawn::inner", 4), ("X", 12)]);
}

#[test]
fn python() {
    assert_chunks(
        "a.py",
        "import os\nfrom a import b\n\nLIMIT = 3\n\n\n@cache\n@other(1)\ndef run(a,\n        b) -> int:\n    \"\"\"Runs \
         it.\n\n    Twice.\n    \"\"\"\n    return a\n\n\nclass Stack(Base):\n    '''A stack.'''\n\n    size = 0\n\n    def \
         push(self, a):\n        # Not a doc.\n        self.size += 1\n        return a\n",
        &[
            "1-2 Block  |  | ",
            "4-4 Block LIMIT |  | LIMIT = 3",
            "7-15 Function run | Runs it. Twice. | def run(a, b) -> int:",
            "18-26 Type Stack | A stack. | class Stack(Base):",
        ],
    );
}

#[test]
fn javascript() {
    assert_chunks(
        "a.js",
        "import a from 'a';\n\n/**\n * Adds.\n * @param {number} a\n */\nexport function add(a, b) {\n  return a +\n    \
         b;\n}\n\n// Doubles.\nexport const twice = (a) => {\n  const local = 2;\n  return a * local;\n};\n\nexport default \
         class Stack {\n  push(a) {\n    this.a = a;\n  }\n}\n\nexports.go = function (x) {\n  return [\n    x,\n  ];\n};\n",
        &[
            "1-1 Block  |  | ",
            "3-10 Function add | Adds. @param {number} a | export function add(a, b)",
            "12-16 Function twice | Doubles. | export const twice = (a) =>",
            "18-22 Type Stack |  | export default class Stack",
            "24-28 Function exports.go |  | exports.go = function (x)",
        ],
    );
}

#[test]
fn typescript() {
    assert_chunks(
        "a.ts",
        "/** A shape. */\nexport interface Shape {\n  area(): number;\n  name: string;\n}\n\nexport type Id = string | \
         number;\n\nexport enum Color {\n  Red,\n  Green,\n  Blue,\n}\n\n@Component({})\nexport class View implements Shape \
         {\n  area(): number {\n    return 1;\n  }\n}\n\nnamespace inner {\n  export function f(): void {\n    \
         g();\n    h();\n  }\n}\n",
        &[
            "1-5 Type Shape | A shape. | export interface Shape",
            "7-7 Type Id |  | export type Id = string | number;",
            "9-13 Type Color |  | export enum Color",
            "15-20 Type View |  | @Component({}) export class View implements Shape",
            "22-27 Block inner |  | namespace inner",
        ],
    );
}

#[test]
fn go() {
    assert_chunks(
        "a.go",
        "// Package a is about a.\npackage a\n\nimport (\n\t\"fmt\"\n)\n\n// Modes.\nconst (\n\tA = 1\n\tB = 2\n)\n\n// Stack \
         is a stack.\ntype Stack struct {\n\titems []int\n}\n\n// Push adds\n// an item.\nfunc (s *Stack) Push(a int) error \
         {\n\ts.items = append(s.items, a)\n\treturn nil\n}\n\nfunc main() {\n\tfmt.Println()\n\tfmt.Println()\n}\n",
        &[
            "1-6 Block  | Package a is about a. | ",
            "8-12 Block  | Modes. | ",
            "14-17 Type Stack | Stack is a stack. | type Stack struct",
            "19-24 Method Stack.Push | Push adds an item. | func (s *Stack) Push(a int) error",
            "26-29 Function main |  | func main()",
        ],
    );
}

#[test]
fn java() {
    assert_chunks(
        "A.java",
        "package a;\n\nimport b.C;\n\n/**\n * A stack.\n */\n@Deprecated\npublic class Stack<T> extends Base {\n  private int \
         size;\n\n  /** Adds. */\n  @Override\n  public void push(T item) {\n    size++;\n  }\n}\n\ninterface Shape {\n  \
         double area();\n  String name();\n}\n",
        &[
            "1-3 Block  |  | ",
            "5-17 Type Stack | A stack. | @Deprecated public class Stack<T> extends Base",
            "19-22 Type Shape |  | interface Shape",
        ],
    );
}

#[test]
fn c() {
    assert_chunks(
        "a.c",
        "#include <stdio.h>\n#include \"a.h\"\n\n#define LIMIT 3\n\n/* A stack. */\nstruct stack {\n  int size;\n};\n\n// \
         Adds\n// an item.\nstatic int push(struct stack *s,\n                int item) {\n  s->size++;\n  return \
         item;\n}\n\nint prototype(void);\n",
        &[
            "1-2 Block  |  | ",
            "4-4 Block LIMIT |  | #define LIMIT 3",
            "6-9 Type stack | A stack. | struct stack",
            "11-17 Function push | Adds an item. | static int push(struct stack *s, int item)",
            "19-19 Function prototype |  | int prototype(void);",
        ],
    );
}

#[test]
fn cpp() {
    assert_chunks(
        "a.cpp",
        "#include <vector>\n\nnamespace a {\n\n/// A stack.\ntemplate <typename T>\nclass Stack {\n public:\n  void push(T \
         item);\n  int size() const { return size_; }\n\n private:\n  int size_;\n};\n\n/* Adds. */\ntemplate <typename \
         T>\nvoid Stack<T>::push(T item) {\n  size_++;\n  size_++;\n}\n\n}  // namespace a\n",
        &["1-1 Block  |  | ", "3-23 Block a |  | namespace a"],
    );
}

#[test]
fn csharp() {
    assert_chunks(
        "A.cs",
        "using System;\n\n/// <summary>A stack.</summary>\n[Serializable]\npublic class Stack\n{\n    public int Size { get; \
         set; }\n\n    /// Adds.\n    public void Push(int item)\n    {\n        Size++;\n    }\n}\n",
        &["1-1 Block  |  | ", "3-14 Type Stack | <summary>A stack.</summary> | [Serializable] public class Stack"],
    );
}

#[test]
fn ruby() {
    assert_chunks(
        "a.rb",
        "require 'set'\n\n# A stack.\nclass Stack < Base\n  LIMIT = 3\n\n  # Adds.\n  def push(item)\n    @items << item\n  \
         end\nend\n\n# Runs.\ndef run\n  puts 1\n  puts 2\nend\n",
        &["1-1 Block  |  | ", "3-11 Type Stack | A stack. | class Stack < Base", "13-17 Method run | Runs. | def run"],
    );
}

#[test]
fn bash() {
    assert_chunks(
        "a.sh",
        "#!/bin/bash\nset -eu\n\n# Builds it.\nbuild() {\n  local a=1\n  make\n  make install\n}\n\nbuild \"$@\"\n",
        &["1-2 Block  |  | ", "4-9 Function build | Builds it. | build()", "11-11 Block  |  | "],
    );
}

#[test]
fn definitions_are_qualified_and_references_are_names_that_are_used() {
    let source =
        "struct Stack;\nimpl Stack {\n    fn push(&self) {\n        helper(1);\n    }\n}\nfn helper(n: u8) {}\n";
    let cut = chunks("a.rs", source.as_bytes(), &|| true).unwrap();
    let found: Vec<_> = cut.definitions.iter().map(|found| (&*found.name, found.simple_name(), found.kind)).collect();
    let expected = [
        ("Stack", "Stack", SymbolKind::Struct),
        ("Stack::push", "push", SymbolKind::Method),
        ("helper", "helper", SymbolKind::Function),
    ];
    assert_eq!(found, expected);
    let used = cut.references.iter().map(|found| (String::from_utf8_lossy(found.name(source.as_bytes())), found.line));
    assert_eq!(used.collect::<Vec<_>>(), [("Stack".into(), 2), ("helper".into(), 4), ("u8".into(), 7)]);
}
