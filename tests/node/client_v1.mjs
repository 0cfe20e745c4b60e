// The TypeScript SDK's stable client (2025 protocol): does a tool that it makes reach its list and its hands?
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { converse } from "./conversation.mjs";

await converse({
  open: (heard) =>
    new Client(
      { name: "typescript v1", version: "1" },
      { listChanged: { tools: { autoRefresh: true, debounceMs: 0, onChanged: heard } } },
    ),
  overStdio: (parameters) => new StdioClientTransport(parameters),
  overHttp: (url, options) => new StreamableHTTPClientTransport(url, options),
});
