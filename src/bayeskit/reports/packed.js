// Numbers are packed: tables one after the other, of doubles, or of whole steps of a unit of which the lowest is minus
// infinity.
async function unpack({ parts, data }) {
  const packed = new Blob([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))]);
  const raw = await new Response(packed.stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer();
  const view = new DataView(raw);
  let at = 0;
  return parts.map(([bytes, unit, count, width]) => {
    const out = new Float64Array(count);
    for (let i = 0; i < count; i++, at += bytes) {
      if (bytes === 8) { out[i] = view.getFloat64(at, true); continue; }
      const step = view.getInt32(at, true);
      out[i] = step === -2147483648 ? -Infinity : step * unit;
    }
    return { data: out, width };
  });
}
