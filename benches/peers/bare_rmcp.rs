//! The peer Mainstay is measured against: the same SDK with nothing around it, written the way its documentation shows.
//! One tool, no policy, no audit, the system's allocator.
//!
//! Usage: `bare-rmcp 127.0.0.1:PORT [--sessions]`. Without the flag every request is stateless and answered as plain
//! JSON; with it the old era gets the SDK's own sessions and event streams.

use std::sync::Arc;

use anyhow::Context;
use axum::Router;
use axum::serve::ListenerExt;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::json;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().context("usage: bare-rmcp ADDRESS [--sessions]")?;
    let sessions = arguments.next().as_deref() == Some("--sessions");

    let echo = EchoServer::new();
    let service = StreamableHttpService::new(
        move || Ok(echo.clone()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default().with_legacy_session_mode(sessions).with_json_response(true),
    );
    let listener = tokio::net::TcpListener::bind(address).await?.tap_io(|socket| {
        let _ = socket.set_nodelay(true);
    });
    axum::serve(listener, Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}

#[derive(Clone)]
struct EchoServer {
    tool: Tool,
}

impl EchoServer {
    fn new() -> Self {
        let mut schema = JsonObject::new();
        schema.insert("type".into(), json!("object"));
        schema.insert("properties".into(), json!({ "text": { "type": "string" } }));
        schema.insert("required".into(), json!(["text"]));
        Self { tool: Tool::new("echo", "Answers with the text it was given", schema) }
    }
}

impl ServerHandler for EchoServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        (name == self.tool.name).then(|| self.tool.clone())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(vec![self.tool.clone()]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name != self.tool.name {
            return Err(ErrorData::invalid_params("unknown tool", None));
        }
        let text = request
            .arguments
            .as_ref()
            .and_then(|arguments| arguments.get("text"))
            .and_then(|text| text.as_str())
            .ok_or_else(|| ErrorData::invalid_params("`text` must be a string", None))?;
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}
