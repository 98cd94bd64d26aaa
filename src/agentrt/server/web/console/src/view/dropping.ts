/** Files that are dropped on the page, or pasted. */

export function hasFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes("Files") ?? false;
}

/** The files of a drop or a paste; directories are left out. */
export function filesOf(given: DataTransfer | null): File[] {
  const items = [...(given?.items ?? [])].filter((item) => item.kind === "file" && !item.webkitGetAsEntry()?.isDirectory);
  return items.map((item) => item.getAsFile()).filter((file) => file !== null);
}
