const mcpRequest = {
  jsonrpc: "2.0",
  id: 2,
  method: "tools/call",
  params: {
    name: "getBalance",
    arguments: {
      pubkey: "11111111111111111111111111111112"
    }
  }
};

fetch("http://localhost:3000/api/mcp", {
  method: "POST",
  headers: {
    "Content-Type": "application/json"
  },
  body: JSON.stringify(mcpRequest)
})
.then(response => response.json())
.then(data => console.log(data));
