import type { KnownModel } from "@agentrt/client";
import { useEffect, useRef, useState } from "preact/hooks";
import { UPLOADS } from "../model/attaching";
import { sizeOf } from "../model/files";
import { clean } from "../model/words";
import { attach, attachedTo, detach } from "../state/attaching";
import type { Open } from "../state/open";
import { rest } from "../state/session";
import { Icon } from "./icons";

/** The attachments of the next message: images as previews, other files by name. */
export function Attached({ id, conversation }: { id: string; conversation?: Open }) {
  const attached = attachedTo(id);
  if (attached.length === 0) return null;
  const files = attached.filter((one) => one.file !== undefined).length;
  return (
    <div class="attached">
      <ul aria-label="Attachments">
        {attached.map(({ key, name, size, url }) => (
          <li key={key} class={url ? "attached-image" : "attached-file"}>
            {url ? <img src={url} alt={clean(name)} /> : <Icon name="files" size={15} />}
            {url ? null : (
              <span class="attached-name">
                {clean(name)} <span class="quiet">{sizeOf(size)}</span>
              </span>
            )}
            <button type="button" aria-label={`Remove ${clean(name)}`} title={`Remove ${clean(name)}`} onClick={() => detach(id, key)}>
              <Icon name="close" size={13} />
            </button>
          </li>
        ))}
      </ul>
      {files > 0 ? <p class="quiet">{files === 1 ? "The file" : "The files"} will be saved in “{UPLOADS}” in the workspace, and the message names {files === 1 ? "it" : "them"}.</p> : null}
      {conversation && attached.some((one) => one.url !== undefined) ? <Blind conversation={conversation} /> : null}
    </div>
  );
}

/** Says if the model cannot see images. */
function Blind({ conversation }: { conversation: Open }) {
  const [known, setKnown] = useState<KnownModel | null>(null);
  const model = conversation.info.value?.model;
  useEffect(() => {
    let wanted = true;
    rest.model(conversation.id).then((found) => wanted && setKnown(found), () => undefined);
    return () => {
      wanted = false;
    };
  }, [conversation, model]);
  if (known === null || known.vision) return null;
  return (
    <p class="attached-blind" role="status">
      {clean(known.model)} cannot see images. It is only told that there is one.
    </p>
  );
}

export function AttachButton({ id }: { id: string }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button type="button" class="icon-button attach" aria-label="Attach files" title="Attach files, or drop or paste them" onClick={() => input.current?.click()}>
        <Icon name="clip" size={17} />
      </button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files for the message"
        onChange={(event) => {
          const files = [...(event.currentTarget.files ?? [])];
          event.currentTarget.value = "";
          void attach(id, files);
        }}
      />
    </>
  );
}
