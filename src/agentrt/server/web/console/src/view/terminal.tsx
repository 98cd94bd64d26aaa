import { useMemo } from "preact/hooks";
import { linesOf, spansOf, type Span } from "../model/terminal";
import { Folding } from "./folding";

const FOLDED = 14;

export function Terminal({ output, label, most = FOLDED }: { output: string; label: string; most?: number }) {
  const lines = useMemo(() => linesOf(output), [output]);
  if (lines.length === 0) return null;
  return (
    <div class="terminal" role="group" aria-label={label} tabIndex={0}>
      <Folding lines={lines} most={most}>
        {(line, at) => <Line key={at} text={line} />}
      </Folding>
    </div>
  );
}

function Line({ text }: { text: string }) {
  const spans = useMemo(() => spansOf(text), [text]);
  return <div class="terminal-line">{spans.length === 0 ? "\u200b" : spans.map((span, at) => <Piece key={at} span={span} />)}</div>;
}

function Piece({ span }: { span: Span }) {
  if (span.look === "" && !span.colour && !span.ground) return <>{span.text || "\u200b"}</>;
  const style = { ...(span.colour ? { color: `rgb(${span.colour})` } : {}), ...(span.ground ? { backgroundColor: `rgb(${span.ground})` } : {}) };
  return (
    <span class={span.look} style={style}>
      {span.text}
    </span>
  );
}
