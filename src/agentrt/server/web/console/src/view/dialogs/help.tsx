import { SHORTCUTS } from "../../state/shortcuts";
import { shortcutsOn } from "../../state/ui";
import { Frame } from "./frame";

export function Help() {
  return (
    <Frame title="Keyboard shortcuts">
      <dl class="shortcuts">
        {SHORTCUTS.map(({ keys, what }) => (
          <div key={keys}>
            <dt>
              {keys.split(" ").map((one) => (
                <kbd key={one}>{one}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <label class="check">
        <input type="checkbox" checked={shortcutsOn.value} onChange={(event) => (shortcutsOn.value = event.currentTarget.checked)} /> Enable single-key shortcuts
      </label>
    </Frame>
  );
}
