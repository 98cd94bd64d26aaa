/** Files that are dropped on the page, or pasted. */

function hasFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes("Files") ?? false;
}

/** The files of a drop or a paste; directories are left out. */
export function filesOf(given: DataTransfer | null): File[] {
  const items = [...(given?.items ?? [])].filter((item) => item.kind === "file" && !item.webkitGetAsEntry()?.isDirectory);
  return items.map((item) => item.getAsFile()).filter((file) => file !== null);
}

interface Dropping {
  onDragOver: (event: DragEvent) => void;
  onDragLeave: (event: DragEvent) => void;
  onDrop: (event: DragEvent) => void;
}

/** The event handlers of an element that accepts dropped files; `over` is called with whether files are above it. */
export function dropping(over: (now: boolean) => void, take: ((files: File[]) => void) | null): Dropping {
  return {
    onDragOver: (event) => {
      if (take === null || !hasFiles(event)) return;
      event.preventDefault();
      over(true);
    },
    onDragLeave: (event) => {
      const place = event.currentTarget as Element;
      if (!(event.relatedTarget instanceof Node && place.contains(event.relatedTarget))) over(false);
    },
    onDrop: (event) => {
      over(false);
      if (take === null || !hasFiles(event)) return;
      event.preventDefault();
      take(filesOf(event.dataTransfer));
    },
  };
}

// elsewhere the browser would leave the page for a file that is dropped
for (const type of ["dragover", "drop"] as const) {
  addEventListener(type, (event) => {
    if (event.defaultPrevented || !hasFiles(event)) return;
    event.preventDefault();
    if (event.dataTransfer) event.dataTransfer.dropEffect = "none";
  });
}
