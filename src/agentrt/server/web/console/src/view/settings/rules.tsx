import type { Control, PermissionRule } from "@agentrt/client";
import { useState } from "preact/hooks";
import type { Origin } from "../../model/configuration";
import { clean } from "../../model/words";
import { may } from "../../state/session";
import { tools } from "../../state/tools";
import { Field, Form, Remove, Said, useSaving } from "./parts";
import type { SectionProps } from "./settings";

interface Shown {
  rule: PermissionRule;
  origin: Origin | "agent";
}

const VERDICTS = [
  ["allow", "Allow", "Run without asking"],
  ["ask", "Ask", "Ask at any risk rating"],
  ["deny", "Deny", "Block, and tell the agent"],
] as const;
const EMPTY = { verdict: "allow" as PermissionRule["verdict"], tool: "", pattern: "", argument: "", scope: "session" as "session" | "project" };
const ORIGINS: Record<Origin | "agent", string> = { agent: "agent setting", session: "in this conversation", project: "in this project", above: "from the parent conversation" };

/** What is allowed, asked about or denied, at any risk rating. */
export function Rules(props: SectionProps) {
  const saving = useSaving(props);
  const removing = useSaving(props);
  const [draft, setDraft] = useState(EMPTY);
  const found = props.configured.found;
  const own = found?.agent?.rules ?? [];
  const rules: Shown[] = [...own.map((rule) => ({ rule, origin: "agent" as const })), ...(found?.rules ?? [])];
  const names = [...new Set([...tools.value.keys(), ...(found?.agent?.tools ?? []).map((tool) => tool.name)])];
  const admin = may({ scope: "admin" });
  const set = (name: "tool" | "pattern" | "argument") => (event: { currentTarget: HTMLInputElement }) => setDraft({ ...draft, [name]: event.currentTarget.value });
  const save = async (): Promise<void> => {
    const { verdict, tool, pattern, argument, scope } = draft;
    const rule: PermissionRule = { verdict, tool: tool.trim() || "*", pattern: pattern.trim() || "*", argument: argument.trim() };
    if (await saving.control([{ type: "rule", rule, scope }], "Rule added")) setDraft({ ...EMPTY, verdict });
  };
  const remove = async (shown: Shown): Promise<void> => {
    const { rule, origin } = shown;
    const wanted: Control =
      origin === "agent"
        ? { type: "configure", changes: { rules: own.filter((one) => one !== rule) } }
        : { type: "remove_rule", rule, scope: origin === "project" ? "project" : "session" };
    await removing.control([wanted], "Rule removed");
  };
  return (
    <>
      <p class="quiet">Deny rules take precedence over ask rules, and ask rules over allow rules.</p>
      {rules.length === 0 ? <p class="hint">No rules: the approval settings decide.</p> : null}
      <ul class="settings-list">
        {rules.map((shown) => {
          const { rule, origin } = shown;
          return (
            <li key={keyOf(shown)}>
              <span class={`badge verdict-${rule.verdict}`}>{rule.verdict}</span>
              <code>{clean(`${rule.tool ?? "*"} ${rule.argument ? `${rule.argument}=` : ""}${rule.pattern ?? "*"}`)}</code>
              <span class="quiet">{ORIGINS[origin]}</span>
              {mayRemove(rule, origin) ? (
                <Remove name={`${rule.verdict} ${rule.tool ?? "*"} ${rule.pattern ?? "*"}`} busy={removing.busy} onRemove={() => void remove(shown)} />
              ) : null}
            </li>
          );
        })}
      </ul>
      <Said saving={removing} />
      <Form title="Add a rule" needs="rule" saving={saving} action="Add" ready={draft.tool.trim() + draft.pattern.trim() !== ""} onSubmit={() => void save()}>
        <div class="segments" role="radiogroup" aria-label="Effect of the rule">
          {VERDICTS.map(([verdict, label, what]) => (
            <label key={verdict} class="segment" title={what}>
              <input type="radio" name="verdict" checked={draft.verdict === verdict} onChange={() => setDraft({ ...draft, verdict })} />
              {label}
            </label>
          ))}
        </div>
        <div class="settings-pair">
          <Field label="Tool" hint="empty: any tool">
            <input type="text" list="tools" value={draft.tool} placeholder="terminal" autocomplete="off" spellcheck={false} onInput={set("tool")} />
            <datalist id="tools">
              {names.map((name) => (
                <option key={name} value={name} />
              ))}
            </datalist>
          </Field>
          <Field label="Pattern" hint="* matches anything">
            <input type="text" value={draft.pattern} placeholder="git *" autocomplete="off" spellcheck={false} onInput={set("pattern")} />
          </Field>
        </div>
        <div class="settings-pair">
          <Field label="Argument" hint="to match; empty: any">
            <input type="text" value={draft.argument} placeholder="command" autocomplete="off" spellcheck={false} onInput={set("argument")} />
          </Field>
          <Field label="Applies to">
            <select value={draft.scope} onChange={(event) => setDraft({ ...draft, scope: event.currentTarget.value as "session" | "project" })}>
              <option value="session">this conversation</option>
              <option value="project" disabled={!admin && draft.verdict === "allow"}>
                all conversations in this workspace{!admin && draft.verdict === "allow" ? " (needs an admin key)" : ""}
              </option>
            </select>
          </Field>
        </div>
      </Form>
    </>
  );
}

/** What a rule is known by: each time the settings are read again, it is another object. */
const keyOf = ({ rule, origin }: Shown): string => `${origin} ${JSON.stringify(rule)}`;

/** A rule that asks or denies is removed where it was added: a project rule by an admin, since it applies to all conversations there. */
function mayRemove(rule: PermissionRule, origin: Shown["origin"]): boolean {
  if (origin === "agent") return may("configure");
  const strict = rule.verdict !== "allow";
  return may("remove_rule") && !(strict && (origin === "above" || (origin === "project" && !may({ scope: "admin" }))));
}
