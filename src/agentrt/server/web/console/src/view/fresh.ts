import { useEffect, useState } from "preact/hooks";
import { reasonOf } from "../state/session";

/** Milliseconds that something stands still before it is asked for. */
const PAUSE = 250;

/** What the server says now, asked again when one of `when` has changed; and why there is nothing. */
export function useFresh<T>(ask: () => Promise<T>, when: readonly unknown[]): { found: T | null; problem: string } {
  const [found, setFound] = useState<T | null>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    let wanted = true;
    const timer = setTimeout(() => {
      ask().then(
        (answer) => {
          if (!wanted) return;
          setFound(answer);
          setProblem("");
        },
        (error: unknown) => wanted && setProblem(reasonOf(error)),
      );
    }, PAUSE);
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, when);
  return { found, problem };
}
