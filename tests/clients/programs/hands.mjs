// The two tools of the programs that have none of their own, and how they are told what to do.
//
// A program is started once and told one job after another, each a line of JSON, as libraries take seconds
// to load; what came of a job is a line, too.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const strings = (...names) => ({
  type: "object",
  properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
  required: names,
  additionalProperties: false,
});

export const schemas = { write_file: strings("file_path", "content"), run_command: strings("command") };
export const words = {
  write_file: "Write text into a file.",
  run_command: "Run a shell command, and give back what it printed.",
};
export const weather = {
  type: "object",
  properties: { city: { type: "string" }, celsius: { type: "integer" } },
  required: ["city", "celsius"],
  additionalProperties: false,
};
export const mostTurns = 6;

const tools = {
  write_file: ({ file_path, content }) => (writeFileSync(file_path, content), "written"),
  run_command: ({ command }) => execFileSync("sh", ["-c", command], { encoding: "utf8" }),
};
export const use = (name, input) => tools[name](input);

// Does each job: base, key, dialect, model, streamed, scenario, prompt and the folder to work in.
export async function serve(tried) {
  for await (const line of createInterface({ input: process.stdin })) {
    const job = JSON.parse(line);
    process.chdir(job.work);
    let said;
    try {
      said = await each(job, tried);
    } catch (error) {
      said = { crash: String(error?.stack ?? error) };
    }
    process.stdout.write(JSON.stringify(said) + "\n");
  }
}

async function each(job, tried) {
  if (job.scenario !== "errors") return tried(job);
  const errors = [];
  for (const status of [400, 429, 500])
    errors.push(await tried({ ...job, prompt: `Refuse this with ${status}.` }));
  return { errors };
}

// A stream that broke may reject a promise that nobody holds.
process.on("unhandledRejection", (error) => console.error("unhandled:", error));

// Packages are looked for beside the client, not beside this file.
const require = createRequire(join(process.env.CLIENT_PACKAGES, "package.json"));
export const load = (name) => import(pathToFileURL(require.resolve(name)));
