// Types of the OpenAPI document in the file named first, written to the file named second. Bytes are blobs, as a browser has them.
import { readFileSync, writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

const [document, types] = process.argv.slice(2);
const blob = ts.factory.createTypeReferenceNode("Blob");
const nodes = await openapiTS(JSON.parse(readFileSync(document, "utf8")), {
  transform: (schema) => (schema.format === "binary" ? blob : undefined),
});
writeFileSync(types, astToString(nodes));
