use super::super::analyze_with_grammar;
use super::*;

/// Both readers give the same figures, and this one reads the source.
#[track_caller]
fn check_same(source: &str) {
    let own = measure(source.as_bytes(), &|| true);
    let grammar = analyze_with_grammar(Language::Rust, source.as_bytes(), &|| true).unwrap();
    assert_eq!(own, Some(grammar), "\n{source}");
}

#[test]
fn items_have_the_figures_of_the_grammar() {
    for source in [
        "use a; use ::a::b; use a::{b, c::{self, d as e, *}, f as _}; pub(in a::b) use c; use super::super::a;",
        "mod a; pub mod b { fn c() {} } extern crate a as b; extern crate self as c;",
        "struct A; struct B(u8, pub u8, pub (u8, u8)); struct C<T: A = B>(T) where T: D; struct D<'a> { pub(crate) a: &'a str }",
        "enum A { B, C(u8), D { e: u8 }, F = 1, #[x] G = 1 << 2 } union U { a: u8, b: f32 }",
        "type A = B; type C<T> = D<T> where T: E; const A: u8 = 1; static mut B: u8 = 2; const _: () = { fn f() {} };",
        "trait A<T>: B + 'static where T: C { type D: E + ?Sized; const H: u8; fn j(&self); fn k(&self) { self.k() } }",
        "extern \"C\" { fn f(a: u8, ...) -> u8; static X: u8; } unsafe extern \"C\" { fn g(); }",
        "pub unsafe extern \"C\" fn f() {} pub(crate) const unsafe fn g() {} async unsafe fn h() {} extern fn i() {}",
        "#![inner] #[outer(a = \"b\", c)] #[doc = concat!(\"a\", \"b\")] #[unsafe(d)] fn f() {}",
        "fn f(mut self: Box<Self>, #[a] b: u8, _: u8, (c, d): (u8, u8), &e: &u8, E { f, .. }: E) {}",
        "fn f(&'a mut self) {} fn g(&self, a: u8,) {} fn h(mut self) {} fn i(&selfish: &u8) {}",
        "fn outer() { fn inner() { if a {} } struct S; impl S { fn method() { loop {} } } if b {} }",
        "impl str::A for <B as C>::D { fn f() {} } impl !Send for A {} unsafe impl Sync for A {}",
        "m! { a } m!(b); a::b![c]; thread_local! { static A: u8 = 1; }",
        "\u{feff}fn f() {}\r\n// comment\r\n\r\nfn g() {} /* a /* b */\n c */ /** d */ /**/\n/* //* */\n",
    ] {
        check_same(source);
    }
}

#[test]
fn functions_are_named_after_the_type_of_their_impl() {
    for implemented in [
        "B",
        "B<T>",
        "a::B",
        "a::B<T>",
        "B<T>::C",
        "&'a B<T>",
        "&&B",
        "&mut B",
        "*const B",
        "[B; 3]",
        "(B, C)",
        "()",
        "u8",
        "dyn B + C",
        "fn( B )  -> C",
        "m!(x)",
        "Box<dyn Fn(u8) -> u8>",
        "B /* c */ <T>",
        "Vec<Vec<Vec<u8>>>",
    ] {
        check_same(&format!("impl A for {implemented} {{ fn f() {{}} }} impl {implemented} {{ fn g() {{}} }}"));
    }
}

#[test]
fn types_have_the_figures_of_the_grammar() {
    for found in [
        "impl A + B",
        "&dyn A",
        "Box<dyn A + 'static>",
        "impl Fn(u8, A) -> u8",
        "fn(a: u8, _: u8, u8, ...) -> u8",
        "for<'a> unsafe extern \"C\" fn(&'a u8)",
        "dyn for<'a> A<'a>",
        "impl for<'a> A<'a>",
        "impl ?Sized + 'a + use<'a, T>",
        "Foo<'a, u8, 3, true, { 1 }, A = B, C: D>",
        "<T as A>::B",
        "Vec<<T as A>::B>",
        "Vec<_>",
        "&'a mut [u8]",
        "*mut (u8,)",
        "[[u8; 3]; N]",
        "crate::a::B",
        "fn(_) -> _",
        "A::<B>::C",
        "m![x]",
        "()",
    ] {
        check_same(&format!(
            "fn f<T, 'a: 'b, const N: usize>(a: {found}) -> {found} where Vec<T>: A + for<'a> B<'a> {{}}"
        ));
        check_same(&format!("fn f() {{ let a: {found} = a; let b: Vec<{found}>= c; }} struct A({found});"));
    }
    check_same("fn f() { a as usize < b; a as u8 as char; x as *const T == y; z as _; }");
}

