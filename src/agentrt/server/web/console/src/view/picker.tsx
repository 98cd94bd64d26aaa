import { useRef, useState } from "preact/hooks";
import { clean } from "../model/words";

/** A suggestion; the key is unique. */
export interface Suggestion {
  key: string;
  label: string;
  facts: string;
}

export interface Offers<T> {
  /** Under titles. */
  groups: readonly (readonly [string, readonly T[]])[];
  /** What is said below them. */
  more: string;
}

interface PickerProps<T extends Suggestion> {
  id: string;
  value: string;
  placeholder?: string;
  required?: boolean;
  /** A hook that returns the suggestions for what was typed; `shown` says whether they are looked at. */
  useOffers: (typed: string, shown: boolean) => Offers<T>;
  onType: (text: string) => void;
  onChoose: (offered: T) => void;
}

/** A field with a list of suggestions while the field is used. */
export function Picker<T extends Suggestion>({ id, value, placeholder, required = false, useOffers, onType, onChoose }: PickerProps<T>) {
  const [shown, setShown] = useState(false);
  const [typed, setTyped] = useState("");
  const [active, setActive] = useState(-1);
  const place = useRef<HTMLDivElement>(null);
  const { groups, more } = useOffers(typed, shown);
  const flat = groups.flatMap(([, items]) => items);
  const choose = (offered: T): void => {
    onChoose(offered);
    setShown(false);
    setActive(-1);
  };
  const step = (by: number): void => {
    setShown(true);
    const next = flat.length === 0 ? -1 : (active + by + flat.length + (active < 0 && by < 0 ? 1 : 0)) % flat.length;
    setActive(next);
    place.current?.querySelectorAll("[role=option]")[next]?.scrollIntoView({ block: "nearest" });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") step(event.key === "ArrowDown" ? 1 : -1);
    else if (event.key === "Enter" && shown && flat[active]) choose(flat[active]);
    else if (event.key === "Escape" && shown) setShown(false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      class="picker"
      ref={place}
      onFocusOut={(event) => {
        if (!(event.relatedTarget instanceof Node && place.current?.contains(event.relatedTarget))) setShown(false);
      }}
    >
      <input
        id={id}
        type="text"
        role="combobox"
        aria-expanded={shown && flat.length > 0}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={active >= 0 && shown ? `${id}-${active}` : undefined}
        value={value}
        placeholder={placeholder}
        required={required}
        autocomplete="off"
        spellcheck={false}
        onClick={() => setShown(true)}
        onInput={(event) => {
          onType(event.currentTarget.value);
          setTyped(event.currentTarget.value);
          setShown(event.currentTarget.value !== ""); // whoever empties it goes on elsewhere
          setActive(-1);
        }}
        onKeyDown={onKeyDown}
      />
      <div class="picker-pop" hidden={!shown || flat.length === 0}>
        <Groups id={id} groups={groups} active={active} choose={choose} />
        {more ? <p class="quiet picker-more">{more}</p> : null}
      </div>
    </div>
  );
}

function Groups<T extends Suggestion>({ id, groups, active, choose }: { id: string; groups: readonly (readonly [string, readonly T[]])[]; active: number; choose: (offered: T) => void }) {
  let at = 0;
  return (
    <div id={`${id}-list`} class="picker-list" role="listbox" aria-label="Suggestions">
      {groups.map(([title, items]) => (
        <div key={title} role="group" aria-label={title}>
          <p class="picker-title" aria-hidden="true">
            {title}
          </p>
          {items.map((offered) => {
            const place = at++;
            return (
              <div
                key={offered.key}
                id={`${id}-${place}`}
                class={`picker-option ${place === active ? "active" : ""}`}
                role="option"
                aria-selected={place === active}
                onMouseDown={(event) => event.preventDefault()} // the field keeps the focus
                onClick={() => choose(offered)}
              >
                <span>{clean(offered.label)}</span>
                <span class="quiet">{clean(offered.facts)}</span>
              </div>
            );
          })}
        </div>
      ))}
    </div>
  );
}
