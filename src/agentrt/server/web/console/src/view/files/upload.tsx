import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { clean, titleOf } from "../../model/words";
import { save, sending, upload } from "../../state/files";
import type { Open } from "../../state/open";
import { may, rest } from "../../state/session";
import { dropping } from "../dropping";
import { Icon } from "../icons";

/** An area where files can be dropped to upload them, below the buttons for the whole workspace. */
export function Uploading({ conversation, children }: { conversation: Open; children: ComponentChildren }) {
  const { id } = conversation;
  const [over, setOver] = useState(false);
  const takes = may("write_file");
  const busy = sending.value?.id === id ? sending.value.left : 0;
  const info = conversation.info.value;
  return (
    <div
      class={`drop ${over ? "drop-over" : ""}`}
      {...dropping(setOver, takes ? (files) => void upload(id, "", files) : null)}
    >
      <div class="files-bar">
        {takes ? <UploadButton id={id} directory="" look="button" /> : null}
        <button type="button" class="button" onClick={() => void save(`${info ? titleOf(info).slice(0, 60) : id}.zip`, () => rest.archive(id))}>
          <Icon name="download" size={16} /> Download all
        </button>
        <span class="quiet" role="status">
          {busy > 0 ? `Uploading, ${busy} left…` : ""}
        </span>
      </div>
      {takes ? <p class="hint files-hint">{over ? "Drop to upload to the workspace." : "Drop files here to upload them."}</p> : null}
      {children}
    </div>
  );
}

export function UploadButton({ id, directory, look }: { id: string; directory: string; look: "button" | "link" }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button type="button" class={look} onClick={() => input.current?.click()}>
        {look === "button" ? <Icon name="upload" size={16} /> : null}
        Upload…{directory ? <span class="unseen"> into {clean(directory)}</span> : null}
      </button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label={directory ? `Files for ${clean(directory)}` : "Files for the workspace"}
        onChange={(event) => {
          const files = [...(event.currentTarget.files ?? [])];
          event.currentTarget.value = "";
          void upload(id, directory, files);
        }}
      />
    </>
  );
}
