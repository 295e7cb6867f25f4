import requests
import json

# Initialize MCP session
init_request = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2024-11-05",
        "capabilities": {},
        "clientInfo": {
            "name": "my-client",
            "version": "1.0.0"
        }
    }
}

response = requests.post(
    "http://localhost:3000/api/mcp",
    headers={"Content-Type": "application/json"},
    json=init_request
)

print(response.json())
