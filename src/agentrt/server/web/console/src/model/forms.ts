/** What a tool asks a person for: the members of its form, and what was filled in. Pure. */

export interface Field {
  name: string;
  label: string;
  about: string;
  kind: "text" | "number" | "yes" | "choice";
  choices: readonly string[];
  required: boolean;
  initial: string | boolean;
}

type Member = Record<string, unknown>;

export function fieldsOf(schema: unknown): Field[] {
  const form = object(schema);
  const required = new Set(Array.isArray(form.required) ? form.required : []);
  return Object.entries(object(form.properties)).map(([name, given]) => {
    const member = object(given);
    const choices = choicesOf(member);
    const kind = choices.length > 0 ? "choice" : member.type === "boolean" ? "yes" : member.type === "integer" || member.type === "number" ? "number" : "text";
    const initial = kind === "yes" ? member.default === true : String(member.default ?? "");
    return { name, label: String(member.title ?? name), about: String(member.description ?? ""), kind, choices, required: required.has(name), initial };
  });
}

/** The object that a form asks for; members that were left empty are not in it. */
export function contentOf(fields: readonly Field[], filled: Record<string, string | boolean>): Record<string, string | number | boolean> {
  const content: Record<string, string | number | boolean> = {};
  for (const { name, kind } of fields) {
    const value = filled[name];
    if (typeof value === "boolean") content[name] = value;
    else if (value) content[name] = kind === "number" ? Number(value) : value;
  }
  return content;
}

function choicesOf(member: Member): string[] {
  const named = Array.isArray(member.oneOf) ? member.oneOf.map((one) => object(one).const) : [];
  const listed = Array.isArray(member.enum) ? member.enum : [];
  return [...listed, ...named].filter((value): value is string => typeof value === "string");
}

function object(given: unknown): Member {
  return typeof given === "object" && given !== null && !Array.isArray(given) ? (given as Member) : {};
}
