// The Vercel AI SDK, in one dialect: the task, a structured answer, or an error.

import { job, load, mostTurns, say, schemas, use, weather, words } from "./hands.mjs";

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
const asked = { model: models[job.dialect](), prompt: job.prompt, maxRetries: 0 };
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

let failure;
try {
  const done = job.streamed
    ? streamText({ ...asked, onError: ({ error }) => (failure ??= error) })
    : await generateText(asked);
  if (job.scenario === "structured") say({ value: await (done.output ?? done.experimental_output) });
  else say({ text: await done.text, stop: await done.finishReason, tokens: (await done.usage).inputTokens });
} catch (error) {
  const shown = failure ?? error;
  if (shown.statusCode === undefined) throw shown;
  say({ error: shown.name, status: shown.statusCode, message: shown.message });
}
