import { Component, type ComponentChildren, type FunctionComponent, h } from "preact";

/** A component that is drawn again only when one of its properties has changed. */
export function memo<P extends object>(inner: FunctionComponent<P>): FunctionComponent<P> {
  class Memo extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      const before = this.props as Record<string, unknown>;
      const after = next as Record<string, unknown>;
      return Object.keys({ ...before, ...after }).some((name) => before[name] !== after[name]);
    }
    override render(): ComponentChildren {
      return h(inner as FunctionComponent<object>, this.props as object);
    }
  }
  return Memo as unknown as FunctionComponent<P>;
}
