// The smallest agent on a TypeScript client: it asks a model, calls what the model calls, and asks again.
// Task as JSON in argv[2]: {server: {command, args, env} | url, model: root URL, prompt, follows}.
// Answer as JSON on stdout: {protocol, answers: structured answer of each call}.
import { answer, connected } from "./conversation.mjs";

export async function converse(how) {
  const task = JSON.parse(process.argv[2]);
  let tools = [];
  const heard = (error, listed) => {
    if (!error) tools = listed;
  };
  const { client, protocol } = await connected(how, task, task.follows ? heard : undefined);
  tools = (await client.listTools()).tools;
  const messages = [{ role: "user", content: task.prompt }];
  const answers = [];
  for (;;) {
    const message = await asked(task.model, messages, tools);
    messages.push(message);
    if (!message.tool_calls) break;
    for (const { id, function: called } of message.tool_calls) {
      const result = await client.callTool({ name: called.name, arguments: JSON.parse(called.arguments) });
      answers.push(result.structuredContent);
      messages.push({ role: "tool", tool_call_id: id, content: result.content.map((part) => part.text).join("\n") });
    }
  }
  await client.close();
  answer({ protocol, answers });
}

async function asked(model, messages, tools) {
  const functions = tools.map(({ name, description, inputSchema }) => ({
    type: "function",
    function: { name, description, parameters: inputSchema },
  }));
  const body = JSON.stringify({ model: "scripted", messages, tools: functions });
  const response = await fetch(`${model}/v1/chat/completions`, { method: "POST", body });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()).choices[0].message;
}
