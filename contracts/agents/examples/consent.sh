curl -X POST http://localhost:8099/api/mcp/consent/consent-uuid \
  -H "Content-Type: application/json" \
  -d '{"decision": "approved", "reason": "User authorized"}'
