/** Numbers and words as they are shown. */

const MINUS = "−";

/** Digits as they are, with a real minus. */
export function exact(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  return Number.isInteger(value) ? grouped(value) : String(value).replace("-", MINUS);
}

/** Three significant digits without zeros at the end. */
export function short(value: number): string {
  return Number.isInteger(value) || Math.abs(value) >= 1000 ? number(value) : exact(Number(value.toPrecision(3)));
}

/** Three significant digits, with a real minus; whole numbers whole. */
export function number(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : `${MINUS}∞`;
  if (Number.isInteger(value)) return grouped(value);
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(digits - 1).replace("-", MINUS);
  if (size >= 10 ** digits) return grouped(Math.round(value));
  return value.toPrecision(digits).replace("-", MINUS);
}

export function percent(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size > 0 && size < 0.0005) return "< 0.1 %";
  return `${(100 * value).toFixed(size > 0 && size < 0.1 ? 1 : 0)} %`.replace("-", MINUS);
}

export function signed(value: number | null | undefined): string {
  const shown = number(value);
  return value !== null && value !== undefined && value > 0 ? `+${shown}` : shown;
}

/** A difference of shares in points, to a tenth. */
export function points(difference: number): string {
  const shown = (100 * difference).toFixed(1);
  return Number(shown) > 0 ? `+${shown}` : Number(shown) < 0 ? shown.replace("-", MINUS) : "0.0";
}

export function count(amount: number, singular: string, plural = `${singular}s`): string {
  return `${grouped(amount)} ${amount === 1 ? singular : plural}`;
}

/** White space and control characters made visible; anything else as it is. */
export function visible(token: string): string {
  return token
    .replace(/ /g, "␣")
    .replace(/\n/g, "⏎")
    .replace(/\t/g, "⇥")
    .replace(/[\u0000-\u001f\u007f]/g, (character) => String.fromCharCode(0x2400 + (character.charCodeAt(0) % 0x7f)))
    .replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (character) => `U+${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** A name or a sentence of somebody else's: spaces kept, control characters made visible, not too long. */
export function plain(text: string, length = 80): string {
  return shortened(visible(text).replaceAll("␣", " "), length);
}

export function shortened(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

function grouped(value: number): string {
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f")
    .replace("-", MINUS);
}
