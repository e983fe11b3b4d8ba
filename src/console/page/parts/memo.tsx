import { Component, type FunctionComponent } from "preact";

/** A component that is rendered again only if one of its properties is another object. */
export function memo<P extends object>(Inner: FunctionComponent<P>) {
  return class Memo extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      const before = this.props as Record<string, unknown>;
      return Object.entries(next).some(([key, value]) => !Object.is(before[key], value));
    }

    override render() {
      return <Inner {...(this.props as P)} />;
    }
  };
}
