// Shows a live blog of stet in a page of another site:
//
//   <script src="https://live.example.org/live/embed.js" data-liveblog="UUID" async></script>
//
// The live blog appears in a frame in place of the script, as high as its posts. Optional: data-title, the name of the
// frame for screen readers.

(() => {
  "use strict";
  const script = document.currentScript;
  const uuid = script?.dataset.liveblog ?? "";
  if (!(script instanceof HTMLScriptElement) || !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(uuid)) {
    console.error("embed.js needs data-liveblog with the uuid of a live blog.");
    return;
  }
  const frame = document.createElement("iframe");
  frame.src = new URL(`${uuid}?embed`, script.src).href;
  frame.title = script.dataset.title ?? "Live blog";
  frame.loading = "lazy";
  frame.referrerPolicy = "strict-origin-when-cross-origin";
  frame.style.cssText = "display: block; width: 100%; height: 40rem; border: 0; color-scheme: light dark;";
  window.addEventListener("message", (event) => {
    // The frame is sandboxed and has no origin of its own, so it is known by its window.
    if (event.source !== frame.contentWindow || event.data?.stet !== "liveblog") return;
    const height = Number(event.data.height);
    if (height > 0 && height < 1e6) frame.style.height = `${height}px`;
  });
  script.after(frame);
})();
