// The TypeScript SDK's stable client (2025 protocol): does a tool that it makes reach its list and its hands?
// DOES is the module that converses: ./conversation.mjs or ./agent.mjs.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const { converse } = await import(process.env.DOES ?? "./conversation.mjs");
await converse({
  open: (listChanged) => new Client({ name: "typescript v1", version: "1" }, { listChanged }),
  overStdio: (parameters) => new StdioClientTransport(parameters),
  overHttp: (url, options) => new StreamableHTTPClientTransport(url, options),
});
