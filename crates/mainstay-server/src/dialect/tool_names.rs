//! Tool names in descriptions and prompts. They are written once, with the names of the standard endpoint; a client of a dialect can
//! call none of those, so it reads the names it can call.

use std::collections::HashMap;

use mainstay_core::{Content, PromptReply, Registry};
use mainstay_wire::Dialect;
use serde_json::Value;

/// Keywords whose value is data of the tool and no schema: a `description` in it is not ours.
const DATA: [&str; 4] = ["default", "const", "enum", "examples"];

/// The name in one dialect of each tool it exposes, by the listed name.
pub(super) struct ToolNames(HashMap<String, String>);

impl ToolNames {
    pub(super) fn new(dialect: &dyn Dialect, registry: &Registry) -> Self {
        let spelled = registry.all_tools().filter_map(|tool| {
            let name = dialect.tool_name(tool)?;
            (name != tool.listed).then(|| (tool.listed.clone(), name.into_owned()))
        });
        Self(spelled.collect())
    }

    /// Respells the descriptions of an entry of the tool list, those of its schemas included.
    pub(super) fn respell(&self, entry: &mut Value) {
        match entry {
            Value::Object(members) => {
                for (key, value) in members.iter_mut().filter(|(key, _)| !DATA.contains(&key.as_str())) {
                    if key == "description"
                        && let Value::String(text) = value
                    {
                        *text = self.text(text);
                    } else {
                        self.respell(value);
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.respell(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Respells the texts of a prompt.
    pub(super) fn respell_prompt(&self, prompt: &mut PromptReply) {
        for message in &mut prompt.messages {
            if let Content::Text { text } = &mut message.content.content {
                *text = self.text(text);
            }
        }
    }

    /// The text with every whole word that is a listed name in this dialect's spelling.
    fn text(&self, text: &str) -> String {
        let is_part_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (mut spelled, mut rest) = (String::with_capacity(text.len()), text);
        while !rest.is_empty() {
            let (word, after) = rest.split_at(rest.find(|c| !is_part_of_name(c)).unwrap_or(rest.len()));
            spelled.push_str(self.0.get(word).map_or(word, String::as_str));
            let (between, next) = after.split_at(after.find(is_part_of_name).unwrap_or(after.len()));
            spelled.push_str(between);
            rest = next;
        }
        spelled
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_words_are_respelled_in_descriptions_and_nowhere_else() {
        let names = [("exec_run", "exec/run"), ("exec_kill", "exec/kill")];
        let names = ToolNames(names.map(|(listed, name)| (listed.to_owned(), name.to_owned())).into());
        let mut entry = json!({
            "name": "exec_run",
            "description": "As exec_run; end it with \"exec_kill\". No exec_runs, my_exec_run or exec_run_é.",
            "input_schema": {"properties": {
                "description": {"type": "string", "description": "(exec_kill)", "default": {"description": "exec_run"}},
                "either": {"anyOf": [{"description": "exec_run"}, true]},
            }},
        });
        names.respell(&mut entry);
        let expected = json!({
            "name": "exec_run",
            "description": "As exec/run; end it with \"exec/kill\". No exec_runs, my_exec_run or exec_run_é.",
            "input_schema": {"properties": {
                "description": {"type": "string", "description": "(exec/kill)", "default": {"description": "exec_run"}},
                "either": {"anyOf": [{"description": "exec/run"}, true]},
            }},
        });
        assert_eq!(entry, expected);
    }
}
