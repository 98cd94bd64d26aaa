import type { FileEntry } from "@agentrt/client";
import { useEffect, useState } from "preact/hooks";
import { languageOf } from "../../model/code";
import { imageOf, MOST_TEXT, previewOf, sizeOf } from "../../model/files";
import { clean } from "../../model/words";
import { dataURL } from "../../state/files";
import type { Open } from "../../state/open";
import { reasonOf, rest } from "../../state/session";
import { Code } from "../code";

interface PreviewProps {
  conversation: Open;
  at: number | null;
  entry: FileEntry;
}

/** A preview of a file: text up to a limit, an image, or the reason why there is none. */
export function Preview({ conversation, at, entry }: PreviewProps) {
  switch (previewOf(entry.name, entry.size)) {
    case "empty":
      return <p class="hint">The file is empty.</p>;
    case "none":
      return <p class="hint">No preview available. Download the file to open it.</p>;
    case "image":
      return <Image conversation={conversation} at={at} entry={entry} />;
    case "text":
      return <Text conversation={conversation} at={at} entry={entry} />;
  }
}

/** The content of a file, loaded again when the file has changed. */
function useFound(read: () => Promise<string>, { entry, at, conversation }: PreviewProps): { found: string | null; problem: string } {
  const [found, setFound] = useState<string | null>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    let wanted = true;
    read().then(
      (text) => {
        if (!wanted) return;
        setFound(text);
        setProblem("");
      },
      (error: unknown) => wanted && setProblem(reasonOf(error)),
    );
    return () => {
      wanted = false;
    };
  }, [conversation, at, entry.path, entry.modified, entry.size]);
  return { found, problem };
}

function Text(props: PreviewProps) {
  const { conversation, at, entry } = props;
  const { found, problem } = useFound(async () => (await rest.file(conversation.id, entry.path, at ?? undefined, MOST_TEXT)).slice(0, MOST_TEXT).text(), props);
  if (problem) return <p class="hint">{problem}</p>;
  if (found === null) return <p class="hint">Loading…</p>;
  if (found.includes("\0")) return <p class="hint">Binary file, {sizeOf(entry.size)}. Download it to open it.</p>;
  return (
    <>
      <Code code={found} language={languageOf(entry.path)} label={clean(entry.path)} most={60} />
      {entry.size > MOST_TEXT ? <p class="hint">Only the first {sizeOf(MOST_TEXT)} of {sizeOf(entry.size)} are shown. Download the file for the rest.</p> : null}
    </>
  );
}

function Image(props: PreviewProps) {
  const { conversation, at, entry } = props;
  const read = async (): Promise<string> => dataURL(await rest.file(conversation.id, entry.path, at ?? undefined), imageOf(entry.name)!);
  const { found, problem } = useFound(read, props);
  const [broken, setBroken] = useState(false);
  useEffect(() => setBroken(false), [found]);
  if (problem || broken) return <p class="hint">{problem || "The browser cannot show this image."}</p>;
  if (found === null) return <p class="hint">Loading…</p>;
  return <img class="preview-image" src={found} alt={clean(entry.name)} onError={() => setBroken(true)} />;
}
