/** What stands where there is nothing to show yet, or nothing at all. */
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { plain } from "../format";
import type { Resource } from "../data/resource";

export function Loading({ what = "Loading" }: { what?: string }) {
  return (
    <div class="state" role="status">
      <div class="wait" aria-hidden="true" />
      <span>{what}…</span>
    </div>
  );
}

export function Empty({ title, children, command }: { title: string; children?: ComponentChildren; command?: string | null }) {
  return (
    <div class="state">
      <strong>{title}</strong>
      {children && <span>{children}</span>}
      {command && <code>{command}</code>}
    </div>
  );
}

export function Failed({ error }: { error: string }) {
  return (
    <div class="state" role="alert">
      <strong>This cannot be shown</strong>
      <span>{plain(error, 600)}</span>
    </div>
  );
}

/** Shows a resource once it is there; until then, or instead, its state. With `keep`, the last one stays while the next is loading. */
export function Shown<T>(props: { of: Resource<T>; what?: string; keep?: boolean; children: (value: T) => ComponentChildren }) {
  const { of, what, keep, children } = props;
  const last = useRef<T | null>(null);
  if (of.state === "ready") last.current = of.value;
  if (keep && of.state !== "failed" && last.current !== null)
    return (
      <div class={`stack${of.state === "loading" ? " stale" : ""}`} aria-busy={of.state === "loading"}>
        {children(last.current)}
      </div>
    );
  if (of.state === "ready") return <>{children(of.value)}</>;
  return of.state === "loading" ? <Loading what={what} /> : <Failed error={of.error} />;
}

export function Panel(props: {
  title?: ComponentChildren;
  aside?: ComponentChildren;
  span?: number;
  flush?: boolean;
  children: ComponentChildren;
}) {
  const { title, aside, span, flush, children } = props;
  return (
    <section class={`panel${flush ? " flush" : ""}${span ? ` span-${span}` : ""}`}>
      {(title || aside) && (
        <header>
          {title && <h2>{title}</h2>}
          {aside && <div class="aside muted small">{aside}</div>}
        </header>
      )}
      {children}
    </section>
  );
}

export function Title({ title, children, aside }: { title: string; children?: ComponentChildren; aside?: ComponentChildren }) {
  return (
    <div class="title">
      <div>
        <h1 dir="auto">{plain(title)}</h1>
        {children && <p>{children}</p>}
      </div>
      {aside && <div class="row">{aside}</div>}
    </div>
  );
}

export function Facts({ facts }: { facts: [string, ComponentChildren, ComponentChildren?][] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value, beside]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {value} {beside && <small>{beside}</small>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
