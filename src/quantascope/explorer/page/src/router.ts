/** The state of the page is its address: `#/view/argument?name=value`. */
import { useLayoutEffect, useState } from "preact/hooks";

export interface Route {
  view: string;
  argument: string;
  query: Record<string, string>;
}

export type Changes = Record<string, string | number | boolean | null | undefined>;

export function parse(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [view = "", ...rest] = path.split("/");
  return { view: decode(view), argument: decode(rest.join("/")), query: Object.fromEntries(new URLSearchParams(query)) };
}

export function address(view: string, argument = "", query: Changes = {}): string {
  const kept = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const search = new URLSearchParams(kept.map(([name, value]) => [name, String(value)])).toString();
  const path = argument ? `${encodeURIComponent(view)}/${encodeURIComponent(argument)}` : encodeURIComponent(view);
  return `#/${path}${search && `?${search}`}`;
}

export function route(): Route {
  return parse(location.hash);
}

/** Goes to another view; the runs that are looked at stay. */
export function go(view: string, argument = "", query: Changes = {}): void {
  location.hash = link(view, argument, query);
}

export function link(view: string, argument = "", query: Changes = {}): string {
  const { run } = route().query;
  return address(view, argument, { run, ...query });
}

/** Changes parts of the state. `replace` leaves no step in the history, for what changes while one types or drags. */
export function change(query: Changes, replace = false): void {
  const now = route();
  const next = address(now.view, now.argument, { ...now.query, ...query });
  if (next === location.hash) return;
  if (!replace) location.hash = next;
  else {
    history.replaceState(null, "", next);
    dispatchEvent(new HashChangeEvent("hashchange"));
  }
}

export function useRoute(): Route {
  const [now, set] = useState(route);
  useLayoutEffect(() => {
    const listen = () => set(route());
    addEventListener("hashchange", listen);
    return () => removeEventListener("hashchange", listen);
  }, []);
  return now;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
