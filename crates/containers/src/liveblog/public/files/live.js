// A public page of a live blog, kept up to date. Without this script the page is complete, but stays as it is.
//
// The script asks for the newest posts at an interval. New posts wait behind a button, so that nothing moves under a
// reader. Corrections and withdrawn posts are shown at once. A sandboxed page has no storage and no origin, so there is
// neither here. Documents are parsed by the browser's own reader of replies, which runs no scripts.

(() => {
  "use strict";
  const main = document.getElementById("liveblog");
  const list = document.getElementById("posts");
  const news = document.querySelector(".news");
  if (!main || !list || !news) return;
  const { address, one, many, failed, gone } = main.dataset;
  const isOlderPage = document.getElementById("later") !== null;
  const isEmbedded = window.parent !== window;

  const find = (root, id) => root.querySelector(`[id="${id}"]`);
  const articles = (root) => [...root.querySelectorAll("article[id]")];
  const shown = (id) => find(list, id);

  // Times

  const hours = new Intl.DateTimeFormat(document.documentElement.lang, { hour: "numeric", minute: "2-digit" });
  const days = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });

  function showTimes(root) {
    for (const time of root.querySelectorAll("time")) {
      const at = new Date(time.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      time.title = days.format(at);
      time.textContent = (at.toDateString() === new Date().toDateString() ? hours : days).format(at);
    }
  }

  // Requests

  /** Reads posts. Resolves to a document, or to the status of another reply; 0 if there was none. */
  function read(query) {
    return new Promise((resolve) => {
      const request = new XMLHttpRequest();
      request.open("GET", `${address}/posts${query}`);
      request.responseType = "document";
      request.timeout = 30000;
      request.onload = () => resolve(request.status === 200 && request.response ? request.response : request.status);
      request.onerror = request.ontimeout = () => resolve(0);
      request.send();
    });
  }

  // What has arrived

  /** The newest posts of the server, while some of them are not shown. */
  let waiting = null;

  function adopt(article) {
    const item = document.importNode(article.closest("li"), true);
    showTimes(item);
    return item;
  }

  function say(text) {
    const line = document.createElement("p");
    line.textContent = text;
    news.replaceChildren(line);
  }

  function offer(number) {
    if (number === 0) {
      news.replaceChildren();
      return;
    }
    const text = number === 1 ? one : many.replace("{}", String(number));
    let button = news.querySelector("button");
    if (!button) {
      button = document.createElement("button");
      button.type = "button";
      button.addEventListener("click", reveal);
      news.replaceChildren(button);
    }
    if (button.textContent !== text) button.textContent = text;
  }

  /** Shows corrections, and removes what was withdrawn. Only the posts that the server has sent can be compared. */
  function correct(fresh) {
    const all = articles(fresh);
    const last = all.at(-1);
    const isWhole = find(fresh, "earlier") === null;
    for (const old of articles(list)) {
      const now = find(fresh, old.id);
      if (now) {
        if (now.dataset.version !== old.dataset.version) old.closest("li").replaceWith(adopt(now));
      } else if (isWhole || "pinned" in old.dataset || (last && Number(old.dataset.at) > Number(last.dataset.at))) {
        old.closest("li").remove();
      }
    }
  }

  /** Takes over the state, the title and the way to earlier posts. */
  function takeOver(fresh, withWay) {
    const head = document.querySelector("h1");
    if (head && head.textContent !== fresh.title) head.textContent = document.title = fresh.title;
    for (const id of withWay ? ["state", "nothing", "earlier"] : ["state"]) {
      const [old, now] = [document.getElementById(id), find(fresh, id)];
      if (now) {
        const copy = document.importNode(now, true);
        showTimes(copy);
        if (old) old.replaceWith(copy);
        else main.append(copy);
      } else {
        old?.remove();
      }
    }
  }

  function reveal() {
    const fresh = waiting;
    waiting = null;
    news.replaceChildren();
    if (!fresh) return;
    const all = articles(fresh);
    // After a long pause nothing of what is shown may be among the newest posts: the posts between are on other pages.
    const isContinued = all.some((article) => shown(article.id));
    if (!isContinued) list.replaceChildren();
    let first = null;
    let place = list.firstElementChild;
    for (const article of all) {
      let item = shown(article.id)?.closest("li");
      if (!item) {
        item = adopt(article);
        item.firstElementChild.classList.add("fresh");
        first ??= item.firstElementChild;
      }
      if (item === place) place = place.nextElementSibling;
      else list.insertBefore(item, place);
    }
    takeOver(fresh, !isContinued || find(fresh, "earlier") === null);
    document.getElementById("nothing")?.remove();
    if (first) {
      first.tabIndex = -1;
      first.focus({ preventScroll: true });
      first.scrollIntoView({ block: "nearest" });
    }
  }

  // The interval

  const state = () => document.getElementById("state");
  let timer = 0;
  let failures = 0;
  let missing = 0;

  function withdraw() {
    list.replaceChildren();
    for (const id of ["earlier", "state", "nothing"]) document.getElementById(id)?.remove();
    say(gone);
  }

  async function look() {
    const reply = await read("");
    if (typeof reply === "number") {
      failures = reply === 404 ? 0 : failures + 1;
      missing = reply === 404 ? missing + 1 : missing;
      // One reply may be that of a proxy.
      if (missing === 2) withdraw();
      if (missing < 2) wait();
      return;
    }
    failures = missing = 0;
    correct(reply);
    takeOver(reply, false);
    const number = articles(reply).filter((article) => !shown(article.id)).length;
    waiting = number > 0 ? reply : null;
    offer(number);
    wait();
  }

  function wait() {
    clearTimeout(timer);
    if (document.hidden) return;
    const seconds = Number(state()?.dataset.interval) || 10;
    // Readers don't ask all at once. A server in trouble, and an ended live blog, are asked less often.
    const slower = Math.min(2 ** failures, 16) * (state()?.classList.contains("ended") ? 6 : 1);
    timer = setTimeout(look, seconds * slower * 1000 * (0.8 + Math.random() * 0.4));
  }

  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    if (!document.hidden && missing < 2 && !isOlderPage) look();
  });

  // Earlier posts

  main.addEventListener("click", async (event) => {
    const link = event.target instanceof Element ? event.target.closest("#earlier a") : null;
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const way = link.closest("#earlier");
    if (way.ariaBusy === "true") return;
    way.ariaBusy = "true";
    const reply = await read(new URL(link.href).search);
    way.ariaBusy = "false";
    if (typeof reply === "number") {
      say(failed);
      return;
    }
    let first = null;
    for (const article of articles(reply)) {
      if (shown(article.id)) continue;
      const item = adopt(article);
      list.append(item);
      first ??= item.firstElementChild;
    }
    const next = find(reply, "earlier");
    if (next) way.replaceWith(document.importNode(next, true));
    else way.remove();
    if (first) {
      first.tabIndex = -1;
      first.focus({ preventScroll: true });
    }
  });

  // A frame of another site

  if (isEmbedded) {
    document.documentElement.classList.add("embedded");
    const tell = () => {
      const height = Math.ceil(document.documentElement.getBoundingClientRect().height);
      window.parent.postMessage({ stet: "liveblog", height }, "*");
    };
    new ResizeObserver(tell).observe(document.documentElement);
    // Links lead out of the frame.
    document.addEventListener("click", (event) => {
      const link = event.target instanceof Element ? event.target.closest(".text a[href]") : null;
      if (link) link.target = "_blank";
    }, true);
  }

  showTimes(document);
  if (!isOlderPage) wait();
})();
