# Initialize session
curl -X POST http://localhost:8099/jsonrpc \
  -H "Content-Type: application/json" \
  -d '{
    "jsonrpc": "2.0",
    "method": "initialize",
    "params": {
      "clientInfo": {"name": "curl", "version": "1.0"},
      "capabilities": ["tools", "resources", "prompts"]
    },
    "id": 1
  }'

# List tools
curl -X POST http://localhost:8099/jsonrpc \
  -H "Content-Type: application/json" \
  -d '{"jsonrpc": "2.0", "method": "tools/list", "params": {}, "id": 2}'

# Execute tool with dry_run
curl -X POST http://localhost:8099/jsonrpc \
  -H "Content-Type: application/json" \
  -d '{
    "jsonrpc": "2.0",
    "method": "tools/call",
    "params": {
      "name": "log_activity",
      "arguments": {
        "agent": "test",
        "activity": "Test activity",
        "category": "task",
        "dry_run": true
      }
    },
    "id": 3
  }'

# Get OAuth token
curl -X POST http://localhost:8099/oauth/token \
  -H "Content-Type: application/json" \
  -d '{
    "grant_type": "client_credentials",
    "client_id": "test_client",
    "client_secret": "test_secret",
    "scope": "read write execute"
  }'

# Use token in request
curl -X POST http://localhost:8099/jsonrpc \
  -H "Content-Type: application/json" \
  -H "Authorization: Bearer YOUR_TOKEN_HERE" \
  -d '{"jsonrpc": "2.0", "method": "tools/list", "params": {}, "id": 4}'