#[test]
fn patterns_have_the_figures_of_the_grammar() {
    for pattern in [
        "_",
        "a",
        "ref mut a",
        "1..=2 | 3.. | ..4",
        "-1",
        "'a'..='z'",
        "A::B..=C",
        "a @ (1 | 2)",
        "&mut a",
        "&&a",
        "[a, .., b]",
        "[a @ .., b]",
        "A { a, ref b, mut c, d: (e, _), .. }",
        "true | false",
        "\"a\"",
        "m!(a)",
        "<T as A>::B",
        "A::<T>::B(c)",
        "crate::A",
        "(a, .., b)",
        "()",
    ] {
        check_same(&format!("fn f() {{ match x {{ {pattern} => 1, {pattern} if a && b => {{}} _ => 2 }} }}"));
        check_same(&format!("fn f() {{ let {pattern} = x else {{ return }}; if let {pattern} = x && y {{}} }}"));
        check_same(&format!("fn f() {{ for {pattern} in x {{}} while let {pattern} = x {{}} }}"));
    }
    check_same("fn f() { |a, &b, (c, _): (u8, u8), _| 1; || 2 }");
}

#[test]
fn control_flow_has_the_figures_of_the_grammar() {
    for body in [
        "if a { if b {} else if c {} else { if d {} } } else if e { for x in y { while z { loop { match w { A => 1, B => 2 } } } } }",
        "'a: loop { 'b: while x { break 'a; continue 'b; break; } } 'c: { break 'c 1 }",
        "let A(x) = y else { if z {} return }; let x; let y: u8; let z = if a { b } else { c };",
        "if let A = b && c && let D = e {} while let A = b && (c || d) {} match x { A if let B = c && d => 1, _ => 2 }",
        "unsafe { a }.b(); if a {} else {}.c(); match x {}?; { a }.b && c || d",
        "match x { #![a] #[b] A => {} -1 => {} | B => {} (C, D) => {}, [E] => if a {} else {} F => match b {}.c(), G => d }",
        "unsafe { a } const { b } async { c } async move { d } {} ; ; e",
        "let c = |x| if x { 1 } else { 2 }; let d = move || { if x {} }; |a: u8| -> u8 { loop {} }; async move |b| c",
        "#[a] let x = 1; #[b] { } #[c] fn g() {} #[d] return x",
        "return |a| { if b {} }; m!(a) ; m! { if b } m![c].d; m!{} * x; return; break x",
        "for x in 0.. {} for y in ..5 {} while a == (B { c: 1 }) {} match (A { b: 1 }) { _ => {} }",
    ] {
        check_same(&format!("fn f() {{ {body} }}"));
        check_same(&format!("impl A {{ fn f(&self) {{ for x in y {{ {body} }} }} }}"));
    }
}

#[test]
fn expressions_have_the_figures_of_the_grammar() {
    for expression in [
        "a && b && (c || d) && (e && g) || ((h || i)) && !(j && k) && (l && m) == n",
        "((a && b) || c, (a && b), ((a || b) && c) || d)",
        "x = a && b || return c && d",
        "a..b && c..=(d || e)",
        "[..=3, .., ..a, b.., c..=d]",
        "a?.b?()?[c]?.await",
        "-a + !b * *c - &d & &mut e && &&f || -(g) ^ h | i << j >> k % l / m != n >= o <= p",
        "a.b::<T>(c).0.1.d(#[e] f, g,)",
        "A { b, c: d, 0: e, #[x] g: h, ..f }",
        "(A::<T> { b }, a::B {}, [0; 3], [1, 2,], (), (a,), (a))",
        "Vec::<Vec<_>>::new()(<T as A>::b, <_>::default(), ::a::b, self::c, u8::MAX)",
        "f() + f::<T>() + self.f() + Self::f() + this.f() + crate::f() + f!()",
        "(&raw const x, &raw mut y, &raw, raw.x, default(), union.x)",
        "(_ = x, [_, c] = d, x <<= 1, y += 2)",
        "(1f32, 1_000u64, 0xFFu8, 1e5, 1.5e-3f64, 1., 2.0_f32, 1u8.max(2), 1.0.floor(), 1.max(2))",
        "('a', b'\\'', '\\u{1F600}', 'é', \"a\\x41\\\n  b\n\", b\"c\", c\"d\", r\"e\", br#\"\"\"#, r#type)",
        "(r#\"\n\n  text\n\"#\n, r\"\"\n, r#\"\n\n\"#\n)",
    ] {
        check_same(&format!("fn f() {{ {expression} }}"));
        check_same(&format!("impl A {{ fn f() {{ for x in y {{ let z = {expression}; }} }} }}"));
    }
}

