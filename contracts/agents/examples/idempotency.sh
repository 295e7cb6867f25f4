# Make request with idempotency key
curl -X POST http://localhost:8099/jsonrpc \
  -H "Content-Type: application/json" \
  -H "Idempotency-Key: unique-key-123" \
  -d '{
    "jsonrpc": "2.0",
    "method": "tools/call",
    "params": {
      "name": "log_activity",
      "arguments": {
        "agent": "test",
        "activity": "Idempotent operation",
        "category": "task"
      }
    },
    "id": 5
  }'

# Repeat with same key - returns cached result
curl -X POST http://localhost:8099/jsonrpc \
  -H "Content-Type: application/json" \
  -H "Idempotency-Key: unique-key-123" \
  -d '{
    "jsonrpc": "2.0",
    "method": "tools/call",
    "params": {
      "name": "log_activity",
      "arguments": {
        "agent": "test",
        "activity": "Different operation",
        "category": "task"
      }
    },
    "id": 6
  }'
