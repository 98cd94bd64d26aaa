import { titleOf } from "../model/words";
import * as list from "../state/list";

/** The title of a parent conversation. */
export function nameOf(id: string): string {
  const info = list.items.value?.find((one) => one.id === id);
  return info ? titleOf(info) : "another conversation";
}
