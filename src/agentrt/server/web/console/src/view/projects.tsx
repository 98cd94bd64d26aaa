import type { Project, ProjectList } from "@agentrt/client";
import { useEffect, useState } from "preact/hooks";
import { may, rest } from "../state/session";
import { type Offers, Picker, type Suggestion } from "./picker";

/** Milliseconds without typing before directories are looked for. */
const PAUSE = 120;

/** A field for the directory of a new conversation: recent ones, and those below the server's workspaces. */
export function ProjectPicker({ id, value, onType }: { id: string; value: string; onType: (path: string) => void }) {
  return <Picker<Suggestion> id={id} value={value} placeholder="empty: a new directory" useOffers={useProjects} onType={onType} onChoose={({ key }) => onType(key)} />;
}

function useProjects(typed: string, shown: boolean): Offers<Suggestion> {
  const [found, setFound] = useState<ProjectList | null>(null);
  useEffect(() => {
    if (!shown || !may("list_projects")) return undefined;
    let current = true;
    const timer = setTimeout(() => void rest.projects(typed).then((projects) => current && setFound(projects), () => undefined), typed === "" ? 0 : PAUSE);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [typed, shown]);
  if (found === null) return { groups: [], more: "" };
  const known = new Set<string>();
  const fresh = (project: Project): boolean => !known.has(project.path) && Boolean(known.add(project.path));
  const offered = (projects: readonly Project[]): Suggestion[] => projects.filter(fresh).map((project) => ({ key: project.path, label: shortened(project.path, found.roots), facts: factsOf(project) }));
  const begins = (project: Project): boolean => shortened(project.path, found.roots).toLowerCase().includes(typed.toLowerCase());
  const groups: [string, Suggestion[]][] = [
    ["Recent", offered(found.recent.filter(begins))],
    [`Below ${found.roots.join(", ")}`, offered(found.matching)],
  ];
  return { groups: groups.filter(([, items]) => items.length > 0), more: "" };
}

/** A path as it may be typed: from the first root on. */
function shortened(path: string, roots: readonly string[]): string {
  const first = `${roots[0] ?? ""}/`;
  return path.startsWith(first) ? path.slice(first.length) : path;
}

function factsOf({ repository, branch }: Project): string {
  return repository ? (branch ? `git, ${branch}` : "git") : "";
}
