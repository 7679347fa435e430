/** Lines or points over one axis, drawn by uPlot; an interval of the axis can be brushed. */
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { number, plain, short } from "../format";
import { type Hue, colour, hueStyle, hue, useTheme } from "./theme";

export interface Line {
  label: string;
  values: readonly (number | null)[];
  hue: Hue;
  width?: number;
  dashed?: boolean;
  points?: boolean;
  hollow?: boolean;
}

interface Props {
  label: string;
  x: readonly number[];
  xLabel: string;
  yLabel: string;
  lines: readonly Line[];
  height?: number;
  logX?: boolean;
  logY?: boolean;
  xRange?: [number, number];
  yRange?: [number, number];
  sync?: string;
  brushed?: [number, number] | null;
  brush?: (from: number, to: number) => void;
  /** Told while the mouse still drags. */
  brushing?: (from: number, to: number) => void;
  choose?: (line: number, index: number) => void;
  legend?: boolean;
  marker?: number | null;
}

interface Reading {
  index: number | null;
  line: number | null;
}

export function Chart(props: Props) {
  const { label, x, lines, xLabel, legend = lines.length <= 6 } = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const theme = useTheme();
  const [reading, read] = useState<Reading>({ index: null, line: null });

  useEffect(() => {
    const target = box.current;
    if (!target) return;
    const made = new uPlot(options(latest, target.clientWidth, read), data(latest.current), target);
    plot.current = made;
    const resized = new ResizeObserver(() => {
      if (target.clientWidth) made.setSize({ width: target.clientWidth, height: made.height });
      showBrush(made, latest.current.brushed);
    });
    resized.observe(target);
    return () => {
      resized.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [theme, x, lines, props.height, props.logX, props.logY]);

  useEffect(() => {
    if (plot.current) showBrush(plot.current, props.brushed);
  }, [props.brushed?.[0], props.brushed?.[1]]);
  useEffect(() => plot.current?.redraw(false), [props.marker]);

  const at = reading.index;
  const named = legend ? lines.map((_, index) => index) : reading.line === null ? [] : [reading.line];
  return (
    <div class="chart">
      <div ref={box} role="img" aria-label={label} />
      <div class="reading" aria-hidden="true">
        {named.map((index) => {
          const line = lines[index];
          if (!line) return null;
          return (
            <span key={index} style={hueStyle(line.hue)}>
              <i class={line.points ? `dot${line.hollow ? " hollow" : ""}` : `key${line.dashed ? " dashed" : ""}`} />
              {plain(line.label, 32)} {at !== null && <b>{number(line.values[at])}</b>}
            </span>
          );
        })}
        {at !== null && (
          <span>
            {xLabel} <b>{number(x[at])}</b>
          </span>
        )}
        {!named.length && at === null && lines.length > 6 && <span>Point at a line to read it.</span>}
      </div>
    </div>
  );
}

function data({ x, lines }: Props): uPlot.AlignedData {
  return [x as number[], ...lines.map((line) => line.values as (number | null)[])];
}

function options(latest: { current: Props }, width: number, read: (reading: Reading) => void): uPlot.Options {
  const { lines, height = 220, logX, logY, xRange, yRange, sync, brush, choose, xLabel, yLabel } = latest.current;
  const [muted, grid] = [colour("muted"), colour("line")];
  const font = "12px system-ui, sans-serif";
  const axis = {
    stroke: muted,
    font,
    labelFont: font,
    labelSize: 20,
    grid: { stroke: grid, width: 1 },
    ticks: { stroke: grid, width: 1, size: 4 },
    values: (_: uPlot, ticks: number[]) => ticks.map((tick) => (tick === null ? "" : short(tick))),
  };
  let reading: Reading = { index: null, line: null };
  const told = (change: Partial<Reading>) => read((reading = { ...reading, ...change }));
  return {
    width: Math.max(width, 120),
    height,
    padding: [10, 22, 0, 0],
    legend: { show: false },
    scales: {
      x: { time: false, distr: logX ? 3 : 1, ...(xRange && { range: xRange }) },
      y: { distr: logY ? 3 : 1, ...(yRange && { range: yRange }) },
    },
    axes: [
      { ...axis, label: xLabel, size: 30, labelSize: 18 },
      { ...axis, label: yLabel, size: 56 },
    ],
    cursor: {
      drag: { x: Boolean(brush), y: false, setScale: false },
      focus: { prox: choose || lines.length > 6 ? 24 : -1 },
      points: { size: 7 },
      y: false,
      ...(sync && { sync: { key: sync, setSeries: false } }),
      bind: choose
        ? {
            click: () => () => {
              if (reading.line !== null && reading.index !== null) latest.current.choose?.(reading.line, reading.index);
              return null;
            },
          }
        : {},
    },
    focus: { alpha: 0.25 },
    series: [{}, ...lines.map(series)],
    hooks: {
      ready: [(plot) => showBrush(plot, latest.current.brushed)],
      setCursor: [
        (plot) => {
          told({ index: plot.cursor.idx ?? null });
          if (plot.cursor.event?.buttons && plot.select.width) latest.current.brushing?.(...selected(plot));
        },
      ],
      setSeries: [(_, index) => told({ line: index === null ? null : index - 1 })],
      setSelect: [
        (plot) => {
          if (plot.select.width) latest.current.brush?.(...selected(plot));
        },
      ],
      draw: [(plot) => drawMarker(plot, latest.current.marker)],
    },
  };
}

function selected({ select, posToVal }: uPlot): [number, number] {
  return [posToVal(select.left, "x"), posToVal(select.left + select.width, "x")];
}

function series(line: Line): uPlot.Series {
  const stroke = colour(hue(line.hue));
  return {
    label: line.label,
    stroke,
    width: line.width ?? 1.75,
    dash: line.dashed ? [5, 4] : [],
    spanGaps: true,
    points: line.points ? { show: true, size: line.hollow ? 9 : 7, fill: line.hollow ? "transparent" : stroke, stroke } : { show: false },
    ...(line.points && { paths: () => null }),
  };
}

function showBrush(plot: uPlot, brushed: [number, number] | null | undefined): void {
  const { height } = plot.over.getBoundingClientRect();
  if (!brushed) return plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
  const [left, right] = [plot.valToPos(brushed[0], "x"), plot.valToPos(brushed[1], "x")];
  plot.setSelect({ left, width: Math.max(right - left, 2), top: 0, height }, false);
}

function drawMarker(plot: uPlot, at: number | null | undefined): void {
  if (at === null || at === undefined) return;
  const { ctx, bbox } = plot;
  const x = plot.valToPos(at, "x", true);
  ctx.save();
  ctx.strokeStyle = colour("ink");
  ctx.setLineDash([4, 4]);
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.restore();
}
