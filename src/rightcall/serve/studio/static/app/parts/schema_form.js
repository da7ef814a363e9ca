// A form made from a JSON Schema. What a form cannot say well, a field of JSON says.

import { h } from "../dom.js";
import { clipped, inline } from "../stored.js";

let made = 0;

/** Fields for an object's schema: the node, and `value()`, which raises words for a person where a field holds no value. */
export function schemaForm(schema) {
  return objectFields(schema ?? {}, schema ?? {});
}

function objectFields(schema, root) {
  const required = new Set(schema.required ?? []);
  const fields = Object.entries(schema.properties ?? {}).map(([name, inner]) => ({
    name,
    isRequired: required.has(name),
    ...fieldOf(name, resolved(inner, root), root, required.has(name)),
  }));
  const value = () => {
    const found = {};
    for (const field of fields) {
      const one = field.value();
      if (one !== undefined) found[field.name] = one;
      else if (field.isRequired) throw new Error(`${field.name} is needed.`);
    }
    return found;
  };
  return {
    node: h(
      "div.stack",
      fields.map(({ node }) => node),
      fields.length === 0 && h("p.soft", "It takes no arguments."),
    ),
    value,
  };
}

/** Follow a reference within the schema; one that leads around in a circle ends as "anything". */
function resolved(schema, root, depth = 0) {
  const plain = nonNull(schema);
  if (typeof plain?.$ref !== "string") return plain ?? {};
  if (!plain.$ref.startsWith("#/") || depth > 8) return {};
  const target = plain.$ref
    .slice(2)
    .split("/")
    .reduce((node, step) => node?.[step.replaceAll("~1", "/").replaceAll("~0", "~")], root);
  return {
    ...resolved(target ?? {}, root, depth + 1),
    ...(plain.description && { description: plain.description }),
  };
}

/** "Something or null" is an optional something. */
function nonNull(schema) {
  const some = (schema?.anyOf ?? schema?.oneOf)?.filter((one) => one.type !== "null");
  if (some?.length === 1) return { ...schema, anyOf: undefined, oneOf: undefined, ...some[0] };
  if (Array.isArray(schema?.type)) {
    const types = schema.type.filter((type) => type !== "null");
    return { ...schema, type: types.length === 1 ? types[0] : undefined };
  }
  return schema;
}

function fieldOf(name, schema, root, isRequired) {
  if (schema.enum) return chosen(name, schema, isRequired);
  if (schema.type === "object" && schema.properties) return nested(name, schema, root, isRequired);
  if (schema.type === "array" && isPlain(resolved(schema.items ?? {}, root)))
    return listed(name, schema, resolved(schema.items ?? {}, root), isRequired);
  return (TYPES[schema.type] ?? anything)(name, schema, isRequired);
}

const TYPES = { string: text, integer: number, number, boolean: yesOrNo };
const isPlain = (schema) => ["string", "integer", "number"].includes(schema.type) && !schema.enum;

function text(name, schema, isRequired) {
  const isLong = (schema.maxLength ?? 0) > 200 || /text|body|content|code|message/.test(name);
  const control = isLong
    ? h("textarea", { rows: 3 })
    : h("input", {
        type: { date: "date", email: "text" }[schema.format] ?? "text",
        autocomplete: "off",
      });
  control.value = schema.default ?? "";
  return wrapped(name, schema, control, isRequired, () =>
    control.value === "" && !isRequired ? undefined : control.value,
  );
}

function number(name, schema, isRequired) {
  const control = h("input", {
    type: "number",
    step: schema.type === "integer" ? 1 : "any",
    min: schema.minimum,
    max: schema.maximum,
    value: schema.default ?? "",
  });
  return wrapped(name, schema, control, isRequired, () =>
    control.value === "" ? undefined : Number(control.value),
  );
}

function yesOrNo(name, schema, isRequired) {
  const control = h(
    "select",
    !isRequired && h("option", { value: "" }, "left out"),
    h("option", { value: "true" }, "true"),
    h("option", { value: "false" }, "false"),
  );
  control.value =
    schema.default === undefined || schema.default === null
      ? isRequired
        ? "false"
        : ""
      : String(schema.default);
  return wrapped(name, schema, control, isRequired, () =>
    control.value === "" ? undefined : control.value === "true",
  );
}

function chosen(name, schema, isRequired) {
  const control = h(
    "select",
    !isRequired && h("option", { value: "" }, "left out"),
    schema.enum.map((one, at) =>
      h("option", { value: at }, clipped(typeof one === "string" ? one : JSON.stringify(one), 80)),
    ),
  );
  const given = schema.enum.indexOf(schema.default);
  if (given >= 0) control.value = String(given);
  return wrapped(name, schema, control, isRequired, () =>
    control.value === "" ? undefined : schema.enum[Number(control.value)],
  );
}

/** Plain values, one a line. */
function listed(name, schema, item, isRequired) {
  const control = h("textarea", { rows: 3, placeholder: "one a line" });
  control.value = (schema.default ?? []).join("\n");
  return wrapped(name, schema, control, isRequired, () => {
    const lines = control.value.split("\n").filter((line) => line !== "");
    if (!lines.length && !isRequired) return undefined;
    return item.type === "string" ? lines : lines.map(Number);
  });
}

function nested(name, schema, root, isRequired) {
  const inner = objectFields(schema, root);
  const node = h(
    "fieldset.nested",
    h("legend", inline(name, 80), isRequired ? "" : " (optional)"),
    schema.description && h("p.hint", inline(schema.description, 300)),
    inner.node,
  );
  const isUntouched = () =>
    [...node.querySelectorAll("input, textarea, select")].every((control) => control.value === "");
  return { node, value: () => (!isRequired && isUntouched() ? undefined : inner.value()) };
}

function anything(name, schema, isRequired) {
  const control = h("textarea.code", { rows: 3, placeholder: "JSON" });
  if (schema.default !== undefined) control.value = JSON.stringify(schema.default);
  return wrapped(name, schema, control, isRequired, () => {
    if (control.value.trim() === "") return undefined;
    try {
      return JSON.parse(control.value);
    } catch (error) {
      throw new Error(`${name} is no JSON: ${error.message}`);
    }
  });
}

function wrapped(name, schema, control, isRequired, value) {
  control.id = `argument-${++made}`;
  if (schema.description) control.setAttribute("aria-describedby", `${control.id}-hint`);
  if (isRequired) control.setAttribute("aria-required", "true");
  const node = h(
    "div.field",
    h("label", { for: control.id }, inline(name, 80), isRequired ? "" : " (optional)"),
    control,
    schema.description && h("span.hint", { id: `${control.id}-hint` }, inline(schema.description, 300)),
  );
  return { node, value };
}
