/** `kill -9` during synchronizations with a flapping source: always the old or the new set of tools, never a mix; edits by hand stay. */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { bundledScript } from '../fixtures/bundled-script.ts'
import { sized } from '../fixtures/check.ts'

/** `SOAK=1` is the full measure; some two seconds each. */
const ROUNDS = process.env.SOAK === '1' ? 40 : sized(4, 8)
const PER_SET = 30
const CHILD = join(import.meta.dirname, 'toolsets-crash-child.ts')
const root = mkdtempSync(join(tmpdir(), 'toolsets-crash-'))
let server: Server
let generation = 0
let mood: 'well' | 'failing' | 'broken' = 'well'

/** All operations of a document carry its generation, so that a mix of two shows. */
function document(): string {
  const paths = Object.fromEntries(
    Array.from({ length: PER_SET }, (_, i) => [
      `/p${i}`,
      { get: { operationId: `op${i}`, summary: `generation ${generation}` } },
    ]),
  )
  return JSON.stringify({ openapi: '3.1.0', info: { title: 'T', version: '1' }, paths })
}

beforeAll(async () => {
  server = createServer((_, response) => {
    if (mood === 'failing') response.writeHead(500).end()
    else if (mood === 'broken') response.end(document().slice(0, 500))
    else response.end(document())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/openapi.json`
  mkdirSync(join(root, 'toolsets'))
  const apiVersion = 'toolgate.dev/v1alpha1'
  const metadata = { name: 'shop', namespace: 'tenant-acme' }
  const openAPISpec = { url, refreshInterval: '1s' }
  const spec = { displayName: 'Shop', baseURL: 'http://backend.test', openAPISpec }
  writeFileSync(join(root, 'toolsets/shop.yaml'), stringify({ apiVersion, kind: 'ToolSet', metadata, spec }))
  const edit = {
    apiVersion,
    kind: 'Tool',
    metadata: { ...metadata, name: 'op7' },
    spec: { description: 'By hand.' },
  }
  writeFileSync(join(root, 'toolsets/edit.yaml'), stringify(edit))
})

afterAll(async () => {
  rmSync(root, { recursive: true, force: true })
  server.closeAllConnections()
  await new Promise(resolve => server.close(resolve))
})

type Published = readonly (readonly [string, string])[]

/** Runs the process and kills it `afterMs` after its first output. @returns the sets that it published */
async function runAndKill(afterMs: number): Promise<Published[]> {
  const script = await bundledScript(CHILD)
  return new Promise(resolve => {
    const child = spawn(process.execPath, [script, join(root, 'toolsets'), join(root, 'data')], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    let out = ''
    let killing = false
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString()
      if (killing || !out.includes('\n')) return
      killing = true
      setTimeout(() => child.kill('SIGKILL'), afterMs)
    })
    child.on('close', () => {
      const whole = out.slice(0, out.lastIndexOf('\n') + 1).trim()
      resolve(whole === '' ? [] : whole.split('\n').map(line => JSON.parse(line) as Published))
    })
  })
}

it(`survives ${ROUNDS} kills`, { timeout: 400_000 }, async () => {
  let seen = 0
  const sets = new Set<string>()
  for (let round = 0; round < ROUNDS; round++) {
    // The source changes while the process lives; in two of five rounds it fails from the start.
    mood = round === 0 ? 'well' : (['well', 'failing', 'well', 'broken', 'well'] as const)[round % 5]!
    if (mood === 'well') generation = round
    const flap = setTimeout(() => {
      generation = round + 0.5
      mood = 'well'
    }, 300)
    for (const published of await runAndKill((round * 97) % 1300)) {
      seen++
      const generations = new Set(published.filter(([name]) => name !== 'op7').map(([, text]) => text))
      expect(published, `round ${round}`).toHaveLength(PER_SET)
      expect(generations.size, `round ${round}: ${[...generations].join()}`).toBe(1)
      expect(published.find(([name]) => name === 'op7')?.[1]).toBe('By hand.')
      sets.add([...generations][0]!)
    }
    clearTimeout(flap)
    const folder = join(root, 'data/status/tenant-acme')
    for (const file of readdirSync(folder).filter(name => name.endsWith('.yaml'))) {
      expect(parse(readFileSync(join(folder, file), 'utf8'))).toHaveProperty('phase')
    }
  }
  expect(seen).toBeGreaterThanOrEqual(ROUNDS)
  expect(sets.size).toBeGreaterThan(ROUNDS / 8)
})
