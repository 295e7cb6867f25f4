//! `mainstay call`: calls a tool through the same pipeline as any client, as the local user.

use std::io::{BufRead, IsTerminal, Read, Write};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use mainstay_core::{
    Answer, AnswerAction, Body, BoxFuture, Call, Caller, Content, Contents, Error, Kind, Note, OpenQuestions, Question,
    Reply, Sink,
};
use serde_json::{Map, Value, json};

use super::terminal::{exit_code, print_line};
use crate::cli::CallArgs;
use crate::wiring::{open_engine, stop_signal};
use crate::{Config, Extensions};

/// Calls a tool of this program, with its own engine on the configured store.
pub(super) async fn run(config: &Config, more: Extensions, request: CallArgs) -> anyhow::Result<ExitCode> {
    let engine = open_engine(config, more).await?;
    let unknown = || format!("there is no tool {:?}; see `mainstay tools`", request.tool);
    let tool = engine.registry().tool(&request.tool).with_context(unknown)?;
    let args = parse_arguments(&tool.info().input_schema, &request.arguments)?;
    let mut call = Call::new(Arc::new(Caller::local(None)));
    call.idempotency_key = request.idempotency_key;
    // An interrupt cancels the call, which is recorded, instead of killing it half-way.
    call.cancel = stop_signal()?;
    call.sink = Arc::new(Terminal);
    let result = engine.call_tool(&request.tool, args, call, &engine.lane()).await;
    // Before anything is printed: the audit row of the call has to be on disk by then.
    engine.shut_down().await;
    match result {
        Ok(reply) => {
            print(&reply, request.json)?;
            Ok(exit_code(!reply.failed))
        }
        Err(error) => bail!("{error}"),
    }
}

/// Parses the arguments on the command line according to the tool's schema.
pub(super) fn parse_arguments(schema: &Map<String, Value>, words: &[String]) -> anyhow::Result<Value> {
    match words {
        [one] if one == "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
            serde_json::from_str(&text).context("standard input is not JSON")
        }
        [one] if one.trim_start().starts_with('{') => serde_json::from_str(one).context("the arguments are not JSON"),
        pairs => {
            let mut args = Map::new();
            for pair in pairs {
                let (key, value) = pair.split_once('=').with_context(|| format!("{pair:?} is not key=value"))?;
                args.insert(key.to_owned(), parse_value(schema, key, value));
            }
            Ok(Value::Object(args))
        }
    }
}

/// A string where the schema wants one; elsewhere JSON, or a string if it is not valid JSON.
fn parse_value(schema: &Map<String, Value>, key: &str, text: &str) -> Value {
    let wants =
        schema.get("properties").and_then(|properties| properties.get(key)).and_then(|schema| schema.get("type"));
    let as_text = match wants {
        Some(Value::String(one)) => one == "string",
        // A nullable string: `7` is a string here too, and only `null` is null.
        Some(Value::Array(some)) => {
            some.iter().all(|one| one == "string" || one == "null")
                && some.iter().any(|one| one == "string" && text != "null")
        }
        _ => false,
    };
    if as_text {
        return Value::String(text.to_owned());
    }
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// Prints a reply: all of it as JSON, its value as JSON, or else its content as text.
fn print(reply: &Reply, as_json: bool) -> anyhow::Result<()> {
    let whole = if as_json { Some(serde_json::to_value(reply)?) } else { reply.structured.clone() };
    if let Some(value) = whole {
        print_line(serde_json::to_string_pretty(&value)?);
        return Ok(());
    }
    for block in &reply.content {
        match &block.content {
            Content::Text { text } | Content::Resource(Contents { body: Body::Text(text), .. }) => print_line(text),
            Content::Image { data, mime } | Content::Audio { data, mime } => {
                print_line(format_args!("[{mime}, {} bytes]", data.len()))
            }
            Content::Resource(Contents { uri, body: Body::Bytes(bytes), .. }) => {
                print_line(format_args!("[{uri}, {} bytes]", bytes.len()))
            }
        }
    }
    Ok(())
}

/// Prints progress to standard error, and asks questions on the terminal.
struct Terminal;

impl Sink for Terminal {
    /// Everything goes to standard error, so that standard output has the reply and nothing else.
    fn send(&self, note: Note) -> BoxFuture<'_, ()> {
        let mut err = std::io::stderr();
        let _ = match note {
            Note::Progress { done, total: Some(total), message } => {
                writeln!(err, "{done}/{total} {}", message.unwrap_or_default())
            }
            Note::Progress { done, total: None, message } => writeln!(err, "{done} {}", message.unwrap_or_default()),
            Note::Log { data, .. } => writeln!(err, "{data}"),
            Note::Chunk { text, .. } => write!(err, "{text}"),
        };
        Box::pin(std::future::ready(()))
    }

    fn ask(&self, asked: OpenQuestions) -> BoxFuture<'_, mainstay_core::Result<Vec<Answer>>> {
        Box::pin(async move {
            if !std::io::stdin().is_terminal() {
                let line = "This call has a question for a person, and standard input is not a terminal.";
                return Err(Error::new(Kind::Unsupported, line));
            }
            // Reading from the terminal blocks.
            let ask_all = move || asked.questions.into_iter().map(|(_, question)| ask(question)).collect();
            tokio::task::spawn_blocking(ask_all).await.map_err(Error::internal)?
        })
    }
}

/// Asks one question on the terminal. An empty or unknown answer cancels, which is never taken for consent.
fn ask(question: Question) -> mainstay_core::Result<Answer> {
    let (text, form) = match question {
        Question::Form { message, schema } => (message, schema),
        Question::Page { message, url, .. } => (format!("{message}\n{url}"), Value::Null),
        Question::Sample(_) | Question::Roots => {
            let line = "This call has a question that only a client with a model can answer.";
            return Err(Error::new(Kind::Unsupported, line));
        }
    };
    let has_fields = form.get("properties").and_then(Value::as_object).is_some_and(|fields| !fields.is_empty());
    let hint = if has_fields { "a JSON object, or n" } else { "y or n" };
    let _ = write!(std::io::stderr(), "{text}\n[{hint}] ");
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).map_err(Error::internal)?;
    let line = line.trim();
    Ok(match (has_fields, line) {
        (false, "y" | "yes") => Answer::accepted(json!({})),
        (true, object) if object.starts_with('{') => Answer::accepted(
            serde_json::from_str(object).map_err(|error| Error::invalid(format!("That is not JSON: {error}")))?,
        ),
        (_, "n" | "no") => Answer { action: AnswerAction::Decline, value: Value::Null },
        _ => Answer { action: AnswerAction::Cancel, value: Value::Null },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_parsed_according_to_its_schema() {
        let schema = json!({"properties": {
            "text": {"type": "string"}, "maybe": {"type": ["string", "null"]}, "count": {"type": ["integer", "null"]}}});
        let parse = |key: &str, text: &str| parse_value(schema.as_object().unwrap(), key, text);
        assert_eq!((parse("text", "7"), parse("text", "null")), (json!("7"), json!("null")));
        assert_eq!((parse("maybe", "7"), parse("maybe", "null")), (json!("7"), Value::Null));
        assert_eq!(
            (parse("count", "7"), parse("count", "null"), parse("count", "x")),
            (json!(7), Value::Null, json!("x"))
        );
        assert_eq!((parse("other", "[1]"), parse("other", "[")), (json!([1]), json!("[")));
    }
}
