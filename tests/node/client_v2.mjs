// The TypeScript client 2.x; ERA is what it negotiates: legacy (its default) or auto (2026 protocol where offered).
// DOES is the module that converses: ./conversation.mjs or ./agent.mjs.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const { converse } = await import(process.env.DOES ?? "./conversation.mjs");
await converse({
  open: (listChanged) =>
    new Client(
      { name: "typescript v2", version: "1" },
      { versionNegotiation: { mode: process.env.ERA }, listChanged },
    ),
  overStdio: (parameters) => new StdioClientTransport(parameters),
  overHttp: (url, options) => new StreamableHTTPClientTransport(url, options),
});
