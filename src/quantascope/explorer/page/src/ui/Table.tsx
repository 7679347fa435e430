/** A sortable, filterable table that draws only the rows in view. Its state is in the page's address. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { count } from "../format";
import { change, useRoute } from "../router";
import { Empty } from "./States";

export interface Column<Row> {
  key: string;
  title: string;
  hint?: string;
  width: string;
  end?: boolean;
  value: (row: Row) => string | number | null | undefined;
  show?: (row: Row) => ComponentChildren;
}

interface Props<Row> {
  label: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  noun: [string, string?];
  sorted?: string;
  height?: number;
  rowHeight?: number;
  open?: (row: Row) => void;
  tools?: ComponentChildren;
  filterable?: boolean;
}

const OVERSCAN = 8;
const HEAD = 36;

export function Table<Row>(props: Props<Row>) {
  const { label, rows, columns, noun, sorted = "", open, tools, filterable = true, rowHeight = 38 } = props;
  const { query } = useRoute();
  const [sort, text] = [query["sort"] ?? sorted, query["q"] ?? ""];
  const shown = useMemo(() => arrange(rows, columns, sort, text), [rows, columns, sort, text]);
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [active, setActive] = useState(0);
  const height = Math.min(props.height ?? 620, HEAD + rowHeight * Math.max(shown.length, 4) + 2);
  useLayoutEffect(() => setActive(0), [sort, text]);
  useLayoutEffect(() => {
    const [view, at] = [box.current, active * rowHeight];
    if (!view) return;
    if (at < view.scrollTop) view.scrollTop = at;
    if (at + rowHeight + HEAD > view.scrollTop + height - 2) view.scrollTop = at + rowHeight + HEAD - height + 2;
  }, [active]);

  const first = Math.max(0, Math.floor(top / rowHeight) - OVERSCAN);
  const last = Math.min(shown.length, Math.ceil((top + height) / rowHeight) + OVERSCAN);
  const least = columns.reduce((sum, column) => sum + (Number(/\d+/.exec(column.width)?.[0]) || 0), 0);
  const grid = { gridTemplateColumns: columns.map((column) => column.width).join(" "), minWidth: `${least + 20}px` };
  const keys = (event: KeyboardEvent) => {
    const page = Math.floor(height / rowHeight) - 2;
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[event.key];
    if (step !== undefined) setActive(Math.max(0, Math.min(shown.length - 1, active + step)));
    else if (event.key === "Enter" && event.target === box.current && shown[active]) open?.(shown[active]);
    else return;
    event.preventDefault();
  };
  return (
    <>
      {(filterable || tools) && (
        <div class="tools">
          {filterable && (
            <input
              type="search"
              class="filter"
              value={text}
              placeholder="Filter   ( / )"
              aria-label={`Filter ${label}`}
              onInput={(event) => change({ q: event.currentTarget.value }, true)}
            />
          )}
          {tools}
          <span class="aside muted small" role="status">
            {shown.length === rows.length ? count(rows.length, ...noun) : `${shown.length} of ${count(rows.length, ...noun)}`}
          </span>
        </div>
      )}
      <div
        ref={box}
        class="table"
        role="grid"
        aria-label={label}
        aria-rowcount={shown.length + 1}
        aria-activedescendant={shown.length ? `${label}-${active}`.replace(/\s/g, "-") : undefined}
        tabIndex={0}
        style={{ height: `${height}px` }}
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
        onKeyDown={keys}
      >
        <div class="table-head" role="row" aria-rowindex={1} style={grid}>
          {columns.map((column) => (
            <Head key={column.key} column={column} sort={sort} />
          ))}
        </div>
        <div style={{ height: `${shown.length * rowHeight}px` }} role="presentation">
          {shown.slice(first, last).map((row, offset) => (
            <div
              key={first + offset}
              id={`${label}-${first + offset}`.replace(/\s/g, "-")}
              role="row"
              aria-rowindex={first + offset + 2}
              class={`table-row${open ? " opens" : ""}${first + offset === active ? " active" : ""}`}
              style={{ ...grid, height: `${rowHeight}px`, top: `${HEAD + (first + offset) * rowHeight}px` }}
              onClick={() => {
                setActive(first + offset);
                open?.(row);
              }}
            >
              {columns.map((column) => (
                <div key={column.key} role="gridcell" class={`cell${column.end ? " end" : ""}`}>
                  {column.show ? column.show(row) : (column.value(row) ?? "–")}
                </div>
              ))}
            </div>
          ))}
        </div>
        {!shown.length && <Empty title={rows.length ? "Nothing matches the filter" : "Nothing here"} />}
      </div>
    </>
  );
}

function Head<Row>({ column, sort }: { column: Column<Row>; sort: string }) {
  const order = sort === column.key ? "ascending" : sort === `-${column.key}` ? "descending" : undefined;
  return (
    <div role="columnheader" aria-sort={order} class={`cell${column.end ? " end" : ""}`}>
      <button title={column.hint ?? column.title} onClick={() => change({ sort: order === "descending" ? column.key : `-${column.key}` }, true)}>
        {order === "ascending" ? "↑ " : order === "descending" ? "↓ " : ""}
        {column.title}
      </button>
    </div>
  );
}

/** The rows that contain every word of the text, in the order of a column ("key", or "-key" from high to low). */
export function arrange<Row>(rows: readonly Row[], columns: readonly Column<Row>[], sort: string, text: string): Row[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const kept = words.length
    ? rows.filter((row) => {
        const content = columns.map((column) => column.value(row) ?? "").join(" ").toLowerCase();
        return words.every((word) => content.includes(word));
      })
    : [...rows];
  const column = columns.find(({ key }) => key === sort.replace(/^-/, ""));
  if (!column) return kept;
  const direction = sort.startsWith("-") ? -1 : 1;
  const valued = kept.map((row) => [column.value(row), row] as const);
  valued.sort(([a], [b]) => compare(a, b, direction));
  return valued.map(([, row]) => row);
}

/** What is missing comes last in either direction. */
function compare(a: string | number | null | undefined, b: string | number | null | undefined, direction: number): number {
  const [noA, noB] = [a === null || a === undefined, b === null || b === undefined];
  if (noA || noB) return Number(noA) - Number(noB);
  if (typeof a === "number" && typeof b === "number") return direction * (a - b);
  return direction * String(a).localeCompare(String(b), "en", { numeric: true });
}
