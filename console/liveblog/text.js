// The content of a post as people write it: paragraphs and pictures.
//
// A post is `<post><p>…</p><img src="NAME" alt="…"/></post>`. An `img` names an attachment of the post.

import { readXml } from "../lib/html.js";

/** @typedef {{ name: string, alt: string }} Picture */
/** @typedef {{ text: string, pictures: Picture[] }} Written Paragraphs are divided by empty lines. */

/** Characters that XML can't have. */
const FORBIDDEN = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu;

/**
 * Reads a post's content. Null if it has more than paragraphs with pictures behind them, which would be lost if it were
 * written again.
 * @param {string} content
 * @param {string} type Its media type.
 * @returns {Written | null}
 */
export function readText(content, type) {
  if (/^text\/plain/.test(type)) return { text: content, pictures: [] };
  const parsed = readXml(content);
  const root = parsed?.documentElement;
  // Anything beside the root, such as a document type, would be lost, too.
  if (root?.localName !== "post" || root.attributes.length > 0 || parsed?.childNodes.length !== 1) return null;
  const paragraphs = [];
  const pictures = [];
  for (const node of root.childNodes) {
    if (node instanceof Element && node.localName === "p" && node.attributes.length + node.children.length + pictures.length === 0) {
      paragraphs.push(node.textContent ?? "");
    } else if (node instanceof Element && node.localName === "img" && node.getAttribute("src")) {
      pictures.push({ name: node.getAttribute("src") ?? "", alt: node.getAttribute("alt") ?? "" });
    } else if (node.nodeType !== Node.TEXT_NODE || node.textContent?.trim()) {
      return null;
    }
  }
  return { text: paragraphs.join("\n\n"), pictures };
}

/**
 * The text of any content, for a list.
 * @param {string | null} content
 * @param {string} type
 * @returns {Written}
 */
export function showText(content, type) {
  if (content === null) return { text: "", pictures: [] };
  const written = readText(content, type);
  if (written) return written;
  const root = readXml(content)?.documentElement;
  return { text: root?.textContent?.trim() ?? content, pictures: [] };
}

/**
 * Writes the content of a post.
 * @param {Written} written
 */
export function writeText({ text, pictures }) {
  const post = document.implementation.createDocument(null, "post");
  const root = post.documentElement;
  for (const paragraph of paragraphsOf(text)) {
    const element = post.createElementNS(null, "p");
    element.textContent = paragraph;
    root.append(element);
  }
  for (const { name, alt } of pictures) {
    const element = post.createElementNS(null, "img");
    element.setAttribute("src", name.replace(FORBIDDEN, ""));
    element.setAttribute("alt", alt.replace(FORBIDDEN, ""));
    root.append(element);
  }
  return new XMLSerializer().serializeToString(post);
}

/** @param {string} text */
export const paragraphsOf = (text) =>
  text.replace(FORBIDDEN, "").split(/\n\s*\n/).map((paragraph) => paragraph.trim()).filter(Boolean);
