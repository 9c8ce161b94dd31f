/** Writes `dist/openapi.json`, the control plane's OpenAPI document without an address: generating it takes 300 ms of each start. The build is compiled first. */
import { writeFileSync } from 'node:fs'
import { controlPlaneDocument } from '../dist/control-plane/api/endpoints.js'

const document = controlPlaneDocument({ apiUrl: '', version: '' })
writeFileSync(new URL('../dist/openapi.json', import.meta.url), JSON.stringify(document))
