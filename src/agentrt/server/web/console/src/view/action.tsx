import type { Content } from "@agentrt/client";
import { useMemo } from "preact/hooks";
import { languageIn, languageOf, unnumbered } from "../model/code";
import { memo } from "./memo";
import type { Draft } from "../model/drafts";
import { textOf } from "../model/content";
import type { ActionEntry, Result } from "../model/transcript";
import { headline, labelOf, type Tool } from "../model/tools";
import { clean, seconds, whyAsked } from "../model/words";
import { open } from "../state/open";
import { toolOf } from "../state/tools";
import { Approval } from "./approval";
import { RiskBadge } from "./badges";
import { Children } from "./children";
import { Code, Command } from "./code";
import { Attachments } from "./content";
import { Diff, DiffCount } from "./diff";
import { Icon, type IconName } from "./icons";
import { Markdown } from "./markdown";
import { Terminal } from "./terminal";

interface Details {
  diff?: string;
  exit_code?: number;
  status?: string;
  seconds?: number;
  task_list?: { title: string; status?: string; notes?: string }[];
  url?: string;
  picture?: Extract<Content, { type: "blob" }>;
}

/** Whether the tool works on files. */
const ofFiles = (tool: Tool): boolean => tool.edits !== undefined || tool.same?.argument === "path";

const pathOf = (tool: Tool, given: Record<string, unknown>): string => String(given[tool.same?.argument ?? "path"] ?? "");

function iconOf(tool: Tool, details: Details): IconName {
  if (tool.shell) return "terminal";
  if (tool.delegates) return "branch";
  if (details.task_list) return "list";
  if (ofFiles(tool)) return details.diff ? "edit" : "eye";
  return "tool";
}

export const Action = memo(function Action({ entry, output, past }: { entry: ActionEntry; output: Draft | undefined; past: boolean }) {
  const tool = toolOf(entry.event.tool_name);
  const line = headline(tool, entry.arguments);
  if (tool.ends_turn && (entry.phase === "done" || entry.phase === "running")) return <Finish text={line} phase={entry.phase} />;
  if (tool.harmless && !tool.ends_turn) return <Thought text={line} />;
  const details = detailsOf(entry.result);
  return (
    <div class={`action phase-${entry.phase}`} data-phase={entry.phase}>
      <div class="action-head">
        <span class="action-icon">
          <Icon name={iconOf(tool, details)} size={16} />
        </span>
        <span class="action-verb">{clean(labelOf(tool))}</span>
        <Headline tool={tool} entry={entry} plan={details.task_list !== undefined} />
        <span class="action-facts">
          {details.diff ? <DiffCount diff={details.diff} /> : null}
          <Outcome entry={entry} details={details} />
          {entry.risk && (entry.risk !== "LOW" || entry.phase === "waiting") ? <RiskBadge risk={entry.risk} why={entry.why} /> : null}
        </span>
      </div>
      {entry.children ? <Children children={entry.children} past={past} /> : null}
      <Body tool={tool} entry={entry} details={details} output={output} />
      {entry.phase === "waiting" && !past ? <Approval ids={[entry.event.id]} why={whyAsked(entry.held ?? "")} detail={entry.why} /> : null}
    </div>
  );
});

function Headline({ tool, entry, plan }: { tool: Tool; entry: ActionEntry; plan: boolean }) {
  const command = tool.shell ? entry.arguments[tool.shell] : undefined;
  if (typeof command === "string" && command !== "") return <Command line={clean(command)} />;
  if (plan) return null;
  const line = clean(headline(tool, entry.arguments));
  if (tool.delegates) return <span class="action-line">{line}</span>;
  const workspace = open.value?.info.value?.workspace;
  return <code class="action-line">{workspace ? line.replaceAll(`${workspace}/`, "") : line}</code>;
}

function Outcome({ entry, details }: { entry: ActionEntry; details: Details }) {
  const span = entry.begun && entry.result ? seconds(entry.begun, entry.result.timestamp) : "";
  switch (entry.phase) {
    case "running":
      return (
        <span class="badge running">
          <span class="spinner" aria-hidden="true" />
          running
        </span>
      );
    case "rejected":
      return <span class="badge danger">rejected</span>;
    case "interrupted":
      return <span class="badge">interrupted</span>;
    case "failed":
      return <span class="badge danger">{details.exit_code ? `exit ${details.exit_code}` : "failed"}</span>;
    case "waiting":
      return null;
    default:
      return (
        <>
          {details.exit_code ? <span class="badge danger">exit {details.exit_code}</span> : null}
          {span ? <span class="quiet">{span}</span> : null}
        </>
      );
  }
}

