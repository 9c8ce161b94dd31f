/** Reads the shop's OpenAPI document from the tool-set that describes it: one file for the tools and for the shop itself. */
import { readFile } from 'node:fs/promises'
import { parse } from 'yaml'

/** Seen from here in `src` and from its build in `dist` alike. */
const FILE = new URL('../../../toolsets/configmaps/shop-openapi/openapi.yaml', import.meta.url)

/** The document as it stands in the file. @throws Error when the file cannot be read. */
export async function readDocument(): Promise<{ readonly [key: string]: unknown }> {
  return parse(await readFile(FILE, 'utf8')) as Record<string, unknown>
}
