const ws = new WebSocket('ws://localhost:8099/ws');
