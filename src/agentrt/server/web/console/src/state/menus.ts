/** Menus: one closes when something in it was chosen, when the focus goes elsewhere, and on Escape. */

function opened(): HTMLDetailsElement[] {
  return [...document.querySelectorAll<HTMLDetailsElement>("details.menu[open]")];
}

/** Close a menu and give the focus back to what opened it; whether there was one. */
export function closeMenu(): boolean {
  const menu = opened().at(-1);
  if (menu === undefined) return false;
  menu.open = false;
  menu.querySelector("summary")?.focus();
  return true;
}

/** The arrow keys go through the menu that has the focus; whether that was done. */
export function stepInMenu(event: KeyboardEvent): boolean {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const menu = (event.target as Element | null)?.closest<HTMLDetailsElement>("details.menu[open]");
  if (by === undefined || !menu) return false;
  const items = [...menu.querySelectorAll<HTMLElement>(".menu-items button")].filter((item) => item.offsetParent !== null);
  const at = items.indexOf(document.activeElement as HTMLElement);
  items.at(at < 0 ? (by > 0 ? 0 : -1) : (at + by) % items.length)?.focus();
  event.preventDefault();
  return true;
}

addEventListener("click", (event) => {
  for (const menu of opened()) {
    const inside = event.target instanceof Node && menu.contains(event.target);
    if (!inside || (event.target as Element).closest(".menu-items")) menu.open = false;
  }
});

addEventListener("focusin", (event) => {
  for (const menu of opened()) if (event.target instanceof Node && !menu.contains(event.target)) menu.open = false;
});
