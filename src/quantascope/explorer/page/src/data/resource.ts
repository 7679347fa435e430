/** Something that is fetched: loading, there, or failed. */
import { useLayoutEffect, useState } from "preact/hooks";

export type Resource<T> = { state: "loading" } | { state: "ready"; value: T } | { state: "failed"; error: string };

/** What `load` gives, again whenever `key` changes; nothing is loaded without a key. An older answer never replaces a newer. */
export function useResource<T>(key: string | null, load: () => Promise<T>): Resource<T> {
  const [held, hold] = useState<{ key: string | null; resource: Resource<T> }>({ key: null, resource: { state: "loading" } });
  useLayoutEffect(() => {
    if (key === null) return;
    let current = true;
    const told = (resource: Resource<T>) => current && hold({ key, resource });
    load().then(
      (value) => told({ state: "ready", value }),
      (error: unknown) => told({ state: "failed", error: error instanceof Error ? error.message : String(error) }),
    );
    return () => {
      current = false;
    };
  }, [key]);
  return held.key === key ? held.resource : { state: "loading" };
}
