/** The hue of each of several things: a legend of dots. */
import { plain } from "../format";
import { hueStyle } from "./theme";

export function Layers({ layers }: { layers: readonly string[] }) {
  return (
    <span class="row">
      {layers.map((layer, index) => (
        <span key={layer} class="row" style={{ ...hueStyle(index), gap: "6px" }}>
          <i class="dot" />
          <bdi>{plain(layer, 32)}</bdi>
        </span>
      ))}
    </span>
  );
}
