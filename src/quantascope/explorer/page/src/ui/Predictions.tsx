/** The most probable next tokens; with those of before an intervention, how each changed. */
import { percent, signed, visible } from "../format";

export function Predictions({ top, right, before }: { top: [string, number][]; right?: string | null; before?: [string, number][] }) {
  const earlier = before && new Map(before);
  return (
    <div class="predictions">
      {top.flatMap(([token, share]) => {
        const was = earlier?.get(token);
        return [
          <span key={`${token} token`} class={`token${token === right ? " target" : ""}`} title={token === right ? "the right token" : undefined}>
            {visible(token)}
          </span>,
          <span key={`${token} bar`} class="bar">
            <span style={{ width: `${100 * share}%` }} />
          </span>,
          <span key={`${token} share`} class="share" title={was === undefined ? undefined : `${signed(100 * (share - was))} points`}>
            {percent(share)}
          </span>,
        ];
      })}
    </div>
  );
}
