/** The most probable next tokens; with those of before an intervention, how each changed. */
import type { Prediction } from "../data/shapes";
import { percent, points, shortened, visible } from "../format";

interface Props {
  top: readonly [string, number][];
  right?: string | null;
  /** What the token that stands out is. */
  why?: string;
  /** Of before, and how probable the right token was then and is now. */
  before?: Prediction;
  probability?: number;
}

export function Predictions({ top, right, why = "the right token", before, probability }: Props) {
  const missing = right && probability !== undefined && !top.some(([token]) => token === right);
  const rows = missing ? [...top, [right, probability] as const] : top;
  const earlier = before && new Map([...before.top, ...(right ? [[right, before.probability] as const] : [])]);
  return (
    <div class={`predictions${before ? " changed" : ""}`}>
      {rows.flatMap(([token, share]) => {
        const was = earlier?.get(token);
        return [
          <span key={`${token} token`} class={`token${token === right ? " target" : ""}`} title={token === right ? why : undefined}>
            {shortened(visible(token), 24)}
          </span>,
          <span key={`${token} bar`} class="bar">
            <span style={{ width: `${100 * share}%` }} />
            {was !== undefined && <i class="was" style={{ left: `${100 * was}%` }} />}
          </span>,
          <span key={`${token} share`} class="share">
            {percent(share)}
          </span>,
          before && (
            <span key={`${token} change`} class="share muted" title="points more or less than before">
              {was === undefined ? "new" : points(share - was)}
            </span>
          ),
        ];
      })}
    </div>
  );
}
