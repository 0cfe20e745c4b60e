// The TypeScript client 2.x; ERA is what it negotiates: legacy (its default) or auto (2026 protocol where offered).
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { converse } from "./conversation.mjs";

await converse({
  open: (heard) =>
    new Client(
      { name: "typescript v2", version: "1" },
      {
        versionNegotiation: { mode: process.env.ERA },
        listChanged: { tools: { autoRefresh: true, debounceMs: 0, onChanged: heard } },
      },
    ),
  overStdio: (parameters) => new StdioClientTransport(parameters),
  overHttp: (url, options) => new StreamableHTTPClientTransport(url, options),
});
