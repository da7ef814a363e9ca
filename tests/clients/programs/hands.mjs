// The two tools of the programs that have none of their own, and how they are told what to do.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
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
export const refusals = [400, 429, 500].map((status) => `Refuse this with ${status}.`);

const tools = {
  write_file: ({ file_path, content }) => (writeFileSync(file_path, content), "written"),
  run_command: ({ command }) => execFileSync("sh", ["-c", command], { encoding: "utf8" }),
};
export const use = (name, input) => tools[name](input);

export const job = JSON.parse(process.argv[2]);
export const say = (members) => console.log(JSON.stringify(members));

// Packages are looked for beside the client, not beside this file.
const require = createRequire(join(process.env.CLIENT_PACKAGES, "package.json"));
export const load = (name) => import(pathToFileURL(require.resolve(name)));
