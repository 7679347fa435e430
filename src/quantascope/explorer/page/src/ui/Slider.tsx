/** A slider over numbered places. */
export function Slider(props: { label: string; value: number; most: number; told: string; set: (value: number) => void }) {
  const { label, value, most, told, set } = props;
  return (
    <input
      type="range"
      class="slider"
      min={0}
      max={Math.max(most, 0)}
      value={value}
      aria-label={label}
      aria-valuetext={told}
      onInput={(event) => set(Number(event.currentTarget.value))}
    />
  );
}
