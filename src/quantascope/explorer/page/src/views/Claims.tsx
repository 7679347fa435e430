import type { Run } from "../data/shapes";
export function ClaimsView(_: { run: Run; runs: Run[] }) {
  return null;
}
