/** `toolgate toolset`: run as a user would. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { built } from '../../fixtures/built.ts'
import { documentOf, inline, toolSetResource } from '../../unit/catalog/deployment.ts'

const directory = mkdtempSync(join(tmpdir(), 'toolset-cli-'))
afterAll(() => rmSync(directory, { recursive: true }))

function file(name: string, content: string): string {
  writeFileSync(join(directory, name), content)
  return join(directory, name)
}

function run(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [built('cli/index.js'), 'toolset', ...args], (error, out, err) => {
      if (error === null) resolve({ code: 0, out, err })
      else if (typeof error.code === 'number') resolve({ code: error.code, out, err })
      // ended by a signal, or not started
      else reject(error)
    })
  })
}

describe('toolgate toolset', () => {
  const bare = file('api.json', documentOf('listOrders', 'getOrder'))
  const resource = file(
    'shop.yaml',
    stringify(toolSetResource('shop', { ...inline('a', 'b'), naming: { prefix: 'p_' } })),
  )

  it('render --json prints the tools as served', async () => {
    const { code, out } = await run('render', bare, '--json')
    const { tools, skipped } = JSON.parse(out) as { tools: { name: string }[]; skipped: unknown[] }
    expect([code, skipped]).toEqual([0, []])
    expect(Object.keys(tools[0]!)).toEqual(['name', 'title', 'description', 'inputSchema', 'annotations'])
    expect(tools.map(tool => tool.name)).toEqual(['listOrders', 'getOrder'])
  })

  it('render takes a resource, with its naming', async () => {
    const { code, out } = await run('render', resource)
    expect(code).toBe(0)
    expect(out).toContain('p_a')
    expect(out).toContain('tools: 2, skipped operations: 0')
  })

  it('render shows each argument with its type and what is said of it', async () => {
    const document = JSON.parse(documentOf('findPets')) as { paths: { '/findPets': { get: object } } }
    Object.assign(document.paths['/findPets'].get, {
      parameters: [
        {
          name: 'limit',
          in: 'query',
          required: true,
          schema: { type: 'integer' },
          description: 'How many.\nAt most.',
        },
        { name: 'any', in: 'query', schema: {} },
      ],
    })
    const { out } = await run('render', file('pets.json', JSON.stringify(document)))
    expect(out).toContain('    limit: integer, required  How many.\n    any: any\n')
  })

  it('ends in peace when its reader has seen enough', async () => {
    const many = file('many.json', documentOf(...Array.from({ length: 5000 }, (_, i) => `operation${i}`)))
    const command = `"${process.execPath}" "${built('cli/index.js')}" toolset render ${many} | head -1`
    const err = await new Promise(resolve =>
      execFile('bash', ['-c', command], (_, __, text) => resolve(text)),
    )
    expect(err).not.toContain('EPIPE')
  })

  it('ends in peace when its help has no reader', async () => {
    const command = `"${process.execPath}" "${built('cli/index.js')}" serve --help | true`
    const err = await new Promise(resolve =>
      execFile('bash', ['-c', command], (_, __, text) => resolve(text)),
    )
    expect(err).toBe('')
  })

  it('lint exits 1 with findings and 0 without', async () => {
    const poor = file(
      'poor.json',
      '{"openapi":"3.1.0","info":{"title":"T","version":"1"},"paths":{"/a":{"get":{}}}}',
    )
    const found = await run('lint', poor)
    expect([found.code, found.out.includes('[missing-description]')]).toEqual([1, true])
    const good = file(
      'good.json',
      documentOf('listOrders').replace('Does listOrders', 'Lists the orders of a customer'),
    )
    const clean = await run('lint', good)
    expect([clean.code, clean.out.trim()]).toEqual([0, 'operations: 1, tools: 1 (100.0 %), findings: 0'])
  })

  it('says what is wrong with a file and exits 1', async () => {
    const { code, err } = await run('render', file('bad.yaml', '<html></html>'))
    expect(code).toBe(1)
    expect(err).toContain('HTML or XML')
    expect((await run('render', join(directory, 'gone.json'))).err).toContain('ENOENT')
  })
})
