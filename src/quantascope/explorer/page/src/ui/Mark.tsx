/** The wordmark: three staggered acquisition curves. */
export function Mark() {
  return (
    <>
      <svg width="22" height="22" viewBox="0 0 22 22" aria-hidden="true" fill="none" stroke-width="2.2" stroke-linecap="round">
        <path d="M2 18 C6 18 6 4 9 4 H20" style="stroke: var(--hue-0)" />
        <path d="M2 18 H6 C10 18 10 9 13 9 H20" style="stroke: var(--hue-1)" />
        <path d="M2 18 H11 C15 18 14 14 17 14 H20" style="stroke: var(--hue-2)" />
      </svg>
      quantascope
    </>
  );
}
