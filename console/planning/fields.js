// The fields of items and topics, as forms show them.

import { user } from "../api/people.js";
import { text } from "../text/index.js";
import { openForm } from "./form.js";

/** @typedef {import("./topic.js").Topic} Topic */
/** @typedef {import("./topic.js").Item} Item */
/** @typedef {import("./topic.js").Fields} Fields */
/** @typedef {import("./form.js").Values} Values */
/** @typedef {import("./form.js").Field} Field */

/** @returns {Field[]} */
const itemFields = () => {
  const t = text();
  return [
    { name: "name", label: t.itemName, kind: "text", most: 250, isRequired: true },
    { name: "assignees", label: t.assignees, kind: "names" },
    { name: "dueDate", label: t.deadline, kind: "moment" },
    { name: "comment", label: t.comment, kind: "long", most: 4000 },
    { name: "issueDate", label: t.issueDate, kind: "day", isRare: true },
    { name: "contentType", label: t.contentType, kind: "text", most: 120, isRare: true },
    { name: "occupation", label: t.occupation, kind: "text", most: 120, isRare: true },
    { name: "priority", label: t.priority, kind: "text", most: 120, isRare: true },
    { name: "customPriority", label: t.customPriority, kind: "text", most: 120, isRare: true },
    { name: "product", label: t.product, kind: "text", most: 120, isRare: true },
    { name: "edition", label: t.edition, kind: "text", most: 120, isRare: true },
  ];
};

/** @param {number} number */
const two = (number) => String(number).padStart(2, "0");

/**
 * The day of a time in the viewer's time zone, as forms have it.
 * @param {Date} at
 */
export const dayOf = (at) => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;

/** An issue date as forms have days. @param {string} day */
export const issueDay = (day) => (/^\d{8}$/.test(day) ? `${day.slice(0, 4)}-${day.slice(4, 6)}-${day.slice(6)}` : "");

/**
 * @param {number | null} seconds
 */
function momentOf(seconds) {
  if (seconds === null) return "";
  const at = new Date(seconds * 1000);
  return `${dayOf(at)}T${two(at.getHours())}:${two(at.getMinutes())}`;
}

/**
 * The values of a form.
 * @param {Fields} fields
 * @returns {Values}
 */
const valuesOf = (fields) => ({ ...fields, dueDate: momentOf(fields.dueDate), issueDate: issueDay(fields.issueDate) });

/**
 * The fields that the changed values of a form mean.
 * @param {Values} values
 * @returns {Partial<Fields>}
 */
function fieldsOf(values) {
  /** @type {any} */
  const fields = { ...values };
  if ("dueDate" in fields) fields.dueDate = fields.dueDate ? Math.floor(new Date(fields.dueDate).getTime() / 1000) : null;
  if ("issueDate" in fields) fields.issueDate = fields.issueDate.replaceAll("-", "");
  // The calendar knows priorities that are numbers.
  for (const name of ["priority", "customPriority"]) if (/^\d{1,9}$/.test(fields[name])) fields[name] = Number(fields[name]);
  return fields;
}

/**
 * The user who last changed a part.
 * @param {Topic} topic
 * @param {string} part
 */
const changerOf = (topic, part) =>
  topic.changes.value.find(({ ids, user: by }) => ids.includes(part) && by !== user.now?.name)?.user ?? "";

/**
 * Opens the form of an item.
 * @param {Topic} topic
 * @param {Item} item
 */
export function editItem(topic, item) {
  openForm({
    title: item.fields.name,
    label: text().save,
    draft: `form.${item.id}`,
    fields: itemFields(),
    now: () => {
      const now = topic.item(item.id);
      return now ? valuesOf(now.fields) : null;
    },
    changer: () => changerOf(topic, item.id),
    save: (changed) => topic.changeItem(item, fieldsOf(changed)),
    edit: () => topic.edit(item.id, "fields"),
  });
}

/**
 * Opens the form of a new item, or of a new subitem.
 * @param {Topic} topic
 * @param {string} parent
 * @param {(item: string) => void} then
 */
export function makeItem(topic, parent, then) {
  const empty = Object.fromEntries(itemFields().map(({ name, kind }) => [name, kind === "names" ? [] : ""]));
  openForm({
    title: parent ? text().newSubitem : text().newItem,
    label: text().create,
    draft: `form.new.${parent || topic.loid}`,
    fields: itemFields(),
    now: () => empty,
    changer: () => "",
    save: (changed) => topic.addItem(parent, fieldsOf(changed)),
    done: then,
  });
}

/**
 * Opens the form of a topic.
 * @param {Topic} topic
 */
export function editTopic(topic) {
  openForm({
    title: text().editTopic,
    label: text().save,
    draft: `form.${topic.loid}`,
    fields: [
      { name: "title", label: text().drawerTitle, kind: "text", most: 300 },
      { name: "description", label: text().drawerDescription, kind: "long", most: 4000 },
    ],
    now: () => {
      const { ownTitle, description } = topic.info.value;
      return topic.state.value === "gone" ? null : { title: ownTitle, description };
    },
    changer: () => topic.changes.value.find(({ kind, user: by }) => kind === "topic.update" && by !== user.now?.name)?.user ?? "",
    save: (changed) => topic.update(changed),
  });
}
