/** Files of DATA_DIR that hold documents, definitions and states of tool sets: a file that cannot be read is not reported as damaged. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { OnDamage } from '../../../src/base/fs/damage.ts'
import { StatusFiles } from '../../../src/catalog/directory/status-files.ts'
import { DefinitionStore } from '../../../src/catalog/sync/definition-store.ts'
import { DocumentStore } from '../../../src/catalog/sync/document-store.ts'
import { failingPromise } from '../../fixtures/failing-disk.ts'

const URL = 'https://shop.example/openapi.json'

let dataDir: string
let reports: { readonly file: string; readonly code: string | undefined }[]
const onDamage: OnDamage = (file, _, error) => {
  reports.push({ file, code: error?.code })
}

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'unreadable-'))
  reports = []
})
afterEach(() => rmSync(dataDir, { recursive: true }))

/** Each writes its one file, and reads it. */
const stores = {
  async documents() {
    const store = new DocumentStore(dataDir, onDamage)
    const bytes = Buffer.from('openapi: 3.1.0')
    await store.write('tenant-acme', 'shop', { url: URL, etag: undefined, bytes, files: new Map() })
    return async () => (await store.read('tenant-acme', 'shop', URL)) !== undefined
  },
  async definitions() {
    const store = new DefinitionStore(dataDir, onDamage)
    await store.write('tenant-acme', 'shop', { tools: {}, changed: [], breaking: [] } as never)
    return async () => (await store.read('tenant-acme', 'shop')) !== undefined
  },
  async 'status/tenant-acme'() {
    const store = new StatusFiles(dataDir, onDamage)
    await store.write({ namespace: 'tenant-acme', name: 'shop' }, { toolCount: 1, tools: ['a'] } as never)
    return async () => (await store.servedFiles()).has('tenant-acme/shop')
  },
}

describe.each(Object.keys(stores) as (keyof typeof stores)[])('the file in %s', folder => {
  let file: string
  let isRead: () => Promise<boolean>
  beforeEach(async () => {
    isRead = await stores[folder]()
    file = join(dataDir, folder, readdirSync(join(dataDir, folder))[0]!)
    expect([await isRead(), reports]).toEqual([true, []])
  })

  it('is reported with the error that keeps it from being read', async () => {
    const end = failingPromise('readFile', 'EACCES', path => path === file)
    try {
      expect([await isRead(), reports]).toEqual([false, [{ file, code: 'EACCES' }]])
    } finally {
      end()
    }
    expect(await isRead()).toBe(true)
  })

  it('is reported with the error when it is a folder', async () => {
    rmSync(file)
    mkdirSync(file)
    expect([await isRead(), reports]).toEqual([false, [{ file, code: 'EISDIR' }]])
  })

  it('is reported as damaged when its content is', async () => {
    writeFileSync(file, '{"a": [')
    expect([await isRead(), reports]).toEqual([false, [{ file, code: undefined }]])
  })

  it('is not reported when it is missing', async () => {
    rmSync(file)
    expect([await isRead(), reports]).toEqual([false, []])
  })
})