#[test]
fn macros_have_the_figures_of_the_grammar() {
    for source in [
        "fn f() { m!(a && b, || c, x || y, &&z, (a) && b, a? || b, if while for ? \"s\" || t, true || e, self && g, mut && h); }",
        "fn f() { m!(else in ref dyn move extern try yield raw default union gen as async $x, $($y),*, 'static, '_, 'a, u8); }",
        "fn f() { m!(a, /* c */ || b, // d\n || e); m!(x.0.1, 1..2, ..., 1.max(2), #, @, =>, ->, $); }",
        "macro_rules! m { () => {}; ($a:expr, $($b:ident),* $(,)?) => { if $a { $($b && c)* } else { $crate::x!($($b),*) } }; }",
        "macro_rules! m ( ($a:ty) => [ $a || || b && c? for 'static '_ ]; ($($t:tt)+) => ($($t)+) );",
        "macro_rules! m { ($(#[$a:meta])* $v:vis fn $n:ident() { $($f:pat => $t:block);* }) => { $v fn $n() { $(if $t)* } } }",
        "fn f() { macro_rules! m { ($($a:expr) => *) => {}; ($a) => { $((a && b))? } } m!() }",
    ] {
        check_same(source);
    }
}

#[test]
fn nesting_up_to_the_limit_fits_the_stack() {
    check_same(&format!("fn f() {{ {}1{} }}", "(".repeat(100), ")".repeat(100)));
    check_same(&format!("fn f() {{ {}{} }}", "if a { ".repeat(100), "}".repeat(100)));
    check_same(&format!("fn f() {{ {}1{} }}", "x(|| { ".repeat(28), "})".repeat(28)));
    check_same(&format!("fn f(x: {}u8{}) {{}}", "Vec<".repeat(100), ">".repeat(100)));
}

#[test]
fn no_nesting_uses_up_the_stack() {
    for opening in [
        "(",
        "[",
        "{",
        "if ",
        "if a {",
        "match x { a => ",
        "match ",
        "while ",
        "for a in ",
        "'a: loop {",
        "return ",
        "break ",
        "|| ",
        "|a| ",
        "!",
        "&",
        "&&",
        "m!(",
        "a(",
        "a[",
        "a = ",
        "a..",
        "A { a: ",
        "a::<",
        "a::<{",
        "<a as ",
        "x as &",
        "let a: (",
        "let (",
        "let &",
        "let A(",
        "if let ",
        "if let a = ",
        "fn f() {",
        "impl A for B {",
        "unsafe {",
        "async ",
        "const {",
        "use a::{",
        "#[a(",
        "macro_rules! m { (",
        "macro_rules! m { () => { $(",
        "a && ",
        "a + ",
        "let a = [0; ",
    ] {
        let source = format!("fn f() {{ {}", opening.repeat(20_000));
        assert!(measure(source.as_bytes(), &|| true).is_none(), "{opening}");
    }
    let nested = format!("{}{}", "mod a {".repeat(20_000), "}".repeat(20_000));
    assert!(measure(nested.as_bytes(), &|| true).is_none());
}

#[test]
fn what_it_does_not_know_is_left_to_the_grammar() {
    let deep = format!("fn f() {{ {}1{} }}", "(".repeat(300), ")".repeat(300));
    for source in [
        "#!/usr/bin/env run\nfn f() {}",
        "fn é() {}",
        "trait A { fn f(u8); }",
        "trait A { type B: D = C; }",
        "impl A { default fn f() {} }",
        "fn f() -> [u8; f()] {}",
        "fn f(x: [u8; A && B]) {}",
        "fn f<>() {}",
        "fn f(a: u8 b: u8) {}",
        "fn f() where T: , {}",
        "fn f() { yield x }",
        "fn f() { try { x } }",
        "fn f() { return || x }",
        "fn f() { g(|a, |b, _| c) }",
        "fn f() { a.. || b }",
        "fn f() { a..|b| c }",
        "fn f() { break |a| b }",
        "fn f() { { a } && b }",
        "fn f() { { a } + b }",
        "fn f() { a b }",
        "fn f() { let x = 1 let y = 2; }",
        "fn f() { if let A = b || c {} }",
        "fn f() { if (let A = b) {} }",
        "fn f() { if a }",
        "fn f() { match x { A => 1 B => 2 } }",
        "fn f() { A { .. } }",
        "fn f() { x as fn(&_) -> u8 }",
        "fn f() { m!(a] }",
        "fn f() { m!(~a) }",
        "fn f() { x. }",
        "fn f() { 0..= }",
        "fn f() { 1px }",
        "fn f() { 'ab' }",
        "fn f() { \"\\u{1_2}\" }",
        "fn f() { \"abc }",
        "fn f() { /* }",
        "fn f() {}}",
        "fn f() {",
        "macro_rules! m { ($a:foo) => {} }",
        "struct A { b c }",
        "use a::;",
        "impl &A for B {}",
        &deep,
    ] {
        assert!(measure(source.as_bytes(), &|| true).is_none(), "{source}");
    }
}
