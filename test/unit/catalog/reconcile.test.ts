/** The reconciler by itself: the order of phases, one synchronization at a time for each tool set, and a document that cannot be stored. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { DesiredToolSet } from '../../../src/catalog/desired.ts'
import { Reconciler } from '../../../src/catalog/reconcile.ts'
import { runCompileJob, type ToolSetCompiler } from '../../../src/catalog/sync/compile-job.ts'
import { DefinitionStore } from '../../../src/catalog/sync/definition-store.ts'
import { DocumentStore } from '../../../src/catalog/sync/document-store.ts'
import { reviewView } from '../../../src/data-plane/listing/view-review.ts'
import { createEgress } from '../../../src/net/egress/client.ts'
import { SILENT } from '../../../src/telemetry/log.ts'
import { noDamage } from '../../fixtures/no-damage.ts'
import { toolSet } from './build.ts'
import { documentOf } from './deployment.ts'

const dataDir = mkdtempSync(join(tmpdir(), 'reconcile-'))
const egress = createEgress({ allow: [], allowLoopback: true })
let phases: string[]
let compiling: number
let max: number
let compiled: number
let reconciler: Reconciler

/** Takes a while for each document, and counts. */
const compiler: ToolSetCompiler = {
  async compile(job) {
    compiling++
    compiled++
    max = Math.max(max, compiling)
    await new Promise(resolve => setTimeout(resolve, 20))
    compiling--
    return runCompileJob(job)
  },
  async close() {},
}

function start(documents = new DocumentStore(dataDir, noDamage)): Reconciler {
  const statuses = {
    async write({ name }: { name: string }, { phase }: { phase: string }) {
      phases.push(`${name} ${phase}`)
    },
    async remove({ name }: { name: string }) {
      phases.push(`${name} gone`)
    },
  }
  const empty = async () => ''
  const readSecret = async () => ({ value: '' })
  const references = { readDocument: empty, readFile: empty, readSecret }
  return new Reconciler(
    {
      references,
      compiler,
      egress,
      random: () => 0.5,
      statuses,
      log: SILENT,
      now: Date.now,
      viewStatuses: statuses,
      review: reviewView,
      documents,
      definitions: new DefinitionStore(dataDir, noDamage),
    },
    () => {},
  )
}

function desired(name: string, ...operations: string[]): DesiredToolSet {
  const source = { kind: 'inline', text: documentOf(...operations) } as const
  return { namespace: 'tenant-acme', name, toolSet: { ...toolSet(), name, source }, fault: undefined }
}

beforeEach(() => {
  phases = []
  compiling = 0
  max = 0
  compiled = 0
  reconciler = start()
})
afterEach(async () => {
  await reconciler.close()
  rmSync(join(dataDir, 'definitions'), { recursive: true, force: true })
})

describe('the phases of a tool-set', () => {
  it('are Pending, Syncing, Ready when it is new; a restart does not call it Pending again', async () => {
    await reconciler.apply({ toolSets: [desired('new', 'a')], manualTools: [], views: [], faults: [] })
    expect(phases).toEqual(['new Pending', 'new Syncing', 'new Ready'])
    await reconciler.close()
    phases = []
    reconciler = start()
    await reconciler.apply({ toolSets: [desired('new', 'a')], manualTools: [], views: [], faults: [] })
    expect(phases).toEqual(['new Syncing', 'new Ready'])
  })

  it('end with the tool-set', async () => {
    await reconciler.apply({ toolSets: [desired('short', 'a')], manualTools: [], views: [], faults: [] })
    await reconciler.apply({ toolSets: [], manualTools: [], views: [], faults: [] })
    expect(phases.at(-1)).toBe('short gone')
  })
})

describe('synchronizations of one tool-set', () => {
  it('never overlap; those asked for meanwhile become one more', async () => {
    const asked = ['a', 'b', 'c', 'd', 'e'].map(operation =>
      reconciler.apply({ toolSets: [desired('busy', operation)], manualTools: [], views: [], faults: [] }),
    )
    await Promise.all(asked)
    expect([max, compiled]).toEqual([1, 2])
    expect(reconciler.generatedTools()[0]?.tools.map(tool => tool.name)).toEqual(['e'])
  })

  it('are not begun by a look at a source that holds what it held', async () => {
    await reconciler.apply({ toolSets: [desired('still', 'a')], manualTools: [], views: [], faults: [] })
    phases = []
    await reconciler.refreshLocal()
    expect([compiled, phases]).toEqual([1, []])
  })

  it('begin only when the tool-set changed', async () => {
    await reconciler.apply({ toolSets: [desired('calm', 'a')], manualTools: [], views: [], faults: [] })
    await reconciler.apply({ toolSets: [desired('calm', 'a')], manualTools: [], views: [], faults: [] })
    expect(compiled).toBe(1)
    await reconciler.apply({ toolSets: [desired('calm', 'a', 'b')], manualTools: [], views: [], faults: [] })
    expect(compiled).toBe(2)
  })
})

describe('a document that cannot be stored', () => {
  it('serves its tools from the first synchronization on, and the fault is reported', async () => {
    const server = createServer((_, response) => response.end(documentOf('a')))
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    // a file in the place of the folder
    const blocked = join(dataDir, 'blocked')
    writeFileSync(blocked, '')
    await reconciler.close()
    reconciler = start(new DocumentStore(blocked, () => {}))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/openapi.json`
    const source = { kind: 'url', url, refreshIntervalMs: 60_000 } as const
    const unstored = { ...desired('unstored'), toolSet: { ...toolSet(), name: 'unstored', source } }
    await reconciler.apply({ toolSets: [unstored], manualTools: [], views: [], faults: [] })
    expect(reconciler.generatedTools()[0]?.tools.map(tool => tool.name)).toEqual(['a'])
    expect(phases.at(-1)).not.toBe('unstored Ready')
    server.close()
  })
})
