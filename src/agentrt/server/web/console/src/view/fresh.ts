import { useEffect, useState } from "preact/hooks";
import { reasonOf } from "../state/session";

/** Milliseconds without a change before a request is made. */
const PAUSE = 250;

/** The answer to a request, which is repeated when one of `when` has changed, or the reason why there is none. */
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
