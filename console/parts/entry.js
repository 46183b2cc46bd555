// An object as lists show it: what its record says, in the words of a newsroom.

/**
 * @typedef {object} Entry
 * @property {string} id The loid.
 * @property {string} title Its headline, or its name; at most {@link LONGEST} characters.
 * @property {string} name
 * @property {string} type
 * @property {string} family
 * @property {string} status Without the name of the workflow.
 * @property {string} statusColour A colour, or empty.
 * @property {string} modifier
 * @property {number} modified Epoch milliseconds.
 * @property {string} creator
 * @property {number} created Epoch milliseconds.
 * @property {string} issueDate As eight digits, or empty.
 * @property {number} version
 * @property {string} locker The name of the user who has it locked, or empty.
 * @property {boolean} isPicture
 * @property {string} stamp What distinguishes this state of the object from others.
 */

/** The largest number of characters of a title, which an attribute of any size may be. */
const LONGEST = 300;

/** The fields of attributes that may be a headline, the best first. */
const HEADLINES = ["headline", "title", "caption"];

/**
 * Makes an entry of a record (docs/api/objects.md).
 * @param {any} record
 * @param {Entry} [old] The entry of an earlier state, which is returned if nothing has changed.
 * @returns {Entry}
 */
export function entryOf(record, old) {
  const locker = record.locker?.id ?? "";
  const stamp = `${record.revision} ${locker} ${record.statusInfo?.name} ${record.statusInfo?.identifier}`;
  if (old?.stamp === stamp && old.id === record.id) return old;
  const texts = Object.values(record.attributes ?? {}).find((value) => typeof value === "object") ?? {};
  const named = [record.title, ...HEADLINES.map((field) => /** @type {any} */ (texts)[field])];
  const headline = named.find((value) => typeof value === "string" && value.trim() !== "");
  const type = record.virtualAttributes?.contentType ?? "";
  return {
    id: record.id,
    // The root has no name.
    title: (headline ?? (record.name || "/")).slice(0, LONGEST),
    name: record.name,
    type: record.type,
    family: record.additionalInfo?.family ?? "",
    status: (record.statusInfo?.name ?? "").replace(/^.*\//, ""),
    statusColour: record.statusInfo?.identifier ?? "",
    modifier: record.lastModifier,
    modified: record.modified * 1000,
    creator: record.creator,
    created: record.created * 1000,
    issueDate: record.issueDate ?? "",
    version: record.version,
    locker,
    isPicture: /^image\/(jpeg|png|gif|webp)$/.test(type),
    stamp,
  };
}

/** The pages of families that have one of their own. @type {Record<string, string>} */
const PAGES = { drawer: "drawers", liveblog: "liveblog", topic: "planning", topicplan: "planning", folder: "files", bundle: "files" };

/**
 * The address of the page on which people work with an object. Null if that is the page of objects.
 * @param {Entry} entry
 */
export const pageOf = ({ family, id }) => (family in PAGES ? `#/${PAGES[family]}/${id}` : null);

/**
 * The address of the page of an object.
 * @param {Entry} entry
 */
export const addressOf = (entry) => pageOf(entry) ?? `#/object/${entry.id}`;

/**
 * Opens an object on its page.
 * @param {Entry} entry
 */
export function openPage(entry) {
  location.hash = addressOf(entry);
}
