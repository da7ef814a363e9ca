// The Vercel AI SDK, in one dialect: the task, a structured answer, or an error.

import { job, load, mostTurns, refusals, say, schemas, use, weather, words } from "./hands.mjs";

const { generateText, streamText, jsonSchema, stepCountIs, isStepCount, tool, Output } = await load("ai");
const { createOpenAI } = await load("@ai-sdk/openai");
const { createAnthropic } = await load("@ai-sdk/anthropic");
const { createGoogleGenerativeAI, createGoogle } = await load("@ai-sdk/google");

const at = (version) => ({ baseURL: `${job.base}/${version}`, apiKey: job.key });
const models = {
  chat: () => createOpenAI(at("v1")).chat(job.model),
  responses: () => createOpenAI(at("v1"))(job.model),
  messages: () => createAnthropic(at("v1"))(job.model),
  gemini: () => (createGoogleGenerativeAI ?? createGoogle)(at("v1beta"))(job.model),
};
const asked = { model: models[job.dialect](), maxRetries: 0 };
if (job.scenario === "structured") asked.output = Output.object({ schema: jsonSchema(weather) });
else {
  asked.stopWhen = (isStepCount ?? stepCountIs)(mostTurns);
  asked.tools = Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [
      name,
      tool({
        description: words[name],
        inputSchema: jsonSchema(schema),
        execute: async (input) => use(name, input),
      }),
    ]),
  );
}

async function tried() {
  let failure;
  try {
    const done = job.streamed
      ? streamText({ ...asked, prompt: job.prompt, onError: ({ error }) => (failure ??= error) })
      : await generateText({ ...asked, prompt: job.prompt });
    if (job.scenario === "structured") return { value: await done.output };
    const [text, stop, usage] = [await done.text, await done.finishReason, await done.usage];
    if (failure) throw failure;
    return { text, stop, tokens: usage.inputTokens };
  } catch (error) {
    const shown = failure ?? error;
    if (shown.statusCode === undefined) throw shown;
    return { error: shown.name, status: shown.statusCode, message: shown.message };
  }
}

if (job.scenario === "errors") {
  const errors = [];
  for (job.prompt of refusals) errors.push(await tried());
  say({ errors });
} else say(await tried());
