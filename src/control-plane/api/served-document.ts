/** The OpenAPI document that the control plane serves, from the file of the build or generated. */
import { existsSync, readFileSync } from 'node:fs'
import { controlPlaneDocument } from './endpoints.ts'
import { type DocumentInfo, serversOf } from './http/openapi.ts'

/** Written by `scripts/write-openapi.mjs`; the sources have none. */
const BUILT = new URL('../../openapi.json', import.meta.url)

/** @returns the document's JSON, made by the first call */
export function servedDocument(info: DocumentInfo): () => string {
  let json: string | undefined
  return () => {
    json ??= JSON.stringify(existsSync(BUILT) ? buildDocument(info) : controlPlaneDocument(info))
    return json
  }
}

function buildDocument(info: DocumentInfo): object {
  const document = JSON.parse(readFileSync(BUILT, 'utf8'))
  return { ...document, servers: serversOf(info), info: { ...document.info, version: info.version } }
}
