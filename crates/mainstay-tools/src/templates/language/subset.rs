//! Which part of Jinja a template may use: a walk over the parsed text that accepts what is listed here and nothing else.
//!
//! A list of what is allowed, not of what is forbidden: what a later version of the engine adds stays out.

use minijinja::machinery::Span;
use minijinja::machinery::ast::{BinOpKind, CallArg, Compare, Expr, Filter, ForLoop, Stmt, UnaryOpKind};

/// The engine's variable in the body of a `for`.
const LOOP: &str = "loop";

/// Fails with a sentence for the author of the template.
pub(super) fn check(template: &Stmt<'_>, parameters: &[&str]) -> Result<(), String> {
    let mut walk = Walk { parameters, variables: Vec::new() };
    walk.statement(template)
}

/// Where the walk is: the parameters, and the variables of the `for`s around.
struct Walk<'a> {
    parameters: &'a [&'a str],
    variables: Vec<String>,
}

fn refused(span: Span, what: &str, instead: &str) -> String {
    format!("line {}: {what} is not allowed in a template; {instead}", span.start_line)
}

const STATEMENTS: &str = "its statements are `if` and `for`";

impl Walk<'_> {
    fn statements(&mut self, statements: &[Stmt<'_>]) -> Result<(), String> {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Stmt<'_>) -> Result<(), String> {
        match statement {
            Stmt::Template(template) => self.statements(&template.children),
            Stmt::EmitRaw(_) => Ok(()),
            Stmt::EmitExpr(emit) => self.expression(&emit.expr),
            Stmt::IfCond(condition) => {
                self.expression(&condition.expr)?;
                self.statements(&condition.true_body)?;
                self.statements(&condition.false_body)
            }
            Stmt::ForLoop(each) => self.for_loop(each, each.span()),
            Stmt::WithBlock(other) => Err(refused(other.span(), "`with`", STATEMENTS)),
            Stmt::Set(other) => Err(refused(other.span(), "`set`", STATEMENTS)),
            Stmt::SetBlock(other) => Err(refused(other.span(), "`set`", STATEMENTS)),
            Stmt::AutoEscape(other) => Err(refused(other.span(), "`autoescape`", "nothing is escaped anyway")),
            Stmt::FilterBlock(other) => Err(refused(other.span(), "`filter`", STATEMENTS)),
            Stmt::Do(other) => Err(refused(other.span(), "`do`", STATEMENTS)),
        }
    }

    fn for_loop(&mut self, each: &ForLoop<'_>, span: Span) -> Result<(), String> {
        if each.recursive {
            return Err(refused(span, "a recursive `for`", "write the levels out"));
        }
        let Expr::Var(item) = &each.target else {
            return Err(refused(span, "a `for` with several variables", "use one, and its members"));
        };
        self.expression(&each.iter)?;
        let outside = self.variables.len();
        self.variables.push(item.id.to_owned());
        if let Some(condition) = &each.filter_expr {
            self.expression(condition)?;
        }
        self.variables.push(LOOP.to_owned());
        self.statements(&each.body)?;
        self.variables.truncate(outside);
        self.statements(&each.else_body)
    }

    fn expression(&self, expression: &Expr<'_>) -> Result<(), String> {
        match expression {
            Expr::Const(_) => Ok(()),
            Expr::Var(variable) => self.variable(variable.id, variable.span()),
            Expr::UnaryOp(not) if matches!(not.op, UnaryOpKind::Not) => self.expression(&not.expr),
            Expr::BinOp(both) if compares(both.op) => {
                self.expression(&both.left)?;
                self.expression(&both.right)
            }
            Expr::Compare(chain) => self.comparison(chain),
            Expr::IfExpr(choice) => {
                self.expression(&choice.test_expr)?;
                self.expression(&choice.true_expr)?;
                choice.false_expr.as_ref().map_or(Ok(()), |other| self.expression(other))
            }
            Expr::Filter(filter) => self.filter(filter, filter.span()),
            Expr::GetAttr(member) => self.expression(&member.expr),
            Expr::GetItem(member) => {
                self.expression(&member.expr)?;
                self.expression(&member.subscript_expr)
            }
            // For `in`: a list of constants is as long as its text.
            Expr::List(list) if list.as_const().is_some() => Ok(()),
            Expr::UnaryOp(other) => Err(refused(other.span(), "this operator", OPERATORS)),
            Expr::BinOp(other) => Err(refused(other.span(), "this operator", OPERATORS)),
            Expr::Call(other) => Err(refused(other.span(), "a call", "use a filter")),
            Expr::Test(other) => Err(refused(other.span(), "`is`", "every parameter is defined; use `if`")),
            Expr::List(other) => Err(refused(other.span(), "a list with parameters in it", CONSTANTS)),
            Expr::Tuple(other) => Err(refused(other.span(), "a tuple", CONSTANTS)),
            Expr::Map(other) => Err(refused(other.span(), "a map", CONSTANTS)),
            Expr::Slice(other) => Err(refused(other.span(), "a slice", "print the whole value")),
        }
    }

    fn comparison(&self, chain: &Compare<'_>) -> Result<(), String> {
        self.expression(&chain.expr)?;
        chain.ops.iter().try_for_each(|next| self.expression(&next.expr))
    }

    fn filter(&self, filter: &Filter<'_>, span: Span) -> Result<(), String> {
        filter.expr.as_ref().map_or(Ok(()), |input| self.expression(input))?;
        filter.args.iter().try_for_each(|argument| match argument {
            CallArg::Pos(value) => self.expression(value),
            CallArg::Kwarg(..) | CallArg::PosSplat(_) | CallArg::KwargSplat(_) => {
                Err(refused(span, "a named argument of a filter", "give the arguments in their order"))
            }
        })
    }

    /// A misspelt variable would be found only when somebody generates with it.
    fn variable(&self, name: &str, span: Span) -> Result<(), String> {
        if self.parameters.contains(&name) || self.variables.iter().any(|variable| variable == name) {
            return Ok(());
        }
        Err(format!("line {}: {name:?} is not a parameter of the manifest", span.start_line))
    }
}

const OPERATORS: &str = "its operators are and, or, not, in and comparisons";
const CONSTANTS: &str = "declare what is needed as a parameter";

/// Whether an operator only compares: the others make new values, which could be of any size.
fn compares(operator: BinOpKind) -> bool {
    use BinOpKind::{Eq, Gt, Gte, In, Lt, Lte, Ne, ScAnd, ScOr};
    matches!(operator, Eq | Ne | Lt | Lte | Gt | Gte | In | ScAnd | ScOr)
}
