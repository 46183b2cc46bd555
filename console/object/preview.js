// What an object contains, for reading: a picture, a story's text, a sound or a film.

import { address } from "../api/calls.js";
import { html, readXml } from "../lib/html.js";
import { Signal, View, effect } from "../lib/view.js";
import { pageOf } from "../parts/entry.js";
import { explain, text } from "../text/index.js";

/** @typedef {import("../lib/html.js").Template} Template */

/** The largest text that is shown, in bytes. */
export const LARGEST = 1_000_000;

/** The number of paragraphs that are shown. */
const MOST = 2000;

/** Elements that stand within words; all others begin a paragraph. */
const INLINE = new Set(["a", "abbr", "b", "bdi", "br", "cite", "code", "em", "i", "mark", "q", "s", "small", "span", "strong", "sub", "sup", "u"]);

/** Elements with a picture of the repository: the attributes that may name it. */
const SOURCES = ["href", "src", "source"];

/** @param {string} type A media type. */
export const isText = (type) => /^text\/|[/+](xml|json)\b|^application\/(xhtml|ecmascript|javascript)/.test(type);

class ObjectPreview extends View {
  /** @type {import("./object.js").OpenObject} */
  object = /** @type {any} */ (undefined);

  /** @type {Signal<unknown>} The rendered text. */
  #shown = new Signal(/** @type {unknown} */ (""));
  #stamp = "";

  begin() {
    this.during(effect(() => void this.#read(this.object.record.value)));
  }

  template() {
    const record = this.object.record.value;
    const entry = this.object.entry.value;
    if (!record || !entry) return "";
    const { contentType: type = "", size = 0 } = record.virtualAttributes ?? {};
    const page = pageOf(entry);
    const source = address("v3/object/{object}/content", { object: record.id }, { version: record.version }).href;
    if (page) return html`<p class="nothing"><a href=${page}>${text().openThere}</a></p>`;
    if (!type) return html`<div class="nothing"><p>${text().noContent}</p></div>`;
    if (entry.isPicture) return this.#picture(record, entry.title, source);
    if (type.startsWith("audio/")) return html`<audio controls preload="metadata" src=${source}></audio>`;
    if (type.startsWith("video/")) return html`<video controls preload="metadata" src=${source}></video>`;
    if (!isText(type) || size > LARGEST) return html`<div class="nothing"><p>${text().cantShow(type)}</p><p><a href=${source} download>${text().download}</a></p></div>`;
    return html`<article class="reading">${this.#shown.value}</article>`;
  }

  /**
   * @param {any} record
   * @param {string} title
   * @param {string} source
   */
  #picture(record, title, source) {
    const lowres = address("v3/object/{object}/content/lowres", { object: record.id }, { version: record.version, rev: record.revision }).href;
    return html`<figure class="reading"><a href=${source} target="_blank" rel="noopener" aria-label=${text().fullPicture}><img src=${lowres} alt=${title}></a></figure>`;
  }

  /**
   * Reads the text, if it is another one than that on the screen.
   * @param {any} record
   */
  async #read(record) {
    const stamp = `${record?.id} ${record?.version} ${record?.additionalInfo?.sha256}`;
    const { contentType = "", size = 0 } = record?.virtualAttributes ?? {};
    if (stamp === this.#stamp || !isText(contentType) || size > LARGEST) return;
    this.#stamp = stamp;
    try {
      const { text: words } = await this.object.readContent(-1);
      this.#shown.value = words === "" && size > 0 ? html`<p>${text().cantShow(contentType)}</p>` : html`${readable(words)}`;
    } catch (error) {
      this.#stamp = "";
      this.#shown.value = html`<p class="fault">${explain(error)}</p>`;
    }
  }
}

/**
 * A text for reading. XML is shown as the paragraphs that it has.
 * @param {string} words
 */
export function readable(words) {
  const root = readXml(words)?.documentElement;
  if (!root) return words.split(/\n\s*\n/).slice(0, MOST).map((one) => html`<p class="plain-text">${one}</p>`);
  /** @type {Template[]} */
  const blocks = [];
  collect(root, blocks);
  return blocks;
}

/**
 * Collects the paragraphs and pictures of an element.
 * @param {Element} element
 * @param {Template[]} blocks
 */
function collect(element, blocks) {
  if (blocks.length >= MOST) return;
  const picture = pictureOf(element);
  if (picture) blocks.push(picture);
  const hasBlocks = [...element.children].some((child) => !INLINE.has(child.localName.toLowerCase()));
  if (!hasBlocks) {
    const words = inline(element);
    if (element.textContent?.trim()) blocks.push(paragraph(element.localName.toLowerCase(), words));
    return;
  }
  for (const child of element.childNodes) {
    if (child instanceof Element) collect(child, blocks);
    else if (child instanceof Text && child.data.trim()) blocks.push(html`<p>${child.data}</p>`);
  }
}

/**
 * @param {string} name Of the element.
 * @param {unknown} words
 */
function paragraph(name, words) {
  if (/^(h1|headline|title|hl1)$/.test(name)) return html`<h2>${words}</h2>`;
  if (/head|title|^h[2-6]$/.test(name)) return html`<h3>${words}</h3>`;
  if (/^(p|para|line|div|lead|body|text|post|story)$/.test(name)) return html`<p>${words}</p>`;
  return html`<p class="other"><small>${name}</small> ${words}</p>`;
}

/**
 * The words of an element, with what is emphasised.
 * @param {Element} element
 * @returns {unknown[]}
 */
function inline(element) {
  return [...element.childNodes].map((node) => {
    if (!(node instanceof Element)) return node instanceof Text || node instanceof CDATASection ? html`${node.data}` : html``;
    const name = node.localName.toLowerCase();
    const words = node.textContent ?? "";
    if (name === "b" || name === "strong") return html`<strong>${words}</strong>`;
    if (name === "i" || name === "em") return html`<em>${words}</em>`;
    return name === "br" ? html`<br>` : html`${words}`;
  });
}

/**
 * The picture of the repository that an element names.
 * @param {Element} element
 */
function pictureOf(element) {
  const source = SOURCES.map((name) => element.getAttribute(name)).find((value) => value && /^\/.*\.(jpe?g|png|gif|webp)$/i.test(value));
  if (!source) return null;
  const caption = element.getAttribute("caption") ?? element.getAttribute("alt") ?? "";
  return html`
    <figure><img loading="lazy" alt=${caption ? "" : source} src=${address("v3/object/{source}/content/lowres", { source }).href}>
      ${caption ? html`<figcaption>${caption}</figcaption>` : ""}</figure>`;
}

customElements.define("object-preview", ObjectPreview);
