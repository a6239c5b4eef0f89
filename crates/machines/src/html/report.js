"use strict";
// Timelines tell what happens below the pointer; a drag over a range zooms into it, a double click shows everything.
for (const svg of document.querySelectorAll("svg[data-id]")) {
  const data = JSON.parse(document.getElementById(svg.dataset.id).textContent);
  const plot = svg.querySelector("svg"), marker = svg.querySelector(".marker"), axis = [...svg.querySelectorAll(".tick")];
  const tip = document.createElement("div");
  tip.className = "tip"; tip.hidden = true; document.body.append(tip);
  let view = [0, data.bins], from = null;
  const seconds = bin => data.seconds * bin / data.bins;
  const text = s => s >= 1 ? s.toPrecision(4) + " s" : s >= 1e-3 ? (s * 1e3).toPrecision(4) + " ms" : (s * 1e6).toPrecision(4) + " µs";
  const place = event => {
    const box = svg.getBoundingClientRect(), x = (event.clientX - box.left) / box.width * data.width;
    return Math.min(1, Math.max(0, (x - data.left) / data.plot));
  };
  const show = () => {
    plot.setAttribute("viewBox", `${view[0]} 0 ${view[1] - view[0]} ${data.height}`);
    axis.forEach((tick, i) => tick.textContent = text(seconds(view[0] + (view[1] - view[0]) * i / (axis.length - 1))));
  };
  svg.addEventListener("pointermove", event => {
    const share = place(event), bin = Math.min(data.bins - 1, Math.floor(view[0] + share * (view[1] - view[0])));
    const busy = data.units.map(([name, shares]) => `${name} ${shares[bin]} %`);
    tip.textContent = [text(seconds(bin + .5)), data.regions[data.at[bin]] ?? "", ...busy].join("\n");
    tip.hidden = false;
    tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + "px"; tip.style.top = event.clientY + 14 + "px";
    const x = data.left + share * data.plot;
    marker.setAttribute("x1", x); marker.setAttribute("x2", x); marker.style.visibility = "visible";
  });
  svg.addEventListener("pointerleave", () => { tip.hidden = true; marker.style.visibility = "hidden"; from = null; });
  svg.addEventListener("pointerdown", event => { from = place(event); event.preventDefault(); });
  svg.addEventListener("pointerup", event => {
    const [a, b] = [from ?? 0, place(event)].sort((x, y) => x - y), wide = view[1] - view[0];
    if (from !== null && (b - a) * wide >= 4) { view = [view[0] + a * wide, view[0] + b * wide]; show(); }
    from = null;
  });
  svg.addEventListener("dblclick", () => { view = [0, data.bins]; show(); });
}
