import type { KnownModel, ModelList } from "@agentrt/client";
import { useEffect, useState } from "preact/hooks";
import { type Offered, offersOf, priceOf } from "../model/llms";
import * as list from "../state/list";
import { may, rest, server } from "../state/session";
import { type Offers, Picker } from "./picker";

/** Milliseconds without typing before models are searched. */
const PAUSE = 150;

interface ModelPickerProps {
  id: string;
  value: string;
  placeholder?: string;
  required?: boolean;
  onType: (text: string) => void;
  onChoose: (offered: Offered) => void;
}

/** A field for the name of a model, with a list of suggestions while the field is used. */
export function ModelPicker(props: ModelPickerProps) {
  return <Picker {...props} useOffers={useModelOffers} />;
}

function useModelOffers(typed: string, shown: boolean): Offers<Offered> {
  const found = useModels(typed, shown);
  return { groups: found === null ? [] : offersOf(found, used(), typed), more: found?.truncated ? "There are more models: type part of a name." : "" };
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
