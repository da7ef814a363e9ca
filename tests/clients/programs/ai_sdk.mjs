// The Vercel AI SDK, in one dialect: the task, a structured answer, or an error.

import { load, mostTurns, schemas, serve, use, weather, words } from "./hands.mjs";

const { generateText, isStepCount, jsonSchema, Output, streamText, tool } = await load("ai");
const { createOpenAI } = await load("@ai-sdk/openai");
const { createAnthropic } = await load("@ai-sdk/anthropic");
const { createGoogleGenerativeAI } = await load("@ai-sdk/google");

const models = {
  chat: (job, at) => createOpenAI(at("v1")).chat(job.model),
  responses: (job, at) => createOpenAI(at("v1"))(job.model),
  messages: (job, at) => createAnthropic(at("v1"))(job.model),
  gemini: (job, at) => createGoogleGenerativeAI(at("v1beta"))(job.model),
};
const tools = Object.fromEntries(
  Object.entries(schemas).map(([name, schema]) => [
    name,
    tool({
      description: words[name],
      inputSchema: jsonSchema(schema),
      execute: async (input) => use(name, input),
    }),
  ]),
);

function asked(job) {
  const at = (version) => ({ baseURL: `${job.base}/${version}`, apiKey: job.key });
  const same = { model: models[job.dialect](job, at), prompt: job.prompt, maxRetries: 0 };
  if (job.scenario === "structured")
    return { ...same, output: Output.object({ schema: jsonSchema(weather) }) };
  return { ...same, tools, stopWhen: isStepCount(mostTurns) };
}

serve(async (job) => {
  let failure;
  try {
    const done = job.streamed
      ? streamText({ ...asked(job), onError: ({ error }) => (failure ??= error) })
      : await generateText(asked(job));
    if (job.scenario === "structured") return { value: await done.output };
    const [text, stop, usage] = [await done.text, await done.finishReason, await done.usage];
    if (failure) throw failure;
    return { text, stop, tokens: usage.inputTokens };
  } catch (error) {
    const shown = failure ?? error;
    if (shown.statusCode === undefined) throw shown;
    return { error: shown.name, status: shown.statusCode, message: shown.message };
  }
});
