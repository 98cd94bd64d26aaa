import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { dialog } from "../../state/ui";
import { IconButton } from "../icons";

interface FrameProps {
  title: string;
  children: ComponentChildren;
  onSubmit?: () => void;
  wide?: boolean;
}

export function close(): void {
  dialog.value = null;
}

/** A modal dialog: the browser keeps the focus in it, closes it on Escape, and gives the focus back. */
export function Frame({ title, children, onSubmit, wide }: FrameProps) {
  const place = useRef<HTMLDialogElement>(null);
  // before the next key can be pressed, which is for the dialog
  useLayoutEffect(() => {
    const element = place.current;
    if (element && !element.open) element.showModal();
    return () => element?.close();
  }, []);
  return (
    <dialog
      ref={place}
      class={wide ? "wide" : ""}
      aria-label={title}
      onClose={close}
      onMouseDown={(event) => {
        if (event.target === place.current) close();
      }}
    >
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit?.();
        }}
      >
        <div class="dialog-head">
          <h2>{title}</h2>
          <IconButton icon="close" label="Close" onClick={close} />
        </div>
        {children}
      </form>
    </dialog>
  );
}
