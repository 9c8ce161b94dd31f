/** The page of the console for each depth of its address: its links, its conditional requests, and that it is compressed once. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { ConsoleFiles } from '../../../src/console/files.ts'

vi.mock('node:zlib', async importOriginal => {
  const real = await importOriginal<typeof import('node:zlib')>()
  return { ...real, gzipSync: vi.fn(real.gzipSync) }
})

const folder = mkdtempSync(join(tmpdir(), 'console-files-'))
let files: ConsoleFiles
beforeAll(() => {
  writeFileSync(join(folder, 'index.html'), '<!doctype html><base href="./"><title>Console</title>')
  files = new ConsoleFiles('index.html', undefined, pathToFileURL(`${folder}/`))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const asked = (headers: Record<string, string>): Request => new Request('http://localhost/', { headers })

it('is compressed once for each base of its links, however often it is read', async () => {
  for (const depth of [1, 2, 3, 1, 2, 3, 1, 2, 3]) {
    const response = files.page(depth, asked({ 'accept-encoding': 'gzip' }))
    const text = gunzipSync(new Uint8Array(await response.arrayBuffer())).toString()
    expect(text).toContain(`<base href="${['./', '../', '../../'][depth - 1]}">`)
  }
  expect(vi.mocked(gzipSync)).toHaveBeenCalledTimes(3)
})

it('is not sent again to who has it, and is another one at another depth', async () => {
  const etag = files.page(1, asked({})).headers.get('etag')!
  const known = asked({ 'if-none-match': etag })
  expect([files.page(1, known).status, files.page(2, known).status]).toEqual([304, 200])
})
