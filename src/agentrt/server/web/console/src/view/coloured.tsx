import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Line } from "../model/code";
import { whenSeen } from "../state/colours";

/** Code as coloured lines, once `place` is in view; null until then, and for a language that is not known. */
export function useColours(place: RefObject<Element | null>, language: string | undefined, code: string): Line[] | null {
  const [found, setFound] = useState<{ code: string; lines: Line[] | null } | null>(null);
  useEffect(
    () => (language && code && place.current ? whenSeen(place.current, language, code, (lines) => setFound({ code, lines })) : undefined),
    [language, code],
  );
  return found?.code === code ? found.lines : null;
}

export function Coloured({ line }: { line: Line }) {
  return (
    <>
      {line.map(({ text, look }, at) =>
        look === "" ? (
          text
        ) : (
          <span key={at} class={look}>
            {text}
          </span>
        ),
      )}
    </>
  );
}
