/** Asks the server, or the data inside an offline file, under the same addresses. */
import { useEffect, useState } from "preact/hooks";
import { answered, answers, embedded } from "./embedded";
import { type Resource, useResource } from "./resource";

export const offline = embedded !== null;

type Parameters = Record<string, string | number | null | undefined>;

const cached = new Map<string, Promise<unknown>>();
const arrived = new Map<string, unknown>();
let away = false;

/** `/api/<path>?name=value`, names in alphabetical order: the key of an answer inside an offline file. */
export function request(path: string, parameters: Parameters = {}): string {
  const kept = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const search = new URLSearchParams(kept.map(([name, value]) => [name, String(value)]));
  search.sort();
  return `/api/${path}${kept.length ? `?${search}` : ""}`;
}

/** Whether there is an answer to ask for: the server has every one, a file only some. */
export function askable(path: string, parameters: Parameters = {}): boolean {
  return !offline || answered(request(path, parameters));
}

export function get<T>(path: string, parameters: Parameters = {}): Promise<T> {
  const key = request(path, parameters);
  const held = cached.get(key) ?? (offline ? fromFile(key) : fromServer(key));
  cached.set(key, held);
  held.then(
    (value) => arrived.set(key, value),
    () => cached.delete(key),
  );
  return held as Promise<T>;
}

/** An answer that has arrived before is there at once. */
export function useData<T>(path: string | null, parameters: Parameters = {}): Resource<T> {
  const key = path === null ? null : request(path, parameters);
  const there = key !== null && arrived.has(key);
  const asked = useResource(there ? null : key, () => get<T>(path!, parameters));
  return there ? { state: "ready", value: arrived.get(key) as T } : asked;
}

/** Whether the server has gone away; asks again every few seconds until it is back. */
export function useAway(): boolean {
  const [now, set] = useState(away);
  useEffect(() => {
    const listen = () => set(away);
    addEventListener("server", listen);
    const again = setInterval(() => away && void fromServer("/api/index").catch(() => undefined), 3000);
    return () => {
      removeEventListener("server", listen);
      clearInterval(again);
    };
  }, []);
  return now;
}

async function fromFile(key: string): Promise<unknown> {
  const held = await answers();
  if (!(key in held)) throw new Error("This file does not hold the answer; open the run with `quantascope explore`.");
  return held[key];
}

async function fromServer(key: string): Promise<unknown> {
  let answer: Response;
  try {
    answer = await fetch(key, { headers: authorization() });
  } catch {
    tell(true);
    throw new Error("The server does not answer.");
  }
  tell(false);
  const content = (await answer.json().catch(() => ({}))) as { error?: string };
  if (!answer.ok) throw new Error(content.error ?? `The server answered with status ${answer.status}.`);
  return content;
}

/** A server that listens beyond this machine gives its token in the address that it prints. */
function authorization(): Record<string, string> {
  const token = new URLSearchParams(location.search).get("token");
  return token ? { Authorization: `Bearer ${token}` } : {};
}

function tell(now: boolean): void {
  if (now === away) return;
  away = now;
  dispatchEvent(new Event("server"));
}
