/** Events in their context: the prompt, then the answer lit by what was gained at each token. */
import type { Event } from "../data/shapes";
import { number } from "../format";
import { link } from "../router";
import { Empty } from "./States";
import { Tokens } from "./Tokens";

export function EventList({ events, unit }: { events: readonly Event[]; unit: string }) {
  if (!events.length) return <Empty title="No events" />;
  return (
    <ul class="units scroll" tabIndex={0} aria-label="Events">
      {events.map((event, index) => (
        <li key={index}>
          <div class="row">
            <a class="chip" href={link("trace", event.input)} title="Trace this input">
              <bdi>{event.prompt.join(" ")}</bdi>
            </a>
            <Tokens
              tokens={event.answer.map((text, at) => ({ text, lit: event.lit[at] ?? 0, target: at === event.at, title: number(event.lit[at]) }))}
            />
          </div>
          <span class="muted small">
            {number(event.value)} {unit}
          </span>
        </li>
      ))}
    </ul>
  );
}
