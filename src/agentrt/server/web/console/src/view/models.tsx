import type { KnownModel, ModelList } from "@agentrt/client";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Offer, type Offered, offersOf, priceOf } from "../model/llms";
import { clean } from "../model/words";
import * as list from "../state/list";
import { may, rest, server } from "../state/session";

/** Milliseconds without typing before models are searched. */
const PAUSE = 150;

interface PickerProps {
  id: string;
  value: string;
  placeholder?: string;
  required?: boolean;
  onType: (text: string) => void;
  onChoose: (offered: Offered) => void;
}

/** A field for the name of a model, with a list of suggestions while the field is used. */
export function ModelPicker({ id, value, placeholder, required = false, onType, onChoose }: PickerProps) {
  const [shown, setShown] = useState(false);
  const [typed, setTyped] = useState("");
  const [active, setActive] = useState(-1);
  const place = useRef<HTMLDivElement>(null);
  const found = useModels(typed, shown);
  const offers = found === null ? [] : offersOf(found, used(), typed);
  const flat = offers.flatMap(([, items]) => items);
  const choose = (offered: Offered): void => {
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
        <Offers id={id} offers={offers} active={active} choose={choose} />
        {found?.truncated ? <p class="quiet picker-more">There are more models: type part of a name.</p> : null}
      </div>
    </div>
  );
}

function Offers({ id, offers, active, choose }: { id: string; offers: Offer[]; active: number; choose: (offered: Offered) => void }) {
  let at = 0;
  return (
    <div id={`${id}-list`} class="picker-list" role="listbox" aria-label="Suggestions">
      {offers.map(([title, items]) => (
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

/** The models that match a query, searched after a pause in typing; null until they are loaded, or if the key does not allow it. */
function useModels(query: string, wanted: boolean): ModelList | null {
  const [found, setFound] = useState<ModelList | null>(null);
  useEffect(() => {
    if (!wanted || !may("list_models")) return undefined;
    let current = true;
    const timer = setTimeout(() => void rest.models(query, 50).then((models) => current && setFound(models), () => undefined), query === "" ? 0 : PAUSE);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [query, wanted]);
  return found;
}

/** The price of the model with that name; "" until it is known. */
export function usePrice(model: string, known: KnownModel | undefined): string {
  const [found, setFound] = useState<KnownModel | null>(null);
  useEffect(() => {
    if (model === "" || known !== undefined || !may("list_models")) return undefined;
    let current = true;
    const timer = setTimeout(() => {
      rest.models(model, 200).then(({ items }) => current && setFound(items.find((one) => one.model === model) ?? { model } as KnownModel), () => undefined);
    }, 2 * PAUSE);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [model, known]);
  const one = known ?? (found?.model === model ? found : undefined);
  return one ? priceOf(one) : "";
}

/** Models that were used here. */
function used(): string[] {
  const names = [server.value?.model ?? "", ...(list.items.value ?? []).map((info) => info.model)];
  return [...new Set(names.filter((name) => name !== "" && !name.includes(" | ")))];
}
