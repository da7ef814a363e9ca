// The official SDKs for Node, in one dialect: the task, a structured answer, or an error.

import { load, mostTurns, schemas, serve, use, weather, words } from "./hands.mjs";

const named = Object.entries(schemas).map(([name, schema]) => ({ name, description: words[name], schema }));

async function openai(job) {
  const { default: OpenAI } = await load("openai");
  return new OpenAI({ baseURL: `${job.base}/v1`, apiKey: job.key, maxRetries: 0 });
}

async function chat(job) {
  const client = await openai(job);
  const messages = [{ role: "user", content: job.prompt }];
  const ask = async (more) => {
    const asked = { model: job.model, messages, ...more };
    if (!job.streamed) return client.chat.completions.create(asked);
    return client.chat.completions
      .stream({ ...asked, stream_options: { include_usage: true } })
      .finalChatCompletion();
  };
  if (job.scenario === "structured") {
    const form = { type: "json_schema", json_schema: { name: "weather", strict: true, schema: weather } };
    const done = await ask({ response_format: form });
    return { value: JSON.parse(done.choices[0].message.content) };
  }
  const tools = named.map(({ schema, ...each }) => ({
    type: "function",
    function: { ...each, parameters: schema },
  }));
  for (let turn = 0; turn < mostTurns; turn++) {
    const done = await ask({ tools });
    const { message, finish_reason } = done.choices[0];
    if (!message.tool_calls?.length)
      return { text: message.content, stop: finish_reason, tokens: done.usage.prompt_tokens };
    messages.push(message);
    for (const call of message.tool_calls) {
      const content = use(call.function.name, JSON.parse(call.function.arguments));
      messages.push({ role: "tool", tool_call_id: call.id, content });
    }
  }
}

async function responses(job) {
  const client = await openai(job);
  const input = [{ role: "user", content: job.prompt }];
  const ask = async (more) => {
    const kept = { store: false, include: ["reasoning.encrypted_content"] };
    const asked = { model: job.model, input, ...kept, ...more };
    return job.streamed ? client.responses.stream(asked).finalResponse() : client.responses.create(asked);
  };
  if (job.scenario === "structured") {
    const format = { type: "json_schema", name: "weather", strict: true, schema: weather };
    return { value: JSON.parse((await ask({ text: { format } })).output_text) };
  }
  const tools = named.map(({ schema, ...each }) => ({
    type: "function",
    ...each,
    parameters: schema,
    strict: true,
  }));
  for (let turn = 0; turn < mostTurns; turn++) {
    const done = await ask({ tools });
    const calls = done.output.filter((item) => item.type === "function_call");
    if (!calls.length) return { text: done.output_text, stop: done.status, tokens: done.usage.input_tokens };
    input.push(...done.output.map(({ parsed_arguments, ...item }) => item));
    for (const call of calls) {
      const output = use(call.name, JSON.parse(call.arguments));
      input.push({ type: "function_call_output", call_id: call.call_id, output });
    }
  }
}

async function messages(job) {
  const { default: Anthropic } = await load("@anthropic-ai/sdk");
  const client = new Anthropic({ baseURL: job.base, apiKey: job.key, maxRetries: 0 });
  const said = [{ role: "user", content: job.prompt }];
  const ask = async (more) => {
    const asked = { model: job.model, messages: said, max_tokens: 4000, ...more };
    return job.streamed ? client.messages.stream(asked).finalMessage() : client.messages.create(asked);
  };
  const text = (done) => done.content.filter((each) => each.type === "text").map((each) => each.text);
  if (job.scenario === "structured") {
    const format = { type: "json_schema", schema: weather };
    return { value: JSON.parse(text(await ask({ output_config: { format } })).join("")) };
  }
  const tools = named.map(({ schema, ...each }) => ({ ...each, input_schema: schema }));
  const thinking = { type: "enabled", budget_tokens: 2000 };
  for (let turn = 0; turn < mostTurns; turn++) {
    const done = await ask({ tools, thinking });
    const calls = done.content.filter((block) => block.type === "tool_use");
    if (!calls.length)
      return { text: text(done).join(""), stop: done.stop_reason, tokens: done.usage.input_tokens };
    said.push({ role: "assistant", content: done.content });
    const content = calls.map((call) => ({
      type: "tool_result",
      tool_use_id: call.id,
      content: use(call.name, call.input),
    }));
    said.push({ role: "user", content });
  }
}

async function gemini(job) {
  const { GoogleGenAI } = await load("@google/genai");
  const client = new GoogleGenAI({ apiKey: job.key, httpOptions: { baseUrl: job.base } });
  const contents = [{ role: "user", parts: [{ text: job.prompt }] }];
  const ask = async (config) => {
    const chunks = [];
    if (job.streamed) {
      const stream = await client.models.generateContentStream({ model: job.model, contents, config });
      for await (const chunk of stream) chunks.push(chunk);
    } else chunks.push(await client.models.generateContent({ model: job.model, contents, config }));
    const parts = chunks.flatMap((chunk) => chunk.candidates?.[0]?.content?.parts ?? []);
    const last = chunks.at(-1);
    const text = parts.filter((part) => part.text && !part.thought).map((part) => part.text);
    return {
      parts,
      text: text.join(""),
      stop: last.candidates[0].finishReason,
      tokens: last.usageMetadata.promptTokenCount,
    };
  };
  if (job.scenario === "structured") {
    const form = { responseMimeType: "application/json", responseJsonSchema: weather };
    return { value: JSON.parse((await ask(form)).text) };
  }
  const functionDeclarations = named.map(({ schema, ...each }) => ({ ...each, parametersJsonSchema: schema }));
  const config = { tools: [{ functionDeclarations }], thinkingConfig: { includeThoughts: true } };
  for (let turn = 0; turn < mostTurns; turn++) {
    const { parts, ...done } = await ask(config);
    const calls = parts.filter((part) => part.functionCall).map((part) => part.functionCall);
    if (!calls.length) return done;
    contents.push({ role: "model", parts });
    const answers = calls.map(({ id, name, args }) => ({
      functionResponse: { id, name, response: { result: use(name, args) } },
    }));
    contents.push({ role: "user", parts: answers });
  }
}

serve(async (job) => {
  try {
    return await { chat, responses, messages, gemini }[job.dialect](job);
  } catch (error) {
    if (error.status === undefined) throw error;
    return { error: error.constructor.name, status: error.status, message: error.message };
  }
});
