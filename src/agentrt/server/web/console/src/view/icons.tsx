const PATHS = {
  plus: "M12 5v14M5 12h14",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM20 20l-4-4",
  menu: "M4 7h16M4 12h16M4 17h16",
  close: "M6 6l12 12M18 6L6 18",
  play: "M8 5.5v13l10.5-6.5z",
  pause: "M9 6v12M15 6v12",
  stop: "M7 7h10v10H7z",
  fork: "M7 4v10a4 4 0 0 0 4 4h2M7 4a1 1 0 1 0 0 .01M17 6a1 1 0 1 0 0 .01M17 7v3a4 4 0 0 1-4 4h-2",
  rewind: "M4 5v5h5M4.6 10A8 8 0 1 1 4 14",
  files: "M7 3h7l5 5v13H7zM14 3v5h5M10 13h6M10 17h6",
  info: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 11v5M12 8v.01",
  history: "M12 7v5l3 2M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18z",
  settings: "M4 7h9M17 7h3M15 5v4M4 12h3M11 12h9M9 10v4M4 17h10M18 17h2M16 15v4",
  more: "M6 12v.01M12 12v.01M18 12v.01",
  sun: "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6 7 7M17 17l1.4 1.4M18.4 5.6 17 7M7 17l-1.4 1.4",
  moon: "M20 14.5A8 8 0 1 1 9.5 4a6.5 6.5 0 0 0 10.5 10.5z",
  auto: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 3v18M12 7h6M12 12h9M12 17h6",
  help: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM9.5 9.5a2.5 2.5 0 1 1 3.6 2.3c-.8.4-1.1.9-1.1 1.7M12 16.5v.01",
  key: "M14 10a4 4 0 1 0-3.5 4L13 16.5V19h3v-3l-2.2-2.2",
  check: "M5 12.5l4.5 4.5L19 7.5",
  send: "M12 19V6M6 11.5 12 5.5l6 6",
  down: "M12 5v13M6 12.5l6 6 6-6",
  up: "M6 15l6-6 6 6",
  under: "M6 9l6 6 6-6",
  left: "M14 6l-6 6 6 6",
  right: "M10 6l6 6-6 6",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  terminal: "M5 7l5 5-5 5M12 17h7",
  edit: "M4 20l1-4L16 5l3 3L8 19z",
  eye: "M3 12s3.5-6 9-6 9 6 9 6-3.5 6-9 6-9-6-9-6zM12 14.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z",
  plug: "M9 3v5M15 3v5M6 8h12v3a6 6 0 0 1-12 0zM12 17v4",
  list: "M9 7h11M9 12h11M9 17h11M4.5 7v.01M4.5 12v.01M4.5 17v.01",
  branch: "M7 5v14M7 13a6 6 0 0 0 6-6h4M17 7l-2.5-2.5M17 7l-2.5 2.5",
  tool: "M14.5 6a4 4 0 0 1 5 5L11 19.5 4.5 13z",
  code: "M9 8l-4 4 4 4M15 8l4 4-4 4",
  folder: "M3 6h7l2 2.5h9V19H3z",
  upload: "M12 16V5M7 9.5 12 4.5l5 5M5 19h14",
  download: "M12 4v11M7 10.5l5 5 5-5M5 19h14",
  clip: "M20 11.5 12 19.5a5 5 0 0 1-7-7l8-8a3.3 3.3 0 0 1 4.7 4.7l-8 8a1.6 1.6 0 0 1-2.3-2.3l7.3-7.3",
  bell: "M6 16V11a6 6 0 0 1 12 0v5l1.5 2h-15zM10 20.5h4",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg
      class="icon"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width={name === "more" || name === "list" ? 2.4 : 1.8}
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}

interface ButtonProps {
  icon: IconName;
  label: string;
  onClick: () => void;
  keys?: string;
  pressed?: boolean;
  expanded?: boolean;
  disabled?: boolean;
  text?: boolean;
  class?: string;
  id?: string;
}

/** A button with an icon and an accessible name; `keys` is its shortcut. */
export function IconButton({ icon, label, onClick, keys, pressed, expanded, disabled, text, class: look = "", id }: ButtonProps) {
  return (
    <button
      type="button"
      id={id}
      class={`${text ? "button" : "icon-button"} ${look}`}
      title={keys ? `${label} (${keys})` : label}
      aria-label={text ? undefined : label}
      aria-pressed={pressed}
      aria-expanded={expanded}
      aria-keyshortcuts={keys}
      disabled={disabled}
      onClick={onClick}
    >
      <Icon name={icon} size={text ? 16 : 18} />
      {text ? <span>{label}</span> : null}
    </button>
  );
}
