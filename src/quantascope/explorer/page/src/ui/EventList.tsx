/** Events in their context, drawn as they come into view; further ones are asked for page by page. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { askable } from "../data/client";
import type { Event, EventPage } from "../data/shapes";
import { number, shortened, visible } from "../format";
import { link } from "../router";
import { useNarrow } from "./narrow";
import { Empty } from "./States";
import { Tokens } from "./Tokens";

interface Props {
  label: string;
  run: string;
  first: EventPage;
  /** The page that starts at an event. */
  page: (offset: number) => Promise<EventPage>;
  unit: string;
  height?: number;
}

const OVERSCAN = 6;
/** Tokens shown before and after the one that an event is about. */
const [AROUND, AROUND_NARROW] = [[7, 4], [2, 2]] as const;

export function EventList({ label, run, first, page, unit, height = 440 }: Props) {
  const [pages, set] = useState<ReadonlyMap<number, readonly Event[]>>(new Map());
  const [top, setTop] = useState(0);
  const narrow = useNarrow();
  const row = narrow ? 74 : 42;
  const { total } = first;
  const size = Math.max(first.events.length, 1);
  const from = Math.max(0, Math.floor(top / row) - OVERSCAN);
  const to = Math.min(total, Math.ceil((top + height) / row) + OVERSCAN);
  const needed = Array.from({ length: to - from }, (_, index) => Math.floor((from + index) / size));
  const [firstPage, lastPage] = [needed[0] ?? 0, needed.at(-1) ?? 0];
  useEffect(() => set((held) => (held.size ? new Map() : held)), [first]);
  useEffect(() => {
    let current = true;
    for (let one = Math.max(firstPage, 1); one <= lastPage; one++)
      page(one * size).then(
        ({ events }) => current && set((held) => (held.has(one) ? held : new Map(held).set(one, events))),
        () => undefined,
      );
    return () => {
      current = false;
    };
  }, [first, firstPage, lastPage]);
  const view = useRef<HTMLUListElement>(null);
  // With the drawing, not after it: whoever sees the events may scroll at once.
  useLayoutEffect(() => {
    if (view.current) view.current.scrollTop = 0;
  }, [first]);
  if (!total) return <Empty title="No events" />;
  const event = (at: number) => (at < first.events.length ? first.events[at] : pages.get(Math.floor(at / size))?.[at % size]);
  return (
    <ul
      ref={view}
      class="events"
      tabIndex={0}
      aria-label={label}
      style={{ height: `${Math.min(height, row * total + 2)}px` }}
      onScroll={({ currentTarget }) => setTop(currentTarget.scrollTop)}
    >
      <li class="extent" aria-hidden="true" style={{ height: `${row * total}px` }} />
      {needed.map((_, index) => (
        <Row key={from + index} run={run} event={event(from + index)} at={from + index} total={total} row={row} unit={unit} around={narrow ? AROUND_NARROW : AROUND} />
      ))}
    </ul>
  );
}

interface RowProps {
  run: string;
  event: Event | undefined;
  at: number;
  total: number;
  row: number;
  unit: string;
  around: readonly [number, number];
}

function Row({ run, event, at, total, row, unit, around }: RowProps) {
  return (
    <li class="event" aria-posinset={at + 1} aria-setsize={total} style={{ top: `${at * row}px`, height: `${row}px` }}>
      {event ? (
        <>
          <Prompt run={run} event={event} />
          <Answer event={event} around={around} />
          <span class="measure" title={unit}>
            {number(event.value)}
          </span>
        </>
      ) : (
        <span class="muted small">…</span>
      )}
    </li>
  );
}

function Prompt({ run, event }: { run: string; event: Event }) {
  const shown = <bdi>{shortened(event.prompt.map(visible).join(" "), 60)}</bdi>;
  if (!event.input || !askable(`runs/${run}/trace`, { input: event.input })) return <span class="chip">{shown}</span>;
  return (
    <a class="chip" href={link("trace", event.input)} title={`Trace ${shortened(visible(event.input), 400)}`}>
      {shown}
    </a>
  );
}

/** The tokens around the one that the event is about. */
function Answer({ event, around: [before, after] }: { event: Event; around: readonly [number, number] }) {
  const [from, to] = [Math.max(0, event.at - before), event.at + after + 1];
  const shown = event.answer.slice(from, to).map((text, index) => ({
    text,
    lit: event.lit[from + index] ?? 0,
    target: from + index === event.at,
    title: `${shortened(visible(text), 200)}: ${number(event.lit[from + index])} of the most`,
  }));
  return (
    <span class="answer">
      {from > 0 && <span class="muted">…</span>}
      <Tokens tokens={shown} />
      {to < event.answer.length && <span class="muted">…</span>}
    </span>
  );
}
