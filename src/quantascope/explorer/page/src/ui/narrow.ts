/** Whether the page is as narrow as a phone. */
import { useEffect, useState } from "preact/hooks";

const query = matchMedia("(max-width: 760px)");

export function useNarrow(): boolean {
  const [now, set] = useState(query.matches);
  useEffect(() => {
    const listen = () => set(query.matches);
    query.addEventListener("change", listen);
    return () => query.removeEventListener("change", listen);
  }, []);
  return now;
}
