// Initialize MCP session
async function initializeMCP() {
  const response = await fetch('http://localhost:8099/jsonrpc', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      method: 'initialize',
      params: {
        clientInfo: { name: 'JS Client', version: '1.0' },
        capabilities: ['tools', 'resources', 'prompts']
      },
      id: 1
    })
  });
  return response.json();
}

// Execute a tool
async function executeTool(toolName, args) {
  const response = await fetch('http://localhost:8099/jsonrpc', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      method: 'tools/call',
      params: { name: toolName, arguments: args },
      id: 2
    })
  });
  return response.json();
}

// Example usage
initializeMCP().then(session => {
  console.log('Session ID:', session.result.session_id);

  return executeTool('log_activity', {
    agent: 'js_client',
    activity: 'Testing MCP',
    category: 'task',
    status: 'completed'
  });
}).then(result => {
  console.log('Tool result:', result.result);
});
