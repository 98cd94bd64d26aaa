import { dismiss, hold, release, toasts } from "../state/ui";
import { Icon } from "./icons";

/** Short notices. They are inside the dialog if one is open, since everything else is behind it. */
export function Toasts() {
  return (
    <div class="toasts" role="status">
      {toasts.value.map((toast) => (
        <div
          key={toast.id}
          class={`toast toast-${toast.tone}`}
          onMouseEnter={() => hold(toast.id)}
          onMouseLeave={() => release(toast.id)}
          onFocusIn={() => hold(toast.id)}
          onFocusOut={() => release(toast.id)}
        >
          <span>{toast.text}</span>
          <button type="button" aria-label="Dismiss" onClick={() => dismiss(toast.id)}>
            <Icon name="close" size={14} />
          </button>
        </div>
      ))}
    </div>
  );
}
