/** The OpenAPI document of the build is the one that the sources generate, with the address and version of the deployment. */
import { expect, it } from 'vitest'
import { controlPlaneDocument } from '../../../../src/control-plane/api/endpoints.ts'
import type { servedDocument } from '../../../../src/control-plane/api/served-document.ts'

const INFO = { apiUrl: 'https://api.example/', version: '1.2.3' }

it('is served by the build as the sources generate it', async () => {
  const built = new URL('../../../../dist/control-plane/api/served-document.js', import.meta.url).href
  const served = (await import(built)) as { readonly servedDocument: typeof servedDocument }
  const document: unknown = JSON.parse(served.servedDocument(INFO)())
  const generated: unknown = JSON.parse(JSON.stringify(controlPlaneDocument(INFO)))
  expect(document).toEqual(generated)
})
