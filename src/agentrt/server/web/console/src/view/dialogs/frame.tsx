import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { dialog } from "../../state/ui";
import { IconButton } from "../icons";
import { Toasts } from "../toasts";

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
export function Modal({ title, look = "", children }: { title: string; look?: string; children: ComponentChildren }) {
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
      class={look}
      aria-label={title}
      onCancel={(event) => {
        // at once, and not when the browser tells that it has closed it: a key may come before that
        event.preventDefault();
        close();
      }}
      // which is told late, perhaps when another one is shown
      onClose={() => place.current && close()}
      onMouseDown={(event) => {
        if (event.target === place.current) close();
      }}
    >
      {children}
      <Toasts />
    </dialog>
  );
}

export function Head({ title }: { title: string }) {
  return (
    <div class="dialog-head">
      <h2>{title}</h2>
      <IconButton icon="close" label="Close" onClick={close} />
    </div>
  );
}

/** A dialog with one form. */
export function Frame({ title, children, onSubmit, wide }: FrameProps) {
  return (
    <Modal title={title} look={wide ? "wide" : ""}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit?.();
        }}
      >
        <Head title={title} />
        {children}
      </form>
    </Modal>
  );
}
