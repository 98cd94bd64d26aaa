/**
 * Menus: one closes when something in it was chosen, when the focus goes elsewhere, and on Escape. It opens where there is
 * room for it, above or below what opens it, and nothing clips it.
 */

/** Pixels between a menu and the edge of the window, and what opens it. */
const GAP = 4;

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

/** Put the items of an open menu into the window: upwards if it prefers that or there is more room. */
function place(menu: HTMLDetailsElement): void {
  const items = menu.querySelector<HTMLElement>(".menu-items");
  if (!menu.open || items === null) return;
  items.style.maxHeight = "";
  const { top, bottom, left, right } = menu.getBoundingClientRect();
  const { width, height } = items.getBoundingClientRect();
  const above = top - 2 * GAP;
  const below = innerHeight - bottom - 2 * GAP;
  const up = menu.classList.contains("menu-up") ? above >= height || above > below : below < height && above > below;
  const room = Math.max(up ? above : below, 0);
  const wanted = items.classList.contains("menu-right") ? right - width : left;
  items.style.maxHeight = `${room}px`;
  items.style.top = `${up ? top - GAP - Math.min(height, room) : bottom + GAP}px`;
  items.style.left = `${Math.max(GAP, Math.min(wanted, innerWidth - width - GAP))}px`;
}

const placeAll = (): void => opened().forEach(place);

addEventListener("toggle", (event) => {
  if (event.target instanceof HTMLDetailsElement && event.target.classList.contains("menu")) place(event.target);
}, true);
addEventListener("scroll", placeAll, { capture: true, passive: true });
addEventListener("resize", placeAll);

addEventListener("click", (event) => {
  for (const menu of opened()) {
    const inside = event.target instanceof Node && menu.contains(event.target);
    if (!inside || (event.target as Element).closest(".menu-items")) menu.open = false;
  }
});

addEventListener("focusin", (event) => {
  for (const menu of opened()) if (event.target instanceof Node && !menu.contains(event.target)) menu.open = false;
});