function Body({ tool, entry, details, output }: { tool: Tool; entry: ActionEntry; details: Details; output: Draft | undefined }) {
  const result = entry.result;
  if (entry.event.malformed) return <Terminal output={entry.event.malformed} label="Malformed tool call" />;
  if (result === undefined) {
    if (output?.output) return <Terminal output={output.output} label="Output so far" most={20} />;
    return entry.phase === "waiting" || entry.phase === "asked" ? <Proposed tool={tool} given={entry.arguments} /> : null;
  }
  if (result.type === "UserRejectObservation") return <p class="rejection">{clean(result.rejection_reason ?? "Rejected by the user.")}</p>;
  if (result.type === "AgentErrorEvent") return <p class={entry.phase === "interrupted" ? "cut-off" : "rejection"}>{clean(result.error)}</p>;
  const path = pathOf(tool, entry.arguments);
  if (details.diff) return <Diff diff={details.diff} label={`Changes to ${path}`} path={path} />;
  if (details.task_list) return <Plan tasks={details.task_list} />;
  if (tool.delegates && !result.is_error) return <Report text={textOf(result.content).replace(TRAILER, "")} />;
  return (
    <>
      <Output output={outputOf(result)} label={tool.shell ? "Output" : "Result"} path={ofFiles(tool) ? path : undefined} />
      <Attachments content={result.content} />
      {details.picture ? <Window picture={details.picture} url={details.url ?? ""} /> : null}
    </>
  );
}

/** The output of a tool; shown as the file at `path` if the tool read one. */
function Output({ output, label, path }: { output: string; label: string; path?: string | undefined }) {
  const file = useMemo(() => (path === undefined ? null : unnumbered(output)), [output, path]);
  const language = useMemo(() => (path === undefined && output.length < 40_000 ? languageIn(output) : undefined), [output, path]);
  if (path !== undefined && file) return <Code code={file.lines.join("\n")} numbers={file.numbers} language={languageOf(path)} label={label} most={6} />;
  if (language !== undefined) return <Code code={output} language={language} label={label} />;
  return <Terminal output={output} label={label} most={path === undefined ? 14 : 6} />;
}

/** Tells the model the id of the conversation. A person sees its card instead. */
const TRAILER = /\n*\[conversation [\w.-]+\]\s*$/;

/** The report of a delegated conversation. */
function Report({ text }: { text: string }) {
  return (
    <div class="report">
      <Markdown text={text} />
    </div>
  );
}

/** The change that a waiting action would make. */
function Proposed({ tool, given }: { tool: Tool; given: Record<string, unknown> }) {
  if (tool.edits) {
    const lines = (names: readonly string[] = [], sign: string): string[] =>
      names
        .map((name) => given[name])
        .filter((text): text is string => typeof text === "string" && text !== "")
        .flatMap((text) => text.split("\n").map((line) => sign + line));
    const rows = [...lines(tool.edits.removes, "-"), ...lines(tool.edits.adds, "+")];
    return rows.length === 0 ? null : <Diff diff={["@@ -1 +1 @@", ...rows].join("\n")} label="Proposed change" path={pathOf(tool, given)} />;
  }
  if (tool.shell || tool.delegates) return null;
  const shown = JSON.stringify(given, null, 2);
  return shown === "{}" ? null : <Code code={shown} language="json" label="Arguments" />;
}

function Plan({ tasks }: { tasks: NonNullable<Details["task_list"]> }) {
  return (
    <ul class="plan">
      {tasks.map((task, at) => (
        <li key={at} class={`task-${task.status ?? "todo"}`}>
          <span class="task-mark" aria-hidden="true" />
          <span>
            {clean(task.title)}
            <span class="unseen"> ({(task.status ?? "todo").replace("_", " ")})</span>
            {task.notes ? <span class="quiet"> {clean(task.notes)}</span> : null}
          </span>
        </li>
      ))}
    </ul>
  );
}

function Finish({ text, phase }: { text: string; phase: string }) {
  return (
    <div class="finish" data-phase={phase}>
      <span class="finish-mark">
        <Icon name="check" size={15} /> Finished
      </span>
      <Markdown text={text} />
    </div>
  );
}

export function Thought({ text, open: shown = false, growing = false }: { text: string; open?: boolean; growing?: boolean }) {
  return (
    <details class="thinking" open={shown}>
      <summary>Thinking{shown ? "" : <span class="quiet"> {clean(text).slice(0, 90)}</span>}</summary>
      <Markdown text={text} growing={growing} />
    </details>
  );
}

export function ResultAlone({ event }: { event: Result }) {
  const said =
    event.type === "ObservationEvent" ? outputOf(event) : event.type === "AgentErrorEvent" ? event.error : (event.rejection_reason ?? "Rejected");
  return (
    <div class="action">
      <div class="action-head">
        <span class="quiet">Result of {event.tool_name}</span>
      </div>
      <Terminal output={said} label="Result" />
    </div>
  );
}

/** The browser's picture after a step, with its address. */
function Window({ picture, url }: { picture: Extract<Content, { type: "blob" }>; url: string }) {
  return (
    <figure class="window">
      <figcaption>{clean(url)}</figcaption>
      <Attachments content={[picture]} />
    </figure>
  );
}

function detailsOf(result: Result | undefined): Details {
  if (result?.type !== "ObservationEvent" || typeof result.details !== "object" || result.details === null) return {};
  return result.details as Details;
}

/** The output that the model sees; without the last line of a command, which repeats what the head shows. */
function outputOf(result: Extract<Result, { type: "ObservationEvent" }>): string {
  const blocks = result.content;
  const footer = blocks.length > 1 ? blocks.at(-1) : undefined;
  const usual = footer?.type === "text" && /^\[exit code -?\d+, in /.test(footer.text);
  return textOf(usual ? blocks.slice(0, -1) : blocks);
}
