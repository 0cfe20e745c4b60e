// What every client does: connect, ask for a tool, wait until it is told of a list with it, call it natively.
// Task as JSON in argv[2]: {server: {command, args, env} | url and headers, make: arguments of synthesize_tool, call: arguments,
// times: how often `é` is repeated for a result that is too large to send, offset: where in it to read}.
// Answer as JSON on stdout.
const PATIENCE_MS = 60_000;

export async function converse(how) {
  const task = JSON.parse(process.argv[2]);
  const lists = [];
  let told = () => {};
  const { client, protocol } = await connected(how, task, (error, tools) => {
    lists.push(error ? String(error) : tools.map((tool) => tool.name));
    told();
  });
  const announced = new Promise((resolve) => {
    told = () => lists.at(-1).includes(task.make.name) && resolve();
  });
  const made = await client.callTool({ name: "synthesize_tool", arguments: task.make });
  await within(announced, "the announcement");
  const listed = (await client.listTools()).tools.find((tool) => tool.name === task.make.name);
  const called = await client.callTool({ name: task.make.name, arguments: task.call });
  const cut = await client.callTool({ name: task.make.name, arguments: { text: "é".repeat(task.times) } });
  const uri = cut.content.find((block) => block.type === "resource_link").uri;
  const part = await client.readResource({ uri: `${uri}?offset=${task.offset}` });
  const advertised = client.getServerCapabilities().tools?.listChanged;
  await client.close();
  answer({
    protocol,
    advertised,
    made: made.structuredContent,
    lists,
    outputSchema: listed?.outputSchema,
    result: called.structuredContent,
    cut: { ...cut, content: cut.content.map((block) => ({ ...block, text: block.text?.slice(0, 100) })) },
    part: part.contents.at(-1).text,
  });
}

// Ends with an answer on stdout, once the pipe has taken all of it: an exit alone would cut it after 64 kB.
export function answer(value) {
  process.stdout.write(`${JSON.stringify(value)}\n`, () => process.exit(0));
}

// A connected client and its protocol; `heard` gets every list that follows a change, without it none is asked for.
export async function connected({ open, overStdio, overHttp }, task, heard) {
  const client = open(heard && { tools: { autoRefresh: true, debounceMs: 0, onChanged: heard } });
  const standing = openedStream(Boolean(task.url));
  await client.connect(
    task.url
      ? overHttp(new URL(task.url), { fetch: standing.fetch, requestInit: { headers: task.headers ?? {} } })
      : overStdio(task.server),
  );
  const protocol = client.getNegotiatedProtocolVersion?.() ?? "2025-11-25";
  if (protocol < "2026") await within(standing.open, "the standing stream");
  return { client, protocol };
}

// A client of the 2025 protocol hears over HTTP only once its standing GET stream is open.
function openedStream(isHttp) {
  let opened = () => {};
  const open = isHttp ? new Promise((resolve) => (opened = resolve)) : Promise.resolve();
  const watching = async (url, init) => {
    const response = await fetch(url, init);
    if (init?.method === "GET" && response.ok) opened();
    return response;
  };
  return { open, fetch: watching };
}

function within(promise, what) {
  const late = new Promise((_, reject) =>
    setTimeout(() => reject(new Error(`${what} did not come`)), PATIENCE_MS).unref(),
  );
  return Promise.race([promise, late]);
}
