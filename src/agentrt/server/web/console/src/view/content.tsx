import type { Content } from "@agentrt/client";
import { useEffect, useState } from "preact/hooks";
import { clean } from "../model/words";
import { save } from "../state/files";
import { open } from "../state/open";
import { rest } from "../state/session";
import { Icon } from "./icons";

/** The blocks of a content list that are not text. */
export function Attachments({ content }: { content: Content[] }) {
  const others = content.filter((block) => block.type !== "text");
  if (others.length === 0) return null;
  return (
    <div class="attachments">
      {others.map((block, at) => (
        <Attachment key={at} block={block} />
      ))}
    </div>
  );
}

function Attachment({ block }: { block: Content }) {
  if (block.type === "image" && /^data:image\/(png|jpeg|gif|webp|bmp);/.test(block.url)) return <Picture url={block.url} name="image" />;
  if (block.type === "image") {
    const shown = block.url.startsWith("data:") ? "unsupported image type" : block.url;
    return <p class="attachment">Image not loaded: {shown}</p>;
  }
  if (block.type === "file") {
    return (
      <p class="attachment">
        <Icon name="files" size={15} /> {clean(block.path)}{" "}
        <button type="button" class="link" onClick={() => void save(block.path.split("/").at(-1)!, () => rest.file(open.value?.id ?? "", block.path))}>
          Download<span class="unseen"> {clean(block.path)}</span>
        </button>
      </p>
    );
  }
  return block.type === "blob" ? <Blob sha256={block.sha256} size={block.size} kind={block.media_type ?? "text/plain"} name={block.name ?? ""} /> : null;
}

function Picture({ url, name }: { url: string; name: string }) {
  const [large, setLarge] = useState(false);
  return (
    <button type="button" class={`picture ${large ? "large" : ""}`} aria-label={large ? `Shrink ${name}` : `Enlarge ${name}`} onClick={() => setLarge(!large)}>
      <img src={url} alt={name} loading="lazy" />
    </button>
  );
}

function Blob({ sha256, size, kind, name }: { sha256: string; size: number; kind: string; name: string }) {
  const [url, setUrl] = useState<string | null>(null);
  const [failed, setFailed] = useState(false);
  const image = /^image\/(png|jpeg|gif|webp|bmp)$/.test(kind);
  const load = async (): Promise<string> => {
    const blob = await rest.blob(open.value?.id ?? "", sha256);
    return new Promise((resolve, reject) => {
      const reader = new FileReader();
      reader.onload = () => resolve(String(reader.result).replace(/^data:[^;,]*/, `data:${image ? kind : "application/octet-stream"}`));
      reader.onerror = () => reject(reader.error ?? new Error("not read"));
      reader.readAsDataURL(blob);
    });
  };
  useEffect(() => {
    if (image) void load().then(setUrl, () => setFailed(true));
  }, [sha256]);
  const named = name || (image ? "image" : "full output");
  if (image && url !== null) return <Picture url={url} name={named} />;
  const download = async (): Promise<void> => {
    const link = document.createElement("a");
    link.href = await load();
    link.download = name || `${sha256.slice(0, 12)}.txt`;
    link.click();
  };
  return (
    <p class="attachment">
      <Icon name="files" size={15} /> {failed ? `${named} could not be loaded` : `${named}, ${size.toLocaleString("en")} bytes`}{" "}
      <button type="button" class="link" onClick={() => void download().catch(() => setFailed(true))}>
        Download
      </button>
    </p>
  );
}
