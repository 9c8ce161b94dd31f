/** A Python client generated from the served document: the generator leaves no operation out, and a program that uses the client gets the expected results. */
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openPlane, type Plane, populate, type World } from '../contract/control/plane.ts'
import { type Served, serve } from '../contract/control/serve.ts'
import { servicesRequired } from '../fixtures/redis-server.ts'

const run = promisify(execFile)
const PYTHON = resolve('.tools/openapi-python/bin/python')
const PROGRAM = resolve('test/fixtures/clients/control_plane.py')
const missing = !existsSync(PYTHON) && !servicesRequired()

describe.skipIf(missing)('a generated Python client (scripts/services.sh openapi-python)', () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolgate-python-client-'))
  let plane: Plane
  let world: World
  let served: Served
  let document: { readonly paths: Record<string, object> }
  let output: string

  beforeAll(async () => {
    plane = await openPlane()
    world = await populate(plane)
    served = await serve(plane.control)
    const text = await (await fetch(`${served.url}/openapi.json`)).text()
    document = JSON.parse(text)
    writeFileSync(join(folder, 'openapi.json'), text)
    const options = ['--path', 'openapi.json', '--output-path', 'client', '--meta', 'none']
    const generator = ['-m', 'openapi_python_client', 'generate', ...options]
    const { stdout, stderr } = await run(PYTHON, generator, { cwd: folder })
    output = stdout + stderr
  }, 120_000)
  afterAll(async () => {
    expect(plane?.faults).toEqual([])
    await served?.close()
    await plane?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('has every operation and schema of the document', async () => {
    // an export of lines, which clients read as text
    const warnings = output.match(/^(?:WARNING|Unable|Attempted|Endpoint).*/gm) ?? []
    expect(warnings).toEqual(['WARNING parsing GET /audit/export within audit_record.'])
    const operations = Object.values(document.paths).flatMap(path =>
      Object.keys(path).filter(method => ['get', 'post', 'patch', 'put', 'delete'].includes(method)),
    )
    const files = await run('find', ['client/api', '-name', '*.py', '-not', '-name', '__init__.py'], {
      cwd: folder,
    })
    expect(files.stdout.trim().split('\n')).toHaveLength(operations.length)
  })

  it('creates, approves, changes and migrates with types', async () => {
    const { stdout } = await run(PYTHON, [PROGRAM, folder, `${served.url}/v1`, 'platform', world.acme])
    expect(JSON.parse(stdout)).toEqual({
      traffic: [['https://app.example'], 600, 3],
      untouched: null,
      states: ['pending_approval', 'approved'],
      limit: 7,
      key: 'tgk_',
      migrated: [1, 0, 0],
      follows: true,
      product: true,
      page: [1, 'typed'],
      missing: [404, true, 'not_found'],
    })
  }, 60_000)
})
