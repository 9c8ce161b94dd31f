/** The contract of a source of tools on the Kubernetes source, against a real API server; and real documents, which must come back as written. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { KubeObject } from '../../src/catalog/kubernetes/api.ts'
import { editedFields } from '../../src/catalog/kubernetes/tool-objects.ts'
import { sourceLife } from '../contract/toolsets/source-life.ts'
import { sourceTables } from '../contract/toolsets/source-tables.ts'
import { eventually, NAMESPACE, ready, toolsOf } from '../contract/toolsets/source-world.ts'
import { KUBE_INSTALLED, Kube } from './kube/kube.ts'
import { openCluster } from './kube/kube-world.ts'

const required = process.env.REQUIRE_SERVICES === '1'
const EXAMPLES = dirname(createRequire(import.meta.url).resolve('@readme/oas-examples/package.json'))
/** Below what an object of a cluster may hold. */
const MAX_BYTES = 900_000

describe.skipIf(!KUBE_INSTALLED && !required)('Kubernetes (bring it: scripts/services.sh kubernetes)', () => {
  const kube = new Kube()
  beforeAll(() => kube.start(), 180_000)
  afterAll(() => kube.stop())

  describe('tables', () => sourceTables(() => openCluster(kube)))
  describe('life', () => sourceLife(() => openCluster(kube)))

  it('the tools of real documents are written, and none of them is taken for edited by hand', async () => {
    const world = await openCluster(kube)
    const folder = join(EXAMPLES, '3.1/json')
    const files = readdirSync(folder).filter(file => statSync(join(folder, file)).size < MAX_BYTES)
    let tools = 0
    for (const [i, file] of files.slice(0, 12).entries()) {
      const openAPISpec = { inline: readFileSync(join(folder, file), 'utf8') }
      await ready(world, `real-${i}`, { openAPISpec, naming: { prefix: `r${i}_` } })
      tools += toolsOf(world, `real-${i}`).length
    }
    const objects = await eventually(async () => {
      const found = await kube.list('Tool', NAMESPACE)
      return found.length === tools && found
    }, `${tools} Tool objects`)
    const edited = objects.filter(
      object => Object.keys(editedFields(object as unknown as KubeObject, 'toolgate.dev')).length > 0,
    )
    expect(tools).toBeGreaterThan(40)
    expect(edited).toEqual([])
    await world.close()
  }, 60_000)
})
