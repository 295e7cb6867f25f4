import requests
import json

# Initialize session
def initialize_mcp():
    response = requests.post('http://localhost:8099/jsonrpc', json={
        "jsonrpc": "2.0",
        "method": "initialize",
        "params": {
            "clientInfo": {"name": "Python Client", "version": "1.0"},
            "capabilities": ["tools", "resources", "prompts"]
        },
        "id": 1
    })
    return response.json()

# Execute a tool
def execute_tool(tool_name, arguments):
    response = requests.post('http://localhost:8099/jsonrpc', json={
        "jsonrpc": "2.0",
        "method": "tools/call",
        "params": {
            "name": tool_name,
            "arguments": arguments
        },
        "id": 2
    })
    return response.json()

# Example usage
session = initialize_mcp()
print(f"Session ID: {session['result']['session_id']}")

result = execute_tool("log_activity", {
    "agent": "python_client",
    "activity": "Testing MCP",
    "category": "task",
    "status": "completed"
})
print(f"Tool result: {result['result']}")
